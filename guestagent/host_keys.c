#include "guestagent/host_keys.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agentproto.h"
#include "lib/buf.h"
#include "lib/io.h"
#include "lib/log.h"

enum { FILE_MAX = 16 * 1024 };

/* The first two words of a file NAME_key.pub; the third is a comment. */
static bool read_key(const char *path, char key[AP_HOST_KEY_MAX])
{
	auto_buf text = BUF_INIT(FILE_MAX);
	struct err e;
	size_t n;

	if (io_read_file(path, &text, &e) < 0 || !text.data)
		return false;
	n = strcspn(text.data, " \n");
	if (text.data[n] == ' ')
		n += 1 + strcspn(text.data + n + 1, " \r\n");
	if (n >= AP_HOST_KEY_MAX)
		return false;
	memcpy(key, text.data, n);
	key[n] = '\0';
	return ap_host_key_ok(key);
}

static void read_keys(const struct ga *ga, struct ap_host_keys *v)
{
	char pattern[300];
	glob_t g = { 0 };

	v->count = 0;
	snprintf(pattern, sizeof(pattern), "%.200s/ssh_host_*_key.pub", settings_get(ga->settings, "ssh.folder", "/etc/ssh"));
	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc && v->count < AP_HOST_KEYS_MAX; i++)
			v->count += read_key(g.gl_pathv[i], v->key[v->count]);
	globfree(&g);
}

void ga_host_keys_forget(struct ga *ga)
{
	buf_free(&ga->host_keys);
}

void ga_host_keys_tell(struct ga *ga)
{
	static struct ap_host_keys keys; /* large, and only one at a time */
	static uint8_t body[MUX_MESSAGE_MAX];
	ssize_t n;

	read_keys(ga, &keys);
	n = ap_host_keys_pack(&keys, body, sizeof(body));
	/* Before the first hello nobody wants to know. */
	if (n < 0 || !mux_peer_epoch(ga->mux) ||
	    (ga->host_keys.len == (size_t)n && !memcmp(ga->host_keys.data, body, (size_t)n)))
		return;
	buf_free(&ga->host_keys);
	if (mux_send(ga->mux, AP_MSG_HOST_KEYS, body, (size_t)n) < 0 || buf_add(&ga->host_keys, body, (size_t)n) < 0)
		log_error("the keys of the SSH server could not be sent");
}
