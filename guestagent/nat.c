#include "guestagent/nat.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guestagent/netlink.h"
#include "lib/cleanup.h"
#include "lib/sock.h"

enum { RULES_MAX = 1024, ANSWER_MS = 2000 };

struct nat {
	int events, list; /* netlink sockets */
	bool changed, tried;   /* since it changed, it could not be listed once */
	struct nat_rule *rule; /* RULES_MAX */
	size_t rules;
	struct nat_rule *next; /* a list that is coming, the same */
	size_t nexts;
	struct ap_port *only; /* what nat_add() added last: published by rules alone; RULES_MAX */
	size_t onlys;
};

static int open_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
}

struct nat *nat_open(void)
{
	struct nat *n = calloc(1, sizeof(*n));
	struct timeval wait = { .tv_sec = ANSWER_MS / 1000 };
	/* Bound: a socket without an address is taken for the kernel's own and told nothing. */
	struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = 1U << (NFNLGRP_NFTABLES - 1) };

	if (!n)
		return NULL;
	n->events = open_netlink();
	n->list = open_netlink();
	n->rule = calloc(RULES_MAX, sizeof(*n->rule));
	n->next = calloc(RULES_MAX, sizeof(*n->next));
	n->only = calloc(RULES_MAX, sizeof(*n->only));
	n->changed = true;
	if (n->events < 0 || n->list < 0 || !n->rule || !n->next || !n->only ||
	    bind(n->events, (struct sockaddr *)&group, sizeof(group)) < 0 ||
	    setsockopt(n->list, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0) {
		nat_close(n);
		return NULL;
	}
	return n;
}

void nat_close(struct nat *n)
{
	if (!n)
		return;
	cleanup_closep(&n->events);
	cleanup_closep(&n->list);
	free(n->rule);
	free(n->next);
	free(n->only);
	free(n);
}

int nat_fd(const struct nat *n)
{
	return n->events;
}

/* An overrun (ENOBUFS) is a change like any other. */
bool nat_pending(const struct nat *n)
{
	char c;

	return n->changed || recv(n->events, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno == ENOBUFS;
}

bool nat_changed(struct nat *n)
{
	char c;

	/* What changed is not read: the list is the truth. */
	while (recv(n->events, &c, 1, MSG_DONTWAIT) >= 0 || errno == ENOBUFS) {
		n->changed = true;
		n->tried = false;
	}
	return n->changed;
}

/* Whether the address is one of the guest's, or any: rules for others (services of a cluster) publish nothing. */
static bool is_local(const struct ap_port *p)
{
	static const uint8_t any[16];
	struct sockaddr_storage sa;
	socklen_t len = sock_ip_addr(p->family, p->addr, 0, &sa);
	auto_close int fd = -1;

	if (!memcmp(p->addr, any, sizeof(any)))
		return true;
	fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && bind(fd, (struct sockaddr *)&sa, len) == 0;
}

static int add_rule(void *ctx, const struct nlmsghdr *h)
{
	struct nat *n = ctx;
	struct nat_rule *r = &n->next[n->nexts];

	if (n->nexts < RULES_MAX && nat_rule_parse(NLMSG_DATA(h), h->nlmsg_len - NLMSG_HDRLEN, r) && is_local(&r->port))
		n->nexts++;
	return 0;
}

/* Into n->next. False: it is not known what rules there are. */
static bool list(struct nat *n)
{
	struct {
		struct nlmsghdr h;
		struct nfgenmsg g;
	} req = {
		.h = { .nlmsg_len = sizeof(req),
		       .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};

	n->nexts = 0;
	return netlink_dump(n->list, &req.h, add_rule, n) == 0;
}

void nat_list(struct nat *n)
{
	struct nat_rule *old = n->rule;

	if (!n->changed)
		return;
	if (!list(n)) {
		/* What is missing would count as closed. A kernel that never lists them is asked no further. */
		n->changed = !n->tried;
		n->tried = true;
		return;
	}
	n->changed = n->tried = false;
	n->rule = n->next;
	n->next = old;
	n->rules = n->nexts;
}

static bool has_port(const struct ap_port *p, size_t count, uint8_t proto, uint16_t port)
{
	for (size_t i = 0; i < count; i++) {
		if (p[i].proto == proto && p[i].port == port)
			return true;
	}
	return false;
}

int nat_add(struct nat *n, struct port_set *s)
{
	size_t sockets = s->count;

	n->onlys = 0;
	for (size_t i = 0; i < n->rules; i++) {
		const struct nat_rule *r = &n->rule[i];

		for (unsigned port = r->port.port; port <= r->last && n->onlys < RULES_MAX; port++) {
			struct ap_port p = r->port;

			p.port = (uint16_t)port;
			if (!has_port(s->port, sockets, p.proto, p.port))
				n->only[n->onlys++] = p;
		}
	}
	if (!n->onlys)
		return 0;
	for (size_t i = 0; i < n->onlys; i++) {
		if (port_set_add(s, &n->only[i]) < 0)
			return -1;
	}
	port_set_sort(s);
	return 0;
}

bool nat_target(const struct nat *n, uint8_t proto, uint16_t port, struct ap_port *to)
{
	if (!has_port(n->only, n->onlys, proto, port))
		return false;
	for (size_t i = 0; i < n->rules; i++) {
		const struct nat_rule *r = &n->rule[i];

		if (r->port.proto != proto || port < r->port.port || port > r->last)
			continue;
		*to = r->to;
		if (r->same)
			to->port = (uint16_t)(r->to.port + (port - r->port.port));
		return true;
	}
	return false;
}
