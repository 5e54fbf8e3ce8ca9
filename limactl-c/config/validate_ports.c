/* validate_ports.c - the rules of portForwards[]. */
#include <stdlib.h>
#include <string.h>

#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/where.h"

enum { GROUP_MAX = AP_GROUP_MAX - 1 }; /* what the guest can be told */

/* One rule: path of a key in it. */
#define KEY(name) xasprintf("portForwards[%zu].%s", i, name)

/* A single port written as a range; one that follows from the other side was checked there. */
static void check_range(struct check *k, const uint32_t range[2], char *path)
{
	auto_free char *own = path;

	if (range[0] == range[1] && where_given(k->c, own))
		check_port(k, range[0], steal(&own));
}

/* A side of a rule: one port, a range or a socket. */
static void check_side(struct check *k, size_t i, const char *side, uint32_t port, const uint32_t range[2],
		       const char *socket)
{
	auto_free char *one = xasprintf("%sPort", side), *two = xasprintf("%sPortRange", side);

	if (socket) {
		if (port)
			check_bad(k, KEY(one), "must be 0 when `portForwards[%zu].%sSocket` is set", i, side);
		return;
	}
	if (!range[0] || !range[1])
		check_bad(k, KEY(two), "must be two ports from 1 to 65535");
	else if (range[1] < range[0])
		check_bad(k, KEY(two), "must not end before it begins: [%u, %u]", range[0], range[1]);
	else if (port && port != range[0])
		check_bad(k, KEY(one), "must match `portForwards[%zu].%sPortRange[0]`", i, side);
	else if (port)
		check_port(k, port, KEY(one));
	else
		check_range(k, range, KEY(two));
}

static void check_sockets(struct check *k, size_t i, const struct cfg_port_forward *f)
{
	if (f->guest_socket && !f->host_socket && f->host_range[0] != f->host_range[1])
		check_bad(k, KEY("guestSocket"),
			  "leads to one socket or one port of the host: give hostSocket or hostPort");
	if (f->host_socket && !f->guest_socket && f->guest_range[0] != f->guest_range[1])
		check_bad(k, KEY("hostSocket"),
			  "leads to one socket or one port of the guest: give guestSocket or guestPort");
}

/* Rights of the socket that is listened on. */
static void check_rights(struct check *k, size_t i, const struct cfg_port_forward *f)
{
	const char *mode = f->socket_mode ? f->socket_mode : "", *group = f->socket_group ? f->socket_group : "";

	if (!*mode && !*group)
		return;
	if (!(f->reverse ? f->guest_socket : f->host_socket))
		check_bad(k, KEY("socket"), "is for the socket that is listened on: give %s",
			  f->reverse ? "guestSocket" : "hostSocket");
	if (strtoul(mode, NULL, 8) > 0777)
		check_bad(k, KEY("socket.mode"), "must be at most 0777; got %s", mode);
	if (strlen(group) > GROUP_MAX)
		check_bad(k, KEY("socket.group"), "must have at most %d bytes", GROUP_MAX);
}

static void check_forward(struct check *k, size_t i)
{
	const struct cfg_port_forward *f = &k->c->forward[i];
	size_t errors = k->f->errors;

	if (f->guest_ip_must_be_zero && strcmp(f->guest_ip, "0.0.0.0"))
		check_bad(k, KEY("guestIPMustBeZero"),
			  "can only be true when `portForwards[%zu].guestIP` is 0.0.0.0", i);
	if (f->reverse && (!f->guest_socket || !f->host_socket))
		check_bad(k, KEY("reverse"), "needs both guestSocket and hostSocket");
	check_rights(k, i, f);
	check_side(k, i, "guest", f->guest_port, f->guest_range, f->guest_socket);
	check_side(k, i, "host", f->host_port, f->host_range, f->host_socket);
	if (f->guest_socket || f->host_socket) {
		check_sockets(k, i, f);
		return;
	}
	/* Lengths say nothing when an end is wrong already. */
	if (errors == k->f->errors && f->guest_range[1] - f->guest_range[0] != f->host_range[1] - f->host_range[0])
		check_bad(k, KEY("hostPortRange"), "must have as many ports as `portForwards[%zu].guestPortRange`", i);
}

void check_forwards(struct check *k)
{
	const struct cfg *c = k->c;

	if (!c->forwards && where_given(c, "portForwards"))
		check_warn(k, xstrdup("portForwards"),
			   "is an empty list, which forwards every port of the guest; write "
			   "[{guestPortRange: [1, 65535], ignore: true}] to forward none");
	for (size_t i = 0; i < c->forwards; i++)
		check_forward(k, i);
}
