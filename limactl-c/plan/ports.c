/* Port rules and forwarded sockets. */
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/where.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/store/paths.h"

enum { PORT_SSH = 22, PORT_DNS = 53, PORT_DHCP_CLIENT = 68, PORT_DHCPV6_CLIENT = 546, PORT_MAX = 65535, SOCKET_MODE = 0600 };

/* Where an instance's names are served: its folder decides, so that what was told of it once goes on being true. Systems hand out
 * none of these by themselves. */
enum { NAMES_FIRST = 20000, NAMES_PORTS = 10000 };

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

/* Who says what is not to be forwarded and names no address means every one. Taken as 127.0.0.1, as for other rules, it
 * would leave out what listens on all addresses, which is what containers publish. */
static bool is_for_all(const struct cfg *c, const struct cfg_port_forward *f, size_t i)
{
	auto_free char *path = xasprintf("portForwards[%zu].guestIP", i);

	return f->ignore && !f->guest_ip_must_be_zero && !where_given(c, path);
}

static int add_rule(const struct cfg *c, struct plan *p, const struct cfg_port_forward *f, size_t i, struct err *e)
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
	r->is_static = f->is_static && !f->ignore;
	r->to_socket = f->host_socket != NULL;
	r->guest_ip_must_be_zero = f->guest_ip_must_be_zero;
	r->guest_ip = xstrdup(is_for_all(c, f, i) ? ANY_IP : f->guest_ip);
	r->host_ip = xstrdup(f->host_ip);
	r->guest_first = (uint16_t)guest;
	r->guest_last = (uint16_t)last;
	r->host_first = (uint16_t)host;
	return 0;
}

static int set_host(struct plan *p, struct plan_socket *s, const struct cfg_port_forward *f, size_t i, struct err *e)
{
	const char *path = f->host_socket;
	struct sockaddr_un sa;

	if (!path) {
		s->host_ip = xstrdup(f->host_ip);
		s->host_port = (uint16_t)first_port(f->host_range, f->host_port);
		return 0;
	}
	s->host_path = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s/%s", p->dir, path_file(PATH_SOCK_DIR), path);
	return sock_unix_addr(s->host_path, &sa, e) < 0 ? err_wrap(e, "portForwards[%zu].hostSocket", i) : 0;
}

static int set_guest(struct plan_socket *s, const struct cfg_port_forward *f, size_t i, struct err *e)
{
	struct sockaddr_un sa;

	if (f->guest_socket) {
		s->guest_path = xstrdup(f->guest_socket);
		return sock_unix_addr(s->guest_path, &sa, e) < 0 ? err_wrap(e, "portForwards[%zu].guestSocket", i) : 0;
	}
	s->guest_ip = xstrdup(f->guest_ip);
	s->guest_port = (uint16_t)first_port(f->guest_range, f->guest_port);
	return 0;
}

static int add_socket(struct plan *p, const struct cfg_port_forward *f, size_t i, struct err *e)
{
	struct plan_socket *s = PLAN_APPEND(p->socket, p->sockets);
	const char *mode = f->socket_mode;

	s->reverse = f->reverse;
	s->mode = mode && *mode ? (unsigned)strtoul(mode, NULL, 8) & 0777 : SOCKET_MODE;
	s->group = f->socket_group && *f->socket_group ? xstrdup(f->socket_group) : NULL;
	return set_host(p, s, f, i, e) < 0 || set_guest(s, f, i, e) < 0 ? -1 : 0;
}

/* What one rule becomes. Its place among the others counts also when its host end is a socket: what it matches is
 * forwarded nowhere else. */
static int add_forward(const struct cfg *c, struct plan *p, const struct cfg_port_forward *f, size_t i, struct err *e)
{
	if ((f->guest_socket || f->host_socket) && !f->ignore && add_socket(p, f, i, e) < 0)
		return -1;
	return f->guest_socket ? 0 : add_rule(c, p, f, i, e);
}

/* Every one of these is something that listens from the start. */
static int check_bounds(const struct plan *p, struct err *e)
{
	size_t ports = 0, sockets = 0;

	for (size_t i = 0; i < p->rules; i++)
		ports += p->rule[i].is_static && !p->rule[i].to_socket ?
				 (size_t)(p->rule[i].guest_last - p->rule[i].guest_first) + 1 : 0;
	for (size_t i = 0; i < p->sockets; i++)
		sockets += p->socket[i].reverse;
	if (ports > PLAN_STATIC_MAX)
		return err_set(e, ERR_INVALID, "portForwards: static rules have %zu ports, at most %d are possible: give them a "
			       "guestPort or a shorter guestPortRange", ports, PLAN_STATIC_MAX);
	if (sockets > AP_REVERSE_MAX)
		return err_set(e, ERR_INVALID, "portForwards: %zu rules are reverse, at most %d are possible", sockets,
			       AP_REVERSE_MAX);
	return 0;
}

bool plan_socket_is_docker(const struct plan_socket *s)
{
	const char *slash = s->host_path ? strrchr(s->host_path, '/') : NULL;

	return slash && s->guest_path && !s->reverse && !strcmp(slash + 1, "docker.sock");
}

const char *plan_docker_socket(const struct plan *p)
{
	for (size_t i = 0; i < p->sockets; i++)
		if (plan_socket_is_docker(&p->socket[i]))
			return p->socket[i].guest_path;
	return NULL;
}

int plan_make_ports(struct making *m, struct err *e)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	plan_make_ssh(m);
	ignore_port(p, PORT_SSH);
	if (p->ssh_port && p->ssh_port != PORT_SSH)
		ignore_port(p, p->ssh_port);
	for (size_t i = 0; i < c->forwards; i++) {
		const struct cfg_port_forward *f = &c->forward[i];

		if ((!c->plain || f->is_static) && add_forward(c, p, f, i, e) < 0)
			return -1;
	}
	if (check_bounds(p, e) < 0)
		return -1;
	/* The guest's own resolver and DHCP clients are nobody's business on the host, unless a rule above names them. */
	ignore_port(p, PORT_DNS);
	ignore_port(p, PORT_DHCP_CLIENT);
	ignore_port(p, PORT_DHCPV6_CLIENT);
	if (!c->plain)
		forward_rest(p);
	if (plan_docker_socket(p))
		p->dns_port = (uint16_t)(NAMES_FIRST + plan_hash(p->dir) % NAMES_PORTS);
	return 0;
}
