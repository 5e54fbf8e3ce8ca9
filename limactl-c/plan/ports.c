/* Port rules and forwarded sockets. */
#include <string.h>
#include <sys/un.h>

#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/store/paths.h"

enum { PORT_SSH = 22, PORT_DNS = 53, PORT_DHCP_CLIENT = 68, PORT_MAX = 65535 };

#define ANY_IP "0.0.0.0"
#define LOOPBACK "127.0.0.1"

static void ignore_port(struct plan *p, uint16_t port)
{
	struct plan_port_rule *r = PLAN_APPEND(p->rule, p->rules);

	r->proto = PLAN_ANY;
	r->ignore = true;
	r->guest_ip = xstrdup(ANY_IP);
	r->host_ip = xstrdup(LOOPBACK);
	r->guest_first = r->guest_last = r->host_first = port;
}

static void forward_rest(struct plan *p)
{
	struct plan_port_rule *r = PLAN_APPEND(p->rule, p->rules);

	r->proto = PLAN_ANY;
	r->guest_ip = xstrdup(LOOPBACK);
	r->host_ip = xstrdup(LOOPBACK);
	r->guest_first = r->host_first = 1;
	r->guest_last = PORT_MAX;
}

static enum plan_proto proto_of(const char *word)
{
	if (!strcmp(word, "tcp"))
		return PLAN_TCP;
	return !strcmp(word, "udp") ? PLAN_UDP : PLAN_ANY;
}

/* First port of a rule's side: of its range, or its single port, or 0 when neither is given. */
static uint32_t first_port(const uint32_t range[2], uint32_t port)
{
	return range[0] ? range[0] : port;
}

static int add_rule(struct plan *p, const struct cfg_port_forward *f, size_t i, struct err *e)
{
	uint32_t guest = first_port(f->guest_range, f->guest_port), host = first_port(f->host_range, f->host_port);
	uint32_t last = f->guest_range[1] ? f->guest_range[1] : guest;
	struct plan_port_rule *r;

	if (!guest) {
		guest = 1;
		last = PORT_MAX;
	}
	if (!host)
		host = guest;
	if (last > PORT_MAX || last < guest || host + (last - guest) > PORT_MAX)
		return err_set(e, ERR_INVALID, "portForwards[%zu]: ports %u to %u do not fit", i, guest, last);
	r = PLAN_APPEND(p->rule, p->rules);
	r->proto = proto_of(f->proto);
	r->ignore = f->ignore;
	r->guest_ip_must_be_zero = f->guest_ip_must_be_zero;
	r->guest_ip = xstrdup(f->guest_ip);
	r->host_ip = xstrdup(f->host_ip);
	r->guest_first = (uint16_t)guest;
	r->guest_last = (uint16_t)last;
	r->host_first = (uint16_t)host;
	return 0;
}

static int add_socket(struct making *m, const struct cfg_port_forward *f, size_t i, struct err *e)
{
	struct plan *p = m->p;
	const char *host = f->host_socket;
	struct plan_socket *s;
	struct sockaddr_un sa;

	s = PLAN_APPEND(p->socket, p->sockets);
	s->guest_path = xstrdup(f->guest_socket);
	s->host_path = host[0] == '/' ? xstrdup(host) : xasprintf("%s/%s/%s", p->dir, path_file(PATH_SOCK_DIR), host);
	if (sock_unix_addr(s->host_path, &sa, e) < 0)
		return err_wrap(e, "portForwards[%zu].hostSocket", i);
	return 0;
}

int plan_make_ports(struct making *m, struct err *e)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	ignore_port(p, PORT_SSH);
	if (p->ssh_port && p->ssh_port != PORT_SSH)
		ignore_port(p, p->ssh_port);
	for (size_t i = 0; i < c->forwards; i++) {
		const struct cfg_port_forward *f = &c->forward[i];

		if (f->guest_socket || f->host_socket) {
			if (add_socket(m, f, i, e) < 0)
				return -1;
		} else if ((!c->plain || f->is_static) && add_rule(p, f, i, e) < 0) {
			return -1;
		}
	}
	/* The guest's own resolver and DHCP client are nobody's business on the host, unless a rule above names them. */
	ignore_port(p, PORT_DNS);
	ignore_port(p, PORT_DHCP_CLIENT);
	if (!c->plain)
		forward_rest(p);
	return 0;
}
