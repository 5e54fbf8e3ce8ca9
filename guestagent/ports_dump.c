#include "guestagent/ports_dump.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guestagent/netlink.h"

/* States of enum tcp_state in the kernel; UDP uses CLOSE for a socket that is bound but not connected. */
enum { STATE_ESTABLISHED = 1, STATE_CLOSE = 7, STATE_LISTEN = 10 };
enum { TCP_STATES = 1 << STATE_LISTEN, UDP_STATES = 1 << STATE_CLOSE | 1 << STATE_ESTABLISHED };

static const struct {
	uint8_t family, protocol;
	uint8_t proto; /* on our wire */
	uint32_t states;
} dump_kinds[] = {
	{ AF_INET, IPPROTO_TCP, AP_TCP, TCP_STATES },
	{ AF_INET6, IPPROTO_TCP, AP_TCP, TCP_STATES },
	{ AF_INET, IPPROTO_UDP, AP_UDP, UDP_STATES },
	{ AF_INET6, IPPROTO_UDP, AP_UDP, UDP_STATES },
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

void port_socks_free(struct port_socks *socks)
{
	free(socks->sock);
	memset(socks, 0, sizeof(*socks));
}

/* Room for one more of size bytes in the array *at: doubled when it is full. */
static int grow(void *at, size_t count, size_t *cap, size_t size)
{
	void **array = at, *more;

	if (count < *cap)
		return 0;
	more = realloc(*array, (*cap ? *cap * 2 : 32) * size);
	if (!more)
		return -1;
	*array = more;
	*cap = *cap ? *cap * 2 : 32;
	return 0;
}

static int add_sock(struct port_socks *socks, const struct inet_diag_msg *m, uint8_t proto, bool *told)
{
	uint64_t cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];

	*told = m->idiag_state != STATE_ESTABLISHED;
	if (socks->count == PORTS_KNOWN_MAX)
		return 0;
	if (grow(&socks->sock, socks->count, &socks->cap, sizeof(*socks->sock)) < 0)
		return -1;
	socks->sock[socks->count++] = (struct port_sock){ cookie, ntohs(m->id.idiag_sport), proto, *told };
	return 0;
}

int port_set_add(struct port_set *s, const struct ap_port *p)
{
	if (s->count == PORTS_KNOWN_MAX)
		return 0;
	if (grow(&s->port, s->count, &s->cap, sizeof(*s->port)) < 0)
		return -1;
	s->port[s->count++] = *p;
	return 0;
}

void port_set_sort(struct port_set *s)
{
	size_t kept = 0;

	if (s->count)
		qsort(s->port, s->count, sizeof(*s->port), port_compare);
	/* Several sockets may share one address (SO_REUSEPORT): one entry. */
	for (size_t i = 0; i < s->count; i++) {
		if (kept == 0 || port_compare(&s->port[kept - 1], &s->port[i]) != 0)
			s->port[kept++] = s->port[i];
	}
	s->count = kept;
}

static int add(struct port_set *s, struct port_socks *socks, const struct inet_diag_msg *m, uint8_t proto)
{
	struct ap_port p;
	bool told;

	if (m->id.idiag_sport == 0) /* none, or not yet */
		return 0;
	if (add_sock(socks, m, proto, &told) < 0)
		return -1;
	if (!told)
		return 0;
	memset(&p, 0, sizeof(p)); /* padding too: sets are compared as bytes */
	p.proto = proto;
	p.family = m->idiag_family == AF_INET6 ? 6 : 4;
	memcpy(p.addr, m->id.idiag_src, p.family == 6 ? 16 : 4);
	p.port = ntohs(m->id.idiag_sport);
	return port_set_add(s, &p);
}

/* A dump of one kind as far as it has come. */
struct dump {
	struct port_set *set;
	struct port_socks *socks;
	uint8_t proto;
};

static int on_sock(void *ctx, const struct nlmsghdr *h)
{
	struct dump *d = ctx;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
		return EBADMSG;
	return add(d->set, d->socks, NLMSG_DATA(h), d->proto) < 0 ? ENOMEM : 0;
}

static int dump_kind(int fd, struct port_set *s, struct port_socks *socks, size_t kind, struct err *e)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} req = {
		.h = { .nlmsg_len = sizeof(req),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.r = { .sdiag_family = dump_kinds[kind].family,
		       .sdiag_protocol = dump_kinds[kind].protocol,
		       .idiag_states = dump_kinds[kind].states },
	};
	struct dump d = { s, socks, dump_kinds[kind].proto };

	errno = netlink_dump(fd, &req.h, on_sock, &d);
	/* A kernel without this family or protocol has no such sockets. */
	return errno && errno != ENOENT ? err_errno(e, "the list of sockets") : 0;
}

int port_dump(int fd, struct port_set *s, struct port_socks *socks, struct err *e)
{
	s->count = socks->count = 0;
	for (size_t kind = 0; kind < sizeof(dump_kinds) / sizeof(dump_kinds[0]); kind++) {
		if (dump_kind(fd, s, socks, kind, e) < 0)
			return -1;
	}
	port_set_sort(s);
	return 0;
}
