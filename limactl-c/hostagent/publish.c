#include "limactl-c/hostagent/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/listen.h"

enum { RETRY_MS = 1000 }; /* while a host port is taken by somebody else, and only then */

enum entry_state {
	ENTRY_OPEN,
	ENTRY_BUSY,    /* somebody else listens there: tried again */
	ENTRY_REFUSED, /* not possible on this host */
	ENTRY_ABSENT,  /* the extra IPv6 listener on a host without IPv6 */
};

static const char *const entry_words[] = {
	[ENTRY_OPEN] = "forwarding",
	[ENTRY_BUSY] = "failed",
	[ENTRY_REFUSED] = "not-forwarding",
	[ENTRY_ABSENT] = "not-forwarding",
};

struct entry {
	struct fwd_want want;
	struct listener *ln;
	enum entry_state state;
	int errnum; /* why not ENTRY_OPEN */
};

struct publish {
	struct loop *loop;
	struct conns *conns;
	struct events *events;
	struct fwd_rule *rules;
	size_t rules_count;

	struct ap_port *port; /* what listens in the guest, sorted */
	bool *stale;          /* beside port: not seen since the snapshot that is coming in began */
	size_t ports;

	struct entry *entry; /* sorted by host address */
	size_t entries;
	struct deadline *retry;
};

/* Ports that programs of every system have open: that they cannot be forwarded is no news (DNS, NTP, mDNS, LLMNR). */
static bool is_usual(uint16_t port)
{
	return port == 53 || port == 323 || port == 5353 || port == 5355;
}

/* --- the guest's ports --- */

/* Index of a, or of the place where it belongs. */
static size_t find_port(const struct publish *p, const struct ap_port *a, bool *found)
{
	size_t low = 0, high = p->ports;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = fwd_compare(&p->port[mid], a);

		if (!d) {
			*found = true;
			return mid;
		}
		*(d < 0 ? &low : &high) = d < 0 ? mid + 1 : mid;
	}
	*found = false;
	return low;
}

static void add_port(struct publish *p, const struct ap_port *a)
{
	bool found;
	size_t i = find_port(p, a, &found);
	struct ap_port host;
	char text[FWD_TEXT_MAX];

	if (found) {
		p->stale[i] = false;
		return;
	}
	if (p->ports == PUBLISH_PORTS_MAX) {
		log_warn("the guest has more than %d listening ports: the rest is left out", PUBLISH_PORTS_MAX);
		return;
	}
	p->port = xrealloc_array(p->port, p->ports + 1, sizeof(*p->port));
	p->stale = xrealloc_array(p->stale, p->ports + 1, sizeof(*p->stale));
	memmove(&p->port[i + 1], &p->port[i], (p->ports - i) * sizeof(*p->port));
	memmove(&p->stale[i + 1], &p->stale[i], (p->ports - i) * sizeof(*p->stale));
	p->port[i] = *a;
	p->stale[i] = false;
	p->ports++;
	if (fwd_match(p->rules, p->rules_count, a, &host) == FWD_NOT) {
		fwd_text(a, text);
		events_port(p->events, "not-forwarding", text, NULL, NULL);
	}
}

static void remove_port_at(struct publish *p, size_t i)
{
	p->ports--;
	memmove(&p->port[i], &p->port[i + 1], (p->ports - i) * sizeof(*p->port));
	memmove(&p->stale[i], &p->stale[i + 1], (p->ports - i) * sizeof(*p->stale));
}

static void take_changes(struct publish *p, const struct ap_ports *m)
{
	bool found;

	if (m->snapshot && p->ports)
		memset(p->stale, true, p->ports * sizeof(*p->stale));
	for (size_t i = 0; i < m->count; i++) {
		const struct ap_port *a = &m->change[i].port;
		size_t at;

		if (a->proto != AP_TCP)
			continue;
		at = find_port(p, a, &found);
		if (m->change[i].listening)
			add_port(p, a);
		else if (found)
			remove_port_at(p, at);
	}
	/* A full message may be followed by the rest of the snapshot: what is in there must not be closed meanwhile. */
	if (m->count == AP_PORTS_MAX)
		return;
	for (size_t i = p->ports; i-- > 0;) {
		if (p->stale[i])
			remove_port_at(p, i);
	}
}

/* --- the host's listeners --- */

static void tell(struct publish *p, const struct entry *en, const char *type, const char *error)
{
	char guest[FWD_TEXT_MAX], host[FWD_TEXT_MAX];

	fwd_text(&en->want.guest, guest);
	fwd_text(&en->want.host, host);
	events_port(p->events, type, guest, host, error);
	if (error)
		log_warn("not forwarding TCP from %s to %s: %s", guest, host, error);
	else
		log_info("%s TCP from %s to %s", strcmp(type, "stopping") ? "forwarding" : "stopping forwarding", guest,
			 host);
}

/* Says it when it is the first time. */
static void try_open(struct publish *p, struct entry *en, bool first)
{
	struct ap_port target = fwd_target(&en->want.guest);
	struct err e = { 0 };

	en->ln = listen_tcp(p->loop, p->conns, &en->want.host, &target, &e);
	en->errnum = en->ln ? 0 : e.errnum;
	if (en->ln)
		en->state = ENTRY_OPEN;
	else if (en->want.extra && (e.errnum == EADDRNOTAVAIL || e.errnum == EAFNOSUPPORT))
		en->state = ENTRY_ABSENT;
	else if (e.errnum == EADDRINUSE && !is_usual(en->want.host.port))
		en->state = ENTRY_BUSY;
	else
		en->state = ENTRY_REFUSED;
	if (en->state == ENTRY_OPEN)
		tell(p, en, "forwarding", NULL);
	else if (first && en->state != ENTRY_ABSENT)
		tell(p, en, entry_words[en->state], strerror(en->errnum));
}

static void drop(struct publish *p, struct entry *en)
{
	if (en->ln) {
		listen_free(en->ln);
		tell(p, en, "stopping", NULL);
	}
	en->ln = NULL;
}

static void keep(struct publish *p, struct entry *en, const struct fwd_want *want)
{
	struct ap_port target = fwd_target(&want->guest);

	if (en->ln && fwd_compare(&en->want.guest, &want->guest))
		listen_retarget(en->ln, &target);
	en->want = *want;
	if (en->state == ENTRY_BUSY)
		try_open(p, en, false);
}

static void arm_retry(struct publish *p)
{
	for (size_t i = 0; i < p->entries; i++) {
		if (p->entry[i].state == ENTRY_BUSY) {
			deadline_in(p->retry, RETRY_MS);
			return;
		}
	}
	deadline_stop(p->retry);
}

/* Both lists are sorted by host address. Everything closes before anything opens: a port may move. */
static void apply(struct publish *p)
{
	auto_free struct fwd_want *want = xcalloc(2 * p->ports, sizeof(*want));
	size_t n = fwd_wanted(p->rules, p->rules_count, p->port, p->ports, want), at = 0, kept = 0;
	struct entry *next = xcalloc(n, sizeof(*next));

	for (size_t i = 0; i < p->entries; i++) {
		while (at < n && fwd_compare(&want[at].host, &p->entry[i].want.host) < 0)
			at++;
		if (at < n && !fwd_compare(&want[at].host, &p->entry[i].want.host))
			p->entry[kept++] = p->entry[i];
		else
			drop(p, &p->entry[i]);
	}
	at = 0;
	for (size_t i = 0; i < n; i++) {
		if (at < kept && !fwd_compare(&want[i].host, &p->entry[at].want.host)) {
			next[i] = p->entry[at++];
			keep(p, &next[i], &want[i]);
		} else {
			next[i].want = want[i];
			try_open(p, &next[i], true);
		}
	}
	free(p->entry);
	p->entry = next;
	p->entries = n;
	arm_retry(p);
}

static void on_retry(void *ctx)
{
	struct publish *p = ctx;

	for (size_t i = 0; i < p->entries; i++) {
		if (p->entry[i].state == ENTRY_BUSY)
			try_open(p, &p->entry[i], false);
	}
	arm_retry(p);
}

int publish_message(struct publish *p, const uint8_t *body, size_t len)
{
	auto_free struct ap_ports *m = xmalloc(sizeof(*m));

	if (ap_ports_unpack(m, body, len) < 0)
		return -1;
	take_changes(p, m);
	apply(p);
	return 0;
}

void publish_close(struct publish *p)
{
	p->ports = 0;
	apply(p);
}

struct jx *publish_json(const struct publish *p)
{
	struct jx *list = jx_new_array();

	for (size_t i = 0; i < p->entries; i++) {
		const struct entry *en = &p->entry[i];
		char guest[FWD_TEXT_MAX], host[FWD_TEXT_MAX];
		struct jx *v;

		if (en->state == ENTRY_ABSENT)
			continue;
		fwd_text(&en->want.guest, guest);
		fwd_text(&en->want.host, host);
		v = jx_new_object();
		jx_set_string(v, "protocol", "tcp");
		jx_set_string(v, "guestAddr", guest);
		jx_set_string(v, "hostAddr", host);
		jx_set_string(v, "state", entry_words[en->state]);
		if (en->state != ENTRY_OPEN)
			jx_set_string(v, "error", strerror(en->errnum));
		jx_add(list, v);
	}
	return list;
}

struct publish *publish_new(struct loop *l, struct conns *cs, struct events *ev, const struct plan *plan,
			    struct err *e)
{
	struct fwd_rule *rules = fwd_rules(plan, e);
	struct publish *p;

	if (!rules)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->loop = l;
	p->conns = cs;
	p->events = ev;
	p->rules = rules;
	p->rules_count = plan->rules;
	p->retry = deadline_new(l, on_retry, p);
	return p;
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->entries; i++)
		listen_free(p->entry[i].ln);
	deadline_free(p->retry);
	free(p->rules);
	free(p->port);
	free(p->stale);
	free(p->entry);
	free(p);
}
