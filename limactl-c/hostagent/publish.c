#include "limactl-c/hostagent/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/listen.h"
#include "limactl-c/hostagent/retry.h"
#include "limactl-c/hostagent/udp.h"

enum entry_state {
	ENTRY_OPEN,
	ENTRY_BUSY,    /* somebody else listens there: tried again */
	ENTRY_DENIED,  /* a privileged port, and we have no right to it: tried again */
	ENTRY_REFUSED, /* not possible on this host */
	ENTRY_ABSENT,  /* the extra IPv6 listener on a host without IPv6 */
};

static const char *const entry_words[] = {
	[ENTRY_OPEN] = "forwarding",
	[ENTRY_BUSY] = "failed",
	[ENTRY_DENIED] = "not-forwarding",
	[ENTRY_REFUSED] = "not-forwarding",
	[ENTRY_ABSENT] = "not-forwarding",
};

struct entry {
	struct fwd_want want;
	struct listener *ln;  /* TCP */
	struct udp_port *udp; /* UDP */
	struct tally *tally;  /* since it was opened */
	enum entry_state state;
	int errnum; /* why not ENTRY_OPEN */
};

struct publish {
	struct loop *loop;
	struct conns *conns;
	struct udp *udp;
	struct events *events;
	struct fwd_rule *rules;
	size_t rules_count;
	bool started; /* static rules count */

	struct ap_port *port; /* what listens in the guest, sorted */
	bool *stale;          /* beside port: not seen since the snapshot that is coming in began */
	size_t ports;

	struct entry *entry; /* sorted by host address */
	size_t entries;
	struct retry *retry;
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
		events_port(p->events, &(struct event_port){ .type = "not-forwarding", .protocol = fwd_proto(a), .guest = text });
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
		size_t at = find_port(p, a, &found);

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

/* tally: what to say of it, or NULL. */
static void tell(struct publish *p, const struct entry *en, const char *type, const char *error,
		 const struct tally *tally)
{
	const char *proto = en->want.host.proto == AP_UDP ? "UDP" : "TCP";
	char guest[FWD_TEXT_MAX], host[FWD_TEXT_MAX];

	fwd_text(&en->want.guest, guest);
	fwd_text(&en->want.host, host);
	events_port(p->events, &(struct event_port){ .type = type, .protocol = fwd_proto(&en->want.host), .guest = guest,
						     .host = host, .error = error, .tally = tally });
	if (error)
		log_warn("not forwarding %s from %s to %s: %s", proto, guest, host, error);
	else
		log_info("%s %s from %s to %s", strcmp(type, "stopping") ? "forwarding" : "stopping forwarding", proto, guest,
			 host);
}

static bool is_open(const struct entry *en)
{
	return en->ln || en->udp;
}

static void open_socket(struct publish *p, struct entry *en, struct err *e)
{
	struct ap_open request = fwd_open(&en->want.guest);

	if (request.kind == AP_OPEN_UDP)
		en->udp = udp_listen(p->udp, en->tally, &en->want.host, &request, e);
	else
		en->ln = listen_tcp(p->loop, p->conns, en->tally, &en->want.host, &request, e);
}

static void close_socket(struct entry *en)
{
	listen_free(en->ln);
	udp_close(en->udp);
	en->ln = NULL;
	en->udp = NULL;
}

/* Says it when it is the first time. */
static void try_open(struct publish *p, struct entry *en, bool first)
{
	struct err e = { 0 };
	char text[LISTEN_REASON_MAX];

	open_socket(p, en, &e);
	en->errnum = is_open(en) ? 0 : e.errnum;
	if (is_open(en))
		en->state = ENTRY_OPEN;
	else if (en->want.extra && (e.errnum == EADDRNOTAVAIL || e.errnum == EAFNOSUPPORT))
		en->state = ENTRY_ABSENT;
	else if (e.errnum == EADDRINUSE && !is_usual(en->want.host.port))
		en->state = ENTRY_BUSY;
	else
		en->state = e.errnum == EACCES ? ENTRY_DENIED : ENTRY_REFUSED;
	if (en->state == ENTRY_OPEN)
		tell(p, en, "forwarding", NULL, NULL);
	else if (first && en->state != ENTRY_ABSENT)
		tell(p, en, entry_words[en->state], listen_reason(en->errnum, en->want.host.port, text), NULL);
}

static bool may_come(const struct entry *en)
{
	return en->state == ENTRY_BUSY || en->state == ENTRY_DENIED;
}

static void drop(struct publish *p, struct entry *en)
{
	struct tally tally = *en->tally; /* with the flows that end here */

	if (is_open(en)) {
		close_socket(en);
		tell(p, en, "stopping", NULL, &tally);
	}
	tally_drop(en->tally);
}

static void keep(struct publish *p, struct entry *en, const struct fwd_want *want)
{
	struct ap_open request = fwd_open(&want->guest);

	if (fwd_compare(&en->want.guest, &want->guest)) {
		if (en->ln)
			listen_retarget(en->ln, &request);
		if (en->udp)
			udp_retarget(en->udp, &request);
	}
	en->want = *want;
	if (may_come(en))
		try_open(p, en, false);
}

static void arm_retry(struct publish *p)
{
	bool busy = false, denied = false;

	for (size_t i = 0; i < p->entries; i++) {
		busy |= p->entry[i].state == ENTRY_BUSY;
		denied |= p->entry[i].state == ENTRY_DENIED;
	}
	retry_arm(p->retry, busy, denied);
}

static int compare_entry(const void *a, const void *b)
{
	return fwd_compare(&((const struct entry *)a)->want.host, &((const struct entry *)b)->want.host);
}

/* Whether the ::1 at i is taken as the 127.0.0.1 beside it is, which stands before it: one collision is told once. */
static bool taken_as_its_sibling(const struct entry *list, size_t i)
{
	struct entry key = { .want.host = fwd_beside4(&list[i].want.host) };
	const struct entry *other = list[i].want.extra ? bsearch(&key, list, i, sizeof(*list), compare_entry) : NULL;

	return other && other->state == ENTRY_BUSY;
}

/* Both lists are sorted by host address. Everything closes before anything opens: a port may move. */
static void apply(struct publish *p)
{
	size_t rules = p->started ? p->rules_count : 0, at = 0, kept = 0, n;
	auto_free struct fwd_want *want = xcalloc(fwd_wanted_most(p->rules, rules, p->ports), sizeof(*want));
	struct entry *next;

	n = fwd_wanted(p->rules, rules, p->port, p->ports, want);
	next = xcalloc(n, sizeof(*next));
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
			next[i].tally = tally_new();
			try_open(p, &next[i], !taken_as_its_sibling(next, i));
		}
	}
	free(p->entry);
	p->entry = next;
	p->entries = n;
	retry_restart(p->retry);
	arm_retry(p);
}

static void on_retry(void *ctx)
{
	struct publish *p = ctx;

	for (size_t i = 0; i < p->entries; i++) {
		if (may_come(&p->entry[i]))
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
	p->started = true;
	apply(p);
	return 0;
}

void publish_start(struct publish *p)
{
	p->started = true;
	apply(p);
}

void publish_close(struct publish *p)
{
	p->ports = 0;
	p->started = false;
	apply(p);
}

void publish_hosts(const struct publish *p, uint16_t guest_port, void (*fn)(void *ctx, const struct ap_port *host), void *ctx)
{
	for (size_t i = 0; i < p->entries; i++)
		if (p->entry[i].state == ENTRY_OPEN && p->entry[i].want.guest.port == guest_port)
			fn(ctx, &p->entry[i].want.host);
}

struct jx *publish_json(const struct publish *p, bool counted)
{
	struct jx *list = jx_new_array();

	for (size_t i = 0; i < p->entries; i++) {
		const struct entry *en = &p->entry[i];
		char guest[FWD_TEXT_MAX], host[FWD_TEXT_MAX], text[LISTEN_REASON_MAX];
		struct event_port is = { .state = entry_words[en->state], .protocol = fwd_proto(&en->want.host), .guest = guest,
					 .host = host, .tally = counted ? en->tally : NULL };

		if (en->state == ENTRY_ABSENT)
			continue;
		fwd_text(&en->want.guest, guest);
		fwd_text(&en->want.host, host);
		if (en->state != ENTRY_OPEN)
			is.error = listen_reason(en->errnum, en->want.host.port, text);
		jx_add(list, event_port_json(&is));
	}
	return list;
}

struct publish *publish_new(struct loop *l, struct guest *g, struct conns *cs, struct events *ev, const struct plan *plan,
			    struct err *e)
{
	struct fwd_rule *rules = fwd_rules(plan, e);
	struct publish *p;

	if (!rules)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->loop = l;
	p->conns = cs;
	p->udp = udp_new(l, g);
	p->events = ev;
	p->rules = rules;
	p->rules_count = plan->rules;
	p->retry = retry_new(l, on_retry, p);
	return p;
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->entries; i++) {
		close_socket(&p->entry[i]);
		tally_drop(p->entry[i].tally);
	}
	udp_free(p->udp);
	retry_free(p->retry);
	free(p->rules);
	free(p->port);
	free(p->stale);
	free(p->entry);
	free(p);
}
