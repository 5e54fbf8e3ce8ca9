#include "guestagent/ports_dump.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* States of enum tcp_state in the kernel; UDP uses CLOSE for a socket that is bound but not connected. */
enum { STATE_CLOSE = 7, STATE_LISTEN = 10 };

static const struct {
	uint8_t family, protocol;
	uint8_t proto; /* on our wire */
	uint32_t state;
} dump_kinds[] = {
	{ AF_INET, IPPROTO_TCP, AP_TCP, STATE_LISTEN },
	{ AF_INET6, IPPROTO_TCP, AP_TCP, STATE_LISTEN },
	{ AF_INET, IPPROTO_UDP, AP_UDP, STATE_CLOSE },
	{ AF_INET6, IPPROTO_UDP, AP_UDP, STATE_CLOSE },
};

int port_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ap_port));
}

void port_set_free(struct port_set *s)
{
	free(s->port);
	memset(s, 0, sizeof(*s));
}

int port_dump_open(struct err *e)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		err_errno(e, "netlink socket");
	return fd;
}

static int add(struct port_set *s, const struct inet_diag_msg *m, uint8_t proto)
{
	struct ap_port *p;

	if (m->id.idiag_sport == 0 || s->count == PORTS_KNOWN_MAX)
		return 0;
	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 32;

		p = realloc(s->port, cap * sizeof(*p));
		if (!p)
			return -1;
		s->port = p;
		s->cap = cap;
	}
	p = &s->port[s->count++];
	memset(p, 0, sizeof(*p)); /* padding too: sets are compared as bytes */
	p->proto = proto;
	p->family = m->idiag_family == AF_INET6 ? 6 : 4;
	memcpy(p->addr, m->id.idiag_src, p->family == 6 ? 16 : 4);
	p->port = ntohs(m->id.idiag_sport);
	return 0;
}

static int request(int fd, size_t kind, uint32_t seq, struct err *e)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} req = {
		.h = { .nlmsg_len = sizeof(req),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		       .nlmsg_seq = seq },
		.r = { .sdiag_family = dump_kinds[kind].family,
		       .sdiag_protocol = dump_kinds[kind].protocol,
		       .idiag_states = 1U << dump_kinds[kind].state },
	};

	if (send(fd, &req, sizeof(req), 0) < 0)
		return err_errno(e, "ask for the list of sockets");
	return 0;
}

/* One datagram of an answer. 1: the dump is complete, 0: more follow. */
static int answer(const char *p, ssize_t n, struct port_set *s, size_t kind, uint32_t seq, struct err *e)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)p;

	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		if (h->nlmsg_seq != seq)
			continue;
		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *ne = NLMSG_DATA(h);

			/* A kernel without this family or protocol has no such sockets. */
			if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(*ne)) && ne->error == -ENOENT)
				return 1;
			return err_set(e, ERR_SYS, "the kernel refused the list of sockets");
		}
		if (h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			return err_set(e, ERR_INVALID, "the list of sockets is malformed");
		if (add(s, NLMSG_DATA(h), dump_kinds[kind].proto) < 0)
			return err_set(e, ERR_SYS, "out of memory");
	}
	return 0;
}

static int dump_kind(int fd, struct port_set *s, size_t kind, uint32_t seq, struct err *e)
{
	static _Alignas(struct nlmsghdr) char buf[32768];
	int done = request(fd, kind, seq, e);

	while (done == 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_errno(e, "read the list of sockets");
		done = answer(buf, n, s, kind, seq, e);
	}
	return done < 0 ? -1 : 0;
}

int port_dump(int fd, struct port_set *s, struct err *e)
{
	static uint32_t seq;
	size_t kept = 0;

	s->count = 0;
	for (size_t kind = 0; kind < sizeof(dump_kinds) / sizeof(dump_kinds[0]); kind++) {
		if (dump_kind(fd, s, kind, ++seq, e) < 0)
			return -1;
	}
	if (s->count)
		qsort(s->port, s->count, sizeof(*s->port), port_compare);
	/* Several sockets may share one address (SO_REUSEPORT): one entry. */
	for (size_t i = 0; i < s->count; i++) {
		if (kept == 0 || port_compare(&s->port[kept - 1], &s->port[i]) != 0)
			s->port[kept++] = s->port[i];
	}
	s->count = kept;
	return 0;
}
