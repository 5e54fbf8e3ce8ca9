/* validate_ports.c - the rules of portForwards[]. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/where.h"

/* One rule: path of a key in it. */
#define KEY(name) xasprintf("portForwards[%zu].%s", i, name)

static void check_ip(struct check *k, const char *ip, char *path)
{
	unsigned char a[16];

	if (inet_pton(AF_INET, ip, a) != 1 && inet_pton(AF_INET6, ip, a) != 1)
		check_bad(k, path, "must be an IP address; got \"%.60s\"", ip);
	else
		free(path);
}

/* A side of a rule: one port, a range or a socket. */
static void check_side(struct check *k, size_t i, const char *side, uint32_t port,
		       const uint32_t range[2], const char *socket)
{
	auto_free char *one = xasprintf("%sPort", side);
	auto_free char *two = xasprintf("%sPortRange", side);

	if (socket) {
		if (port)
			check_bad(k, KEY(one),
				  "must be 0 when field `portForwards[%zu].%sSocket` is set", i,
				  side);
		return;
	}
	if (!range[0] || !range[1])
		check_bad(k, KEY(two), "must be two ports from 1 to 65535");
	else if (range[1] < range[0])
		check_bad(k, KEY(two), "must not end before it begins: [%u, %u]", range[0],
			  range[1]);
	else if (port && port != range[0])
		check_bad(k, KEY(one), "must match field `portForwards[%zu].%sPortRange[0]`", i,
			  side);
}

static void check_sockets(struct check *k, size_t i, const struct cfg_port_forward *f)
{
	if (f->guest_socket && f->guest_socket[0] != '/' && strncmp(f->guest_socket, "{{", 2))
		check_bad(k, KEY("guestSocket"), "must be an absolute path; got \"%.100s\"",
			  f->guest_socket);
	if (f->host_socket && !*f->host_socket)
		check_bad(k, KEY("hostSocket"), "must not be empty");
	if (f->host_socket &&
	    strlen(f->host_socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		check_bad(k, KEY("hostSocket"), "must be shorter than %zu bytes; it has %zu",
			  sizeof(((struct sockaddr_un *)NULL)->sun_path), strlen(f->host_socket));
	if (!f->guest_socket || !f->host_socket)
		check_bad(
			k, f->guest_socket ? KEY("guestSocket") : KEY("hostSocket"),
			"is forwarded only from socket to socket in this version; give both guestSocket and hostSocket");
}

static void check_forward(struct check *k, size_t i)
{
	const struct cfg_port_forward *f = &k->c->forward[i];
	size_t errors = k->f->errors;

	check_ip(k, f->guest_ip, KEY("guestIP"));
	check_ip(k, f->host_ip, KEY("hostIP"));
	if (f->guest_ip_must_be_zero && strcmp(f->guest_ip, "0.0.0.0"))
		check_bad(k, KEY("guestIPMustBeZero"),
			  "can only be true when field `portForwards[%zu].guestIP` is 0.0.0.0", i);
	check_side(k, i, "guest", f->guest_port, f->guest_range, f->guest_socket);
	check_side(k, i, "host", f->host_port, f->host_range, f->host_socket);
	if (f->guest_socket || f->host_socket) {
		check_sockets(k, i, f);
		return;
	}
	/* Lengths say nothing when an end is wrong already. */
	if (errors != k->f->errors)
		return;
	if (f->guest_range[1] - f->guest_range[0] != f->host_range[1] - f->host_range[0])
		check_bad(k, KEY("hostPortRange"),
			  "must have as many ports as field `portForwards[%zu].guestPortRange`", i);
}

void check_forwards(struct check *k)
{
	const struct cfg *c = k->c;

	if (!c->forwards && where_given(c, "portForwards"))
		finding_warning(
			k->f, where_place(c, k->name, "portForwards"), NULL,
			"field `portForwards` is an empty list, which forwards every port of the guest; write "
			"[{guestPortRange: [1, 65535], ignore: true}] to forward none");
	for (size_t i = 0; i < c->forwards; i++)
		check_forward(k, i);
}
