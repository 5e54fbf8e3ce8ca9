/* ssh.c - how this host's ssh reaches the guest's SSH server: the port, the options of ssh.config, the agent lent to the guest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/store/paths.h"

/* Where ports are chosen: systems hand out none of these by themselves, and names are served above them. */
enum { SSH_FIRST = 16000, SSH_PORTS = 4000 };

/* Where Docker Desktop and Lima have it, so that files which mount it into containers find it. */
#define AGENT_IN_GUEST "/run/host-services/ssh-auth.sock"

uint16_t plan_ssh_port(const char *dir, unsigned n)
{
	return (uint16_t)(SSH_FIRST + (plan_hash(dir) + n) % SSH_PORTS);
}

static void add(struct buf *b, const char *key, const char *value)
{
	if (buf_addf(b, "%s %s\n", key, value) < 0)
		abort(); /* its max is that of memory */
}

/* A path as ssh reads it: in quotes; "%" begins a token. */
static void add_path(struct buf *b, const char *key, const char *path)
{
	auto_buf quoted = BUF_INIT(SIZE_MAX / 2);
	int bad = 0;

	for (; *path; path++)
		bad |= buf_addf(&quoted, "%s%c", *path == '%' ? "%" : strchr("\"\\", *path) ? "\\" : "", *path);
	if (bad | buf_addf(b, "%s \"%s\"\n", key, quoted.data ? quoted.data : ""))
		abort();
}

/* Nobody but the guest is taken for it: its keys are known, by the name that it has and not by a port, whatever else this
 * host and this user believe of 127.0.0.1. */
static void add_host_keys(const struct plan *p, struct buf *b)
{
	auto_free char *known = path_in(p->dir, PATH_KNOWN_HOSTS);

	add(b, "StrictHostKeyChecking", "yes");
	add_path(b, "UserKnownHostsFile", known);
	add(b, "GlobalKnownHostsFile", "/dev/null");
	add(b, "HostKeyAlias", p->hostname);
	add(b, "NoHostAuthenticationForLocalhost", "no");
	add(b, "CheckHostIP", "no");
	add(b, "UpdateHostKeys", "no");
}

static void add_sharing(const struct plan *p, struct buf *b)
{
	auto_free char *master = xasprintf("%s/ssh.sock", p->dir);

	add(b, "ControlMaster", "auto");
	add_path(b, "ControlPath", master);
	add(b, "ControlPersist", "yes");
}

/* The user's agent, for programs that no ssh started: commands of `shell`, containers that mount it. */
static void lend_agent(struct making *m)
{
	const char *path = m->h->ssh_auth_sock;
	struct plan_socket *s;

	if (!path)
		return;
	s = PLAN_APPEND(m->p->socket, m->p->sockets);
	s->host_path = xstrdup(path);
	s->guest_path = xstrdup(AGENT_IN_GUEST);
	s->reverse = true;
	s->mode = 0600;
}

const char *plan_ssh_agent(const struct plan *p)
{
	for (size_t i = 0; i < p->sockets; i++)
		if (p->socket[i].reverse && !strcmp(p->socket[i].guest_path, AGENT_IN_GUEST))
			return AGENT_IN_GUEST;
	return NULL;
}

void plan_make_ssh(struct making *m)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;
	auto_free char *own = xasprintf("%s/_config/user", m->h->lima_home);
	auto_buf b = BUF_INIT(SIZE_MAX / 2);

	p->ssh_port = m->h->ssh_port;
	/* Our own initramfs and our own init are the agent's. */
	if (c->plain && !p->initrd_base && p->init != PLAN_INIT_LEAN)
		p->ssh_key = xstrdup(own);
	add_path(&b, "IdentityFile", own);
	for (size_t i = 0; i < m->h->ssh_identities; i++)
		add_path(&b, "IdentityFile", m->h->ssh_identity[i]);
	add_host_keys(p, &b);
	add(&b, "PreferredAuthentications", "publickey");
	add(&b, "Compression", "no");
	add(&b, "BatchMode", "yes");
	add(&b, "IdentitiesOnly", "yes");
	/* The model emulated has no instructions for AES. */
	add(&b, "Ciphers", p->accel == PLAN_TCG ? "\"^chacha20-poly1305@openssh.com\"" :
						 "\"^aes128-gcm@openssh.com,aes256-gcm@openssh.com\"");
	add(&b, "User", c->user.name);
	add_sharing(p, &b);
	if (c->ssh.forward_agent) {
		add(&b, "ForwardAgent", "yes");
		if (!p->ssh_key)
			lend_agent(m);
	}
	if (c->ssh.forward_x11)
		add(&b, "ForwardX11", "yes");
	if (c->ssh.forward_x11_trusted)
		add(&b, "ForwardX11Trusted", "yes");
	p->ssh_options = steal(&b.data);
}
