#include "guestagent/ports_news.h"

#include <string.h>

/* An event and its effect are not one step in the kernel: LISTEN is traced before the socket is entered in the table
 * that the dump reads, a bound socket gets its port after the hook, a release is told before the socket leaves the table.
 * So after an event whose effect is not to be seen yet the dump is repeated, for as long as a preempted CPU may need. */
enum { SETTLE_MS = 300, SETTLE_STEP_MS = 10, RETRY_MS = 1000 };

/* In ms: how long to wait for an event that takes it back, and how long at least since the last dump. Nobody who waits
 * for an answer waits for these (ga_before_data()). */
static const struct {
	int wait, gap;
} patience[] = {
	[0] = { 0, 10 }, /* more events than there is room for */
	[PORT_EVENT_BIND] = { 5, 50 },
	[PORT_EVENT_RELEASE] = { 5, 50 },
	[PORT_EVENT_LISTEN] = { 0, 5 },
	[PORT_EVENT_CLOSE] = { 0, 20 },
	[PORT_EVENT_RULES] = { 5, 50 },
};

static const struct port_sock *sock_of(const struct port_socks *s, uint64_t cookie)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->sock[i].cookie == cookie)
			return &s->sock[i];
	}
	return NULL;
}

static bool has_tcp(const struct port_socks *s, uint16_t port)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->sock[i].proto == AP_TCP && s->sock[i].port == port)
			return true;
	}
	return false;
}

/* Whether what the event announced can be seen in the dump. A listener of another namespace, or the end of one of several
 * on a port, looks unsettled for SETTLE_MS, which costs a few more dumps and nothing else. */
static bool visible(const struct port_event *ev, const struct port_socks *s)
{
	switch (ev->kind) {
	case PORT_EVENT_BIND:
		return sock_of(s, ev->id);
	case PORT_EVENT_RELEASE:
		return !sock_of(s, ev->id);
	case PORT_EVENT_LISTEN:
		return has_tcp(s, ev->port);
	case PORT_EVENT_CLOSE:
		return !has_tcp(s, ev->port);
	case PORT_EVENT_RULES:
		return true;
	}
	return false;
}

static void drop(struct port_news *n, size_t i)
{
	n->item[i] = n->item[--n->count];
}

/* A release of a socket that nobody was told of is no news, and neither is its bind any more. */
static bool nobody_knew(struct port_news *n, uint64_t cookie, const struct port_socks *known)
{
	const struct port_sock *s = sock_of(known, cookie);

	for (size_t i = 0; i < n->count; i++) {
		if (n->item[i].ev.kind == PORT_EVENT_BIND && n->item[i].ev.id == cookie) {
			drop(n, i);
			break;
		}
	}
	return !s || !s->told;
}

static bool is_news(struct port_news *n, const struct port_event *ev, const struct port_socks *known)
{
	if (ev->kind == PORT_EVENT_BIND)
		return !sock_of(known, ev->id);
	if (ev->kind == PORT_EVENT_RELEASE)
		return !nobody_knew(n, ev->id, known);
	return true;
}

void port_news_add(struct port_news *n, const struct port_event *ev, const struct port_socks *known, int64_t now)
{
	struct port_noticed *it = &n->item[n->count];

	if (!is_news(n, ev, known))
		return;
	if (n->count == PORT_NEWS_MAX) {
		it--; /* the last one stands for all that find no place */
		memset(&it->ev, 0, sizeof(it->ev));
		it->until = 0;
		return;
	}
	n->count++;
	*it = (struct port_noticed){ .ev = *ev, .since = now };
	if (ev->kind >= sizeof(patience) / sizeof(patience[0]))
		it->ev.kind = 0;
}

int64_t port_news_due(const struct port_news *n)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < n->count; i++) {
		const struct port_noticed *it = &n->item[i];
		int64_t first = it->since + patience[it->ev.kind].wait, gap = n->looked + patience[it->ev.kind].gap;
		int64_t at = it->until ? n->looked + SETTLE_STEP_MS : first > gap ? first : gap;

		if (at < due)
			due = at;
	}
	return due;
}

void port_news_seen(struct port_news *n, const struct port_socks *now_there, int64_t now)
{
	n->looked = now;
	for (size_t i = n->count; i-- > 0;) {
		struct port_noticed *it = &n->item[i];

		if (visible(&it->ev, now_there) || (it->until && now >= it->until))
			drop(n, i);
		else if (!it->until)
			it->until = now + SETTLE_MS;
	}
}

void port_news_failed(struct port_news *n, int64_t now)
{
	n->looked = now + RETRY_MS;
}
