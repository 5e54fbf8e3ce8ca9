#include "limactl-c/cli/sshfile.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/pubkeys.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/paths.h"

enum { TEXT_MAX = 64 * 1024, PORTS_TRIED = 1000 };

static bool is_free(uint16_t port, struct err *e)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 };
	struct sockaddr_storage ss;
	socklen_t len = sock_ip_addr(4, loopback, port, &ss);
	auto_close int fd = sock_listen_tcp((struct sockaddr *)&ss, len, e);

	return fd >= 0;
}

/* The port it had; of a clone's the one it was made from has it. */
static uint16_t former_port(const struct plan *former, const char *dir)
{
	return former && (!strcmp(former->dir, dir) || !fs_exists(former->dir)) ? former->ssh_port : 0;
}

static uint16_t choose(const struct cfg *c, const struct plan *former, const char *dir, struct err *e)
{
	uint16_t asked = (uint16_t)c->ssh.local_port, wanted = asked ? asked : former_port(former, dir), port;
	struct err why = { 0 };

	if (wanted && is_free(wanted, &why))
		return wanted;
	for (unsigned n = 0; n < PORTS_TRIED; n++) {
		port = plan_ssh_port(dir, n);
		if (!is_free(port, e))
			continue;
		if (asked)
			say_warn("ssh.localPort: %s; %u is used instead until %u is free at a start", why.msg, port, asked);
		return port;
	}
	return 0;
}

static int take_keys(const struct cfg *c, struct plan_host *h, struct err *e)
{
	auto_free char *dot_ssh = c->ssh.load_dot_ssh_pub_keys ? xasprintf("%s/.ssh", h->home) : NULL;
	struct pubkeys keys;

	/* Few lean guests have an SSH server. */
	if (pubkeys_read(h->lima_home, dot_ssh, !strcmp(c->guest.init, "lean"), &keys, e) < 0)
		return -1;
	h->ssh_key = keys.key;
	h->ssh_keys = keys.keys;
	h->ssh_identity = keys.identity;
	h->ssh_identities = keys.identities;
	return 0;
}

int sshfile_probe(const struct cfg *c, const struct plan *former, const char *dir, bool starts, struct plan_host *h,
		  struct err *e)
{
	if (c->ssh.forward_agent && !h->ssh_auth_sock)
		say_warn("ssh.forwardAgent: no agent is known here (SSH_AUTH_SOCK), so none is lent to the guest");
	h->ssh_port = (uint16_t)c->ssh.local_port;
	if (starts) {
		h->ssh_port = choose(c, former, dir, e);
		if (!h->ssh_port)
			return err_wrap(e, "no port is free for ssh");
	}
	return take_keys(c, h, e);
}

char *sshfile_options(const struct plan *p)
{
	return xasprintf("%sHostname 127.0.0.1\nPort %u\n", p->ssh_options, p->ssh_port);
}

int sshfile_text(const struct plan *p, struct buf *out)
{
	auto_free char *all = sshfile_options(p);
	int bad = buf_addf(out, "Host %s\n", p->hostname);

	for (const char *at = all, *end; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		bad |= buf_addf(out, "  %.*s\n", (int)(end - at), at);
	}
	return bad;
}

int sshfile_write(const struct plan *p, struct err *e)
{
	auto_free char *path = path_in(p->dir, PATH_SSH_CONFIG);
	auto_buf text = BUF_INIT(TEXT_MAX);

	if (!p->ssh_port)
		return 0;
	if (buf_addf(&text, "# For ssh -F %s %s; written anew at each start.\n", path, p->hostname) < 0 ||
	    sshfile_text(p, &text) < 0)
		return err_set(e, ERR_INVALID, "%s: there are too many keys in ~/.ssh", path);
	return fs_write_atomic(path, text.data, text.len, 0600, e);
}
