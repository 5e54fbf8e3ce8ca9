#include "guestagent/ports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/ports_dump.h"
#include "guestagent/ports_events.h"
#include "lib/clock.h"

/* An event and its effect are not one step in the kernel: LISTEN is traced before the socket is entered in the table
 * that the dump reads, a UDP socket's release is told before it leaves that table. So after an event whose effect is
 * not to be seen yet the scan is repeated, often at first, for as long as a preempted CPU may need. */
enum { SETTLE_MS = 300, SETTLE_STEP_MS = 10, POLL_MS = 1000 };

struct ports {
	int netlink;
	struct port_events *events; /* NULL: polling */
	struct port_set known;      /* what was told */
	struct port_set now;
	bool snapshot;        /* the next scan starts from nothing */
	int64_t settle_until; /* ms, 0 = settled */
};

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
	p->events = port_events_open(&why);
	if (!p->events)
		err_set(e, ERR_STATE, "no port events, looking every second: %s", why.msg);
	return p;
}

void ports_free(struct ports *p)
{
	if (!p)
		return;
	port_events_close(p->events);
	close(p->netlink);
	port_set_free(&p->known);
	port_set_free(&p->now);
	free(p);
}

int ports_fd(const struct ports *p)
{
	return p->events ? port_events_fd(p->events) : -1;
}

const char *ports_kind(const struct ports *p)
{
	return p->events ? "ebpf" : "poll";
}

int ports_interval(const struct ports *p)
{
	if (!p->events)
		return POLL_MS;
	return p->settle_until ? SETTLE_STEP_MS : -1;
}

bool ports_pending(const struct ports *p)
{
	return p->settle_until || (p->events && port_events_pending(p->events));
}

void ports_forget(struct ports *p)
{
	p->snapshot = true;
}

static bool has_tcp(const struct port_set *s, uint16_t port)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->port[i].proto == AP_TCP && s->port[i].port == port)
			return true;
	}
	return false;
}

/* Whether what the event announced can be seen in the dump. A listener of another namespace or on an address of
 * SO_REUSEPORT's other sockets looks unsettled for SETTLE_MS, which costs a few more dumps and nothing else. */
static bool visible(const struct port_event *ev, const struct port_set *s)
{
	switch (ev->kind) {
	case PORT_EVENT_LISTEN:
		return has_tcp(s, ev->port);
	case PORT_EVENT_CLOSE:
		return !has_tcp(s, ev->port);
	default:
		return ev->kind == PORT_EVENT_BIND;
	}
}

/* Takes the events there are, then dumps: what the events announced can be in the dump, never the other way round. */
static int look(struct ports *p, struct err *e)
{
	enum { REMEMBERED = 64 };
	struct port_event ev[REMEMBERED];
	size_t count = 0;
	int64_t now;

	while (p->events && count < REMEMBERED && port_events_next(p->events, &ev[count]))
		count++;
	if (port_dump(p->netlink, &p->now, e) < 0)
		return -1;
	now = count || p->settle_until ? clock_ms() : 0;
	for (size_t i = 0; i < count; i++) {
		if (!visible(&ev[i], &p->now))
			p->settle_until = now + SETTLE_MS;
	}
	if (p->settle_until && now >= p->settle_until)
		p->settle_until = 0;
	return 0;
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

	if (look(p, e) < 0)
		return -1;
	out->snapshot = p->snapshot;
	out->count = 0;
	if (p->snapshot)
		p->known.count = 0;
	left = compare(&p->known, &p->now, out);
	if (remember(p, out, left, e) < 0)
		return -1;
	p->snapshot = false;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}
