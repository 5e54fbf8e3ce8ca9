#include "limactl-c/ssh/hostkey.h"

#include <errno.h>
#include <string.h>

#include "lib/be.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"

enum { FILE_MAX = 64 * 1024, KIND_MAX = 64 };

/* What libssh2 knows, the best first. */
static const char all_kinds[] = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,ssh-rsa";

bool hostkey_is_known(const struct ap_host_keys *known, const char *text)
{
	for (size_t i = 0; i < known->count; i++)
		if (!strcmp(known->key[i], text))
			return true;
	return false;
}

/* One line, without its end. What stands behind the key is a comment. */
static int take_line(const char *line, size_t len, const char *host, struct ap_host_keys *out, struct err *e)
{
	char key[AP_HOST_KEY_MAX];
	size_t n = strlen(host), kind, data;

	if (len <= n || memcmp(line, host, n) || line[n] != ' ')
		return 0;
	line += n + 1;
	len -= n + 1;
	kind = strcspn(line, " \n");
	data = kind < len ? strcspn(line + kind + 1, " \n") : 0;
	if (!data || kind + 1 + data > len || kind + 1 + data >= sizeof(key))
		return 0;
	memcpy(key, line, kind + 1 + data);
	key[kind + 1 + data] = '\0';
	if (!ap_host_key_ok(key) || hostkey_is_known(out, key))
		return 0;
	if (out->count == AP_HOST_KEYS_MAX)
		return err_set(e, ERR_INVALID, "it names more than %d keys", AP_HOST_KEYS_MAX);
	memcpy(out->key[out->count++], key, sizeof(key));
	return 0;
}

int hostkey_parse(const char *text, const char *host, struct ap_host_keys *out, struct err *e)
{
	out->count = 0;
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (take_line(text, n, host, out, e) < 0)
			return -1;
		text += n + (text[n] == '\n');
	}
	return 0;
}

int hostkey_load(const char *path, const char *host, struct ap_host_keys *out, struct err *e)
{
	auto_buf text = BUF_INIT(FILE_MAX);

	out->count = 0;
	if (io_read_file(path, &text, e) < 0)
		return e->errnum == ENOENT ? 0 : -1;
	return hostkey_parse(text.data ? text.data : "", host, out, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int add_base64(struct buf *b, const uint8_t *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	int bad = 0;

	for (; n; p += n < 3 ? n : 3, n -= n < 3 ? n : 3) {
		uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0u);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
				 n > 2 ? digits[v & 63] : '=' };

		bad |= buf_add(b, four, sizeof(four));
	}
	return bad;
}

/* It begins with the name of its kind. */
int hostkey_text(const char *blob, size_t len, char text[AP_HOST_KEY_MAX])
{
	const uint8_t *p = (const uint8_t *)blob;
	auto_buf b = BUF_INIT(AP_HOST_KEY_MAX - 1);
	size_t kind = len < 4 ? 0 : (size_t)be_get(p, 4);

	if (!kind || kind > KIND_MAX || kind > len - 4 || memchr(blob + 4, '\0', kind))
		return -1;
	if (buf_add(&b, blob + 4, kind) < 0 || buf_adds(&b, " ") < 0 || add_base64(&b, p, len) < 0 || !ap_host_key_ok(b.data))
		return -1;
	memcpy(text, b.data, b.len + 1);
	return 0;
}

char *hostkey_methods(const struct ap_host_keys *known)
{
	auto_buf b = BUF_INIT(AP_HOST_KEYS_MAX * AP_HOST_KEY_MAX);

	for (size_t i = 0; i < known->count; i++)
		if (buf_addf(&b, "%s%.*s", i ? "," : "", (int)strcspn(known->key[i], " "), known->key[i]) < 0)
			break;
	return xstrdup(b.len ? b.data : all_kinds);
}
