#include "guestagent/ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guestagent/nat.h"
#include "guestagent/ports_dump.h"
#include "guestagent/ports_events.h"
#include "guestagent/ports_news.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"

enum { POLL_MS = 1000, FAILED_MS = 1000 };

/* A UDP client has a bound socket like a server, on a port that the kernel chose for it out of a range: a resolver has one
 * for each question. A port of that range is a server's when a program asked for it by its number (dockerd does). Of those
 * that were bound before we could see that, what is still there after this time is taken for one: more than an answer takes,
 * and no longer than a port of the host may be missing after the agent was started anew. */
enum { REVIEW_MS = 2500 };

struct ports {
	int netlink;
	struct port_events *events; /* NULL: polling */
	struct nat *nat;            /* NULL: rules publish nothing */
	int both;                   /* epoll of what the two wait on */
	struct port_set known;      /* what was told */
	struct port_set now;
	struct port_socks socks; /* of the last dump */
	struct port_news news;
	bool rules_changed; /* which is among the news */
	bool snapshot; /* the next scan starts from nothing */
	bool left;     /* the last one had more to tell than fits */
	uint16_t chosen_first, chosen_last; /* the range above */
	int64_t review_at;                  /* ms; 0 = nothing to review */
	struct port_set old;                /* what is to be reviewed */
};

static void read_chosen_range(struct ports *p)
{
	static const char file[] = "/proc/sys/net/ipv4/ip_local_port_range";
	auto_buf text = BUF_INIT(100);
	unsigned first = 32768, last = 60999;
	struct err e;

	if (io_read_file(file, &text, &e) == 0)
		sscanf(text.data, "%u %u", &first, &last);
	p->chosen_first = (uint16_t)first;
	p->chosen_last = (uint16_t)last;
}

/* Rules that cannot be watched are none. */
static void watch_rules(struct ports *p)
{
	struct epoll_event ev = { .events = EPOLLIN };

	p->both = -1;
	p->nat = nat_open();
	if (!p->nat || !p->events)
		return;
	p->both = epoll_create1(EPOLL_CLOEXEC);
	if (p->both >= 0 && epoll_ctl(p->both, EPOLL_CTL_ADD, port_events_fd(p->events), &ev) == 0 &&
	    epoll_ctl(p->both, EPOLL_CTL_ADD, nat_fd(p->nat), &ev) == 0)
		return;
	cleanup_closep(&p->both);
	nat_close(p->nat);
	p->nat = NULL;
}

struct ports *ports_new(struct err *e)
{
	struct ports *p = calloc(1, sizeof(*p));
	struct err why = { 0 };

	if (!p) {
		err_set(e, ERR_SYS, "out of memory");
		return NULL;
	}
	p->snapshot = true;
	p->netlink = port_dump_open(e);
	if (p->netlink < 0) {
		free(p);
		return NULL;
	}
	read_chosen_range(p);
	p->events = port_events_open(&why);
	if (!p->events)
		err_set(e, ERR_STATE, "no port events, looking every second: %s", why.msg);
	watch_rules(p);
	return p;
}

void ports_free(struct ports *p)
{
	if (!p)
		return;
	cleanup_closep(&p->both);
	nat_close(p->nat);
	port_events_close(p->events);
	close(p->netlink);
	port_set_free(&p->known);
	port_set_free(&p->now);
	port_set_free(&p->old);
	port_socks_free(&p->socks);
	free(p);
}

int ports_fd(const struct ports *p)
{
	if (p->both >= 0)
		return p->both;
	return p->events ? port_events_fd(p->events) : -1;
}

const char *ports_kind(const struct ports *p)
{
	return p->events ? "ebpf" : "poll";
}

/* Whether a UDP port is one that nobody asked for by its number. */
static bool is_client(const struct ports *p, uint16_t port)
{
	return port >= p->chosen_first && port <= p->chosen_last && !(p->events && port_events_asked(p->events, port));
}

/* Takes the events there are. */
static void drain(struct ports *p)
{
	struct port_event ev;
	int64_t now = 0;

	while (p->events && port_events_next(p->events, &ev)) {
		if (ev.kind == PORT_EVENT_BIND && is_client(p, ev.port))
			continue;
		now = now ? now : clock_ms();
		port_news_add(&p->news, &ev, &p->socks, now);
	}
	if (p->nat && nat_changed(p->nat) && !p->rules_changed) {
		p->rules_changed = true;
		ev = (struct port_event){ .kind = PORT_EVENT_RULES };
		port_news_add(&p->news, &ev, &p->socks, clock_ms());
	}
}

int ports_interval(struct ports *p)
{
	int64_t due, now;

	if (!p->events)
		return POLL_MS;
	drain(p);
	due = port_news_due(&p->news);
	if (p->review_at && p->review_at < due)
		due = p->review_at;
	if (due == INT64_MAX)
		return -1;
	now = clock_ms();
	return due > now ? (int)(due - now) : 0;
}

bool ports_pending(const struct ports *p)
{
	return p->news.count || (p->events && port_events_pending(p->events)) || (p->nat && nat_pending(p->nat));
}

bool ports_by_rule(const struct ports *p, uint8_t proto, uint16_t port, struct ap_port *to)
{
	return p->nat && nat_target(p->nat, proto, port, to);
}

void ports_forget(struct ports *p)
{
	p->snapshot = true;
}

/* Leaves out of the dump what the kernel may have chosen the port of; the first time, keeps it for a review. */
static int leave_out_clients(struct ports *p, bool first, struct err *e)
{
	size_t kept = 0;

	if (first) {
		p->old.port = calloc(p->now.count + 1, sizeof(*p->old.port));
		if (!p->old.port)
			return err_set(e, ERR_SYS, "out of memory");
	}
	for (size_t i = 0; i < p->now.count; i++) {
		const struct ap_port *port = &p->now.port[i];

		if (port->proto != AP_UDP || !is_client(p, port->port))
			p->now.port[kept++] = *port;
		else if (first && p->events)
			p->old.port[p->old.count++] = *port;
	}
	p->now.count = kept;
	for (size_t i = 0; i < p->socks.count; i++)
		p->socks.sock[i].told &= p->socks.sock[i].proto != AP_UDP || !is_client(p, p->socks.sock[i].port);
	if (first && p->old.count)
		p->review_at = clock_ms() + REVIEW_MS;
	return 0;
}

/* Before those are left out: what was there at the beginning, and is still. */
static void review(struct ports *p)
{
	for (size_t i = 0; i < p->old.count; i++) {
		if (p->now.count && bsearch(&p->old.port[i], p->now.port, p->now.count, sizeof(*p->now.port), port_compare))
			port_events_ask(p->events, p->old.port[i].port);
	}
	p->review_at = 0;
	p->old.count = 0;
}

static int look_once(struct ports *p, int64_t now, struct err *e)
{
	if (port_dump(p->netlink, &p->now, &p->socks, e) < 0)
		return -1;
	if (p->review_at && now >= p->review_at)
		review(p);
	if (leave_out_clients(p, !p->old.port, e) < 0)
		return -1;
	if (p->nat) {
		nat_list(p->nat);
		p->rules_changed = false;
		if (nat_add(p->nat, &p->now) < 0)
			return err_set(e, ERR_SYS, "out of memory");
	}
	port_news_seen(&p->news, &p->socks, now);
	return 0;
}

/* Takes the events there are, then dumps: what the events announced can be in the dump, never the other way round. */
static int look(struct ports *p, struct err *e)
{
	int64_t now = clock_ms();

	if (look_once(p, now, e) == 0)
		return 0;
	/* What is due stays so, but not at once again. */
	port_news_failed(&p->news, now);
	if (p->review_at && p->review_at < now + FAILED_MS)
		p->review_at = now + FAILED_MS;
	return -1;
}

/* Merges the two sorted sets; fills out as far as it goes and returns the number of changes that found no place. */
static size_t compare(const struct port_set *known, const struct port_set *now, struct ap_ports *out)
{
	size_t i = 0, k = 0, left = 0;

	while (i < known->count || k < now->count) {
		int c = i == known->count ? 1 : k == now->count ? -1 : port_compare(&known->port[i], &now->port[k]);
		const struct ap_port *port = c < 0 ? &known->port[i] : &now->port[k];

		i += c <= 0;
		k += c >= 0;
		if (c == 0)
			continue;
		if (out->count == AP_PORTS_MAX) {
			left++;
			continue;
		}
		out->change[out->count].listening = c > 0;
		out->change[out->count].port = *port;
		out->count++;
	}
	return left;
}

/* Makes known what was told: the whole of now, or the changes in out when some are left. */
static int remember(struct ports *p, const struct ap_ports *out, size_t left, struct err *e)
{
	struct port_set next = { 0 };
	struct port_set told = p->known;

	if (left == 0) {
		p->known = p->now;
		p->now = told;
		return 0;
	}
	next.port = calloc(told.count + out->count, sizeof(*next.port));
	if (!next.port)
		return err_set(e, ERR_SYS, "out of memory");
	next.cap = told.count + out->count;
	for (size_t i = 0, k = 0; i < told.count || k < out->count;) {
		int c = i == told.count ? 1 : k == out->count ? -1 : port_compare(&told.port[i], &out->change[k].port);

		/* Equal means it was closed: neither is taken. */
		if (c < 0)
			next.port[next.count++] = told.port[i];
		else if (c > 0)
			next.port[next.count++] = out->change[k].port;
		i += c <= 0;
		k += c >= 0;
	}
	port_set_free(&p->known);
	p->known = next;
	return 0;
}

int ports_scan(struct ports *p, struct ap_ports *out, struct err *e)
{
	size_t left;

	out->snapshot = p->snapshot;
	out->count = 0;
	drain(p);
	if (p->events && !p->snapshot && !p->left && !p->news.count && !(p->review_at && clock_ms() >= p->review_at))
		return 0;
	if (look(p, e) < 0)
		return -1;
	if (p->snapshot)
		p->known.count = 0;
	left = compare(&p->known, &p->now, out);
	if (remember(p, out, left, e) < 0)
		return -1;
	p->snapshot = false;
	p->left = left > 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}
