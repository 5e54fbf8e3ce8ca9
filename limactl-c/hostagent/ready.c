#include "limactl-c/hostagent/ready.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/copies.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/http.h"
#include "limactl-c/hostagent/probes.h"

enum {
	PING_RETRY_MS = 100, /* only until the instance is running */
	PING_ANSWER_MAX = 64 * 1024,
	FAILURES_MAX = 32,
};

static const char ping_request[] = "GET /_ping HTTP/1.0\r\nHost: docker\r\nUser-Agent: limactl-c\r\n\r\n";

/* The requirements in their order; a later one is looked at only when those before it are met. */
enum { REQ_MACHINE, REQ_AGENT, REQ_PROVISIONED, REQ_FIXED };
static const char *const fixed_names[REQ_FIXED] = {
	[REQ_MACHINE] = "the machine runs",
	[REQ_AGENT] = "the guest agent answers",
	[REQ_PROVISIONED] = "provisioning has finished",
};
static const char by_ssh[] = "the guest's SSH server lets us in"; /* REQ_AGENT, where there is no agent */

/* A forwarded socket named docker.sock that must answer GET /_ping, asked through a stream of our own. */
struct ping {
	struct stream st; /* first */
	struct ready *r;
	const struct plan_socket *socket;
	bool busy, met;
	char head[16]; /* start of the answer */
	size_t head_len, total;
};

struct failure {
	unsigned index;
	int32_t status;
	char *tail;
};

struct ready {
	struct guest *guest;
	void (*changed)(void *ctx);
	void *ctx;
	bool met[REQ_FIXED];
	bool over, trouble;
	struct ping *ping;
	size_t pings;
	const struct plan *plan;
	struct probes *probes;
	struct copies *copies;
	const struct sshfs *mounts; /* NULL: nobody mounts any */
	struct deadline *retry; /* set only while a ping has to be tried again */
	struct failure failure[FAILURES_MAX];
	size_t failures;
	char warning[sizeof(((struct ap_boot *)NULL)->detail)]; /* said last */
};

static const struct stream_ops ping_ops;

static void ping_start(struct ping *p)
{
	struct ap_open o = fwd_open_path(p->socket->guest_path);
	uint8_t request[AP_PATH_MAX + 32];
	ssize_t n;

	n = ap_open_pack(&o, request, sizeof(request));
	if (n < 0)
		return; /* the listener for it has been refused with a sentence */
	p->busy = true;
	p->head_len = p->total = 0;
	p->st = (struct stream){ .ops = &ping_ops };
	guest_open(p->r->guest, &p->st, request, (size_t)n);
}

static bool pings_met(const struct ready *r)
{
	bool met = true;

	for (size_t i = 0; i < r->pings; i++)
		met = met && r->ping[i].met;
	return met;
}

static bool fixed_met(const struct ready *r)
{
	bool met = true;

	for (size_t i = 0; i < REQ_FIXED; i++)
		met = met && r->met[i];
	return met;
}

/* Begins what can be begun: sockets that have not answered are asked, probes run beside that, and copies are made of what is
 * there when all of it was met. */
static void advance(void *ctx)
{
	struct ready *r = ctx;

	if (!fixed_met(r) || r->over || r->failures || r->trouble)
		return;
	for (size_t i = 0; i < r->pings; i++) {
		if (!r->ping[i].met && !r->ping[i].busy)
			ping_start(&r->ping[i]);
	}
	probes_start(r->probes);
	if (pings_met(r) && probes_over(r->probes))
		copies_start(r->copies);
}

/* Something was met. */
static void go_on(void *ctx)
{
	struct ready *r = ctx;

	advance(r);
	r->changed(r->ctx);
}

static void ping_again(struct ping *p)
{
	p->busy = false;
	if (!p->met && !p->r->over)
		deadline_in(p->r->retry, PING_RETRY_MS);
}

static void ping_opened(struct stream *st)
{
	mux_write(st->mux, ping_request, sizeof(ping_request) - 1); /* a new stream has room for it */
}

/* The answer is read to its end, so that the daemon does not see a broken client. */
static void ping_readable(struct stream *st)
{
	struct ping *p = (struct ping *)st;
	const uint8_t *bytes;
	int status;
	size_t n;

	while ((bytes = mux_peek(st->mux, &n)) && n) {
		size_t take = sizeof(p->head) - p->head_len;

		take = n < take ? n : take;
		memcpy(p->head + p->head_len, bytes, take);
		p->head_len += take;
		p->total += n;
		mux_consume(st->mux, n);
	}
	status = p->met ? 200 : http_status(p->head, p->head_len);
	if (mux_at_end(st->mux))
		mux_finish(st->mux);
	if ((status && status != 200) || p->total > PING_ANSWER_MAX) {
		guest_abort(st, MUX_RESET_ABORT);
		ping_again(p);
	} else if (status && !p->met) {
		p->met = true;
		go_on(p->r);
	}
}

static void ping_reset(struct stream *st, enum mux_reset_code code)
{
	(void)code;
	ping_again((struct ping *)st);
}

static void ping_closed(struct stream *st)
{
	ping_again((struct ping *)st);
}

static const struct stream_ops ping_ops = {
	.opened = ping_opened,
	.readable = ping_readable,
	.reset = ping_reset,
	.closed = ping_closed,
};

struct ready *ready_new(struct loop *l, struct guest *g, const struct plan *plan, void (*changed)(void *ctx), void *ctx)
{
	struct ready *r = xcalloc(1, sizeof(*r));

	r->guest = g;
	r->changed = changed;
	r->ctx = ctx;
	r->ping = xcalloc(plan->sockets, sizeof(*r->ping));
	for (size_t i = 0; i < plan->sockets; i++) {
		if (plan_socket_is_docker(&plan->socket[i]))
			r->ping[r->pings++] = (struct ping){ .r = r, .socket = &plan->socket[i] };
	}
	r->plan = plan;
	r->probes = probes_new(l, g, plan, go_on, r);
	r->copies = copies_new(g, plan, go_on, r);
	r->retry = deadline_new(l, advance, r);
	return r;
}

void ready_mounts(struct ready *r, const struct sshfs *s)
{
	r->mounts = s;
}

static void forget_failures(struct ready *r)
{
	while (r->failures)
		free(r->failure[--r->failures].tail);
}

static void stop_tasks(struct ready *r)
{
	probes_stop(r->probes);
	copies_stop(r->copies);
}

void ready_done(struct ready *r)
{
	r->over = true;
	deadline_stop(r->retry);
	stop_tasks(r);
}

void ready_free(struct ready *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->pings; i++)
		guest_abort(&r->ping[i].st, MUX_RESET_ABORT);
	forget_failures(r);
	copies_free(r->copies);
	probes_free(r->probes);
	deadline_free(r->retry);
	free(r->ping);
	free(r);
}

static void met(struct ready *r, int which)
{
	r->met[which] = true;
	go_on(r);
}

void ready_machine(struct ready *r)
{
	met(r, REQ_MACHINE);
}

void ready_agent(struct ready *r, bool resumed)
{
	if (!resumed && !r->over) {
		r->met[REQ_PROVISIONED] = r->trouble = false; /* the guest booted again, or tells us now */
		forget_failures(r);
		stop_tasks(r);
	}
	met(r, REQ_AGENT);
}

int ready_provision(struct ready *r, const uint8_t *body, size_t len)
{
	struct ap_provision v;
	size_t i;

	if (ap_provision_unpack(&v, body, len) < 0)
		return -1;
	for (i = 0; i < r->failures && r->failure[i].index != v.index; i++)
		;
	if (v.state != AP_PROVISION_FAILED || i == FAILURES_MAX)
		return 0;
	if (i == r->failures)
		r->failure[r->failures++] = (struct failure){ .index = v.index };
	free(r->failure[i].tail);
	r->failure[i].status = v.status;
	r->failure[i].tail = xstrdup(v.tail);
	return 0;
}

int ready_boot(struct ready *r, const uint8_t *body, size_t len)
{
	struct ap_boot v;

	if (ap_boot_unpack(&v, body, len) < 0)
		return -1;
	if (v.detail[0] && strcmp(v.detail, r->warning))
		log_warn("guest: %s", v.detail);
	memcpy(r->warning, v.detail, sizeof(r->warning));
	if (v.phase == AP_BOOT_DONE)
		met(r, REQ_PROVISIONED);
	return 0;
}

void ready_trouble(struct ready *r, bool any)
{
	r->trouble = any;
	go_on(r);
}

static bool mounts_met(const struct ready *r)
{
	return !r->mounts || sshfs_settled(r->mounts);
}

bool ready_all(const struct ready *r)
{
	/* After a failure the engine may never come: that is told now, not at the deadline. */
	return fixed_met(r) &&
	       (r->failures || r->trouble || (mounts_met(r) && pings_met(r) && probes_over(r->probes) && copies_over(r->copies)));
}

void ready_waiting(const struct ready *r, struct jx *list)
{
	for (size_t i = 0; i < REQ_FIXED; i++) {
		if (!r->met[i])
			jx_add_string(list, i == REQ_AGENT && r->plan->ssh_key ? by_ssh : fixed_names[i]);
	}
	if (r->mounts)
		sshfs_waiting(r->mounts, list);
	for (size_t i = 0; i < r->pings; i++) {
		auto_free char *name = xasprintf("%s answers /_ping", r->ping[i].socket->guest_path);

		if (!r->ping[i].met)
			jx_add_string(list, name);
	}
	probes_waiting(r->probes, list);
	copies_waiting(r->copies, list);
}

/* What people call it: scripts by their number, as ever; what is none by its place in the template. */
static char *name_of(const struct ready *r, unsigned index)
{
	const char *mode = index < r->plan->scripts ? r->plan->script[index].mode : "";

	if (index == AP_PROVISION_UPGRADE)
		return xstrdup("upgradePackages");
	if (!strcmp(mode, "data") || !strcmp(mode, "yq"))
		return xasprintf("provision[%u] (mode %s)", index, mode);
	return xasprintf("provision script %u", index + 1);
}

void ready_errors(const struct ready *r, struct jx *list)
{
	for (size_t i = 0; i < r->failures; i++) {
		const struct failure *f = &r->failure[i];
		size_t n = strlen(f->tail);
		auto_free char *text = NULL, *name = name_of(r, f->index);

		while (n && (f->tail[n - 1] == '\n' || f->tail[n - 1] == '\r'))
			n--;
		text = xasprintf("%s failed with %s %d%s%.*s", name,
				 f->status < 0 ? "signal" : "exit code", f->status < 0 ? -f->status : f->status,
				 n ? ": " : "", (int)n, f->tail);
		jx_add_string(list, text);
	}
	probes_errors(r->probes, list);
	copies_errors(r->copies, list);
}
