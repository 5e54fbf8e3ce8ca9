#include "limactl-c/hostagent/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/dns_message.h"
#include "lib/dns_record.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"

enum {
	IDLE_MS = 60000,    /* the resolver ends; and how long it may answer nothing of what was asked */
	REST_MS = 1000,     /* after one failed, until the next is started */
	RECORD_MAX = DNS_RECORD_HEADER + DNS_MESSAGE_MAX,
};

struct resolve {
	struct stream st; /* first: a stream is cast to it */
	struct loop *loop;
	struct guest *guest;
	struct spawner *spawner;
	const struct plan *plan;

	uint32_t asked[DNS_IN_FLIGHT]; /* ids without an answer; while it is full, what else the guest asks stays unread */
	size_t asked_count;
	uint64_t questions, answers; /* ever; those between that are not in asked have failed */

	int fd; /* to the resolver; -1: there is none */
	pid_t pid;
	struct watch *watch;
	struct buf to;   /* bytes that it has not taken yet */
	struct buf from; /* its answers, the last one perhaps in part; while there is none, failures for the guest */
	struct deadline *deadline; /* set while there is a resolver */
	int64_t rest_until;        /* clock_ms() */
};

static struct resolve *resolve_of(struct stream *st)
{
	return (struct resolve *)st;
}

/* --- what was asked --- */

static bool forget(struct resolve *r, uint32_t id)
{
	for (size_t i = 0; i < r->asked_count; i++) {
		if (r->asked[i] == id) {
			r->asked[i] = r->asked[--r->asked_count];
			return true;
		}
	}
	return false;
}

static bool is_asked(const struct resolve *r, uint32_t id)
{
	for (size_t i = 0; i < r->asked_count; i++)
		if (r->asked[i] == id)
			return true;
	return false;
}

/* --- the resolver --- */

static void end_resolver(struct resolve *r)
{
	watch_free(r->watch);
	r->watch = NULL;
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	deadline_stop(r->deadline);
	buf_free(&r->to);
	buf_free(&r->from);
}

/* Whole answers go to the guest as far as there is room. */
static void pass_answers(struct resolve *r)
{
	while (r->from.len >= DNS_RECORD_HEADER) {
		const uint8_t *p = (const uint8_t *)r->from.data;
		size_t n = DNS_RECORD_HEADER + dns_record_len(p);

		if (r->from.len < n || (r->st.mux && !mux_room_for(r->st.mux, n)))
			break;
		if (r->st.mux && forget(r, dns_record_id(p))) {
			mux_write(r->st.mux, p, n);
			r->answers += dns_record_len(p) > 0; /* nothing: a failure */
		}
		buf_drop_front(&r->from, n);
		if (r->fd >= 0)
			deadline_in(r->deadline, IDLE_MS);
	}
	if (!r->from.len)
		buf_free(&r->from);
}

/* The guest holds a place for each question, so a failure waits for room as an answer does. */
static void fail_all(struct resolve *r)
{
	buf_free(&r->from);
	for (size_t i = 0; i < r->asked_count; i++) {
		uint8_t h[DNS_RECORD_HEADER];

		dns_record_pack(h, r->asked[i], 0);
		if (buf_add(&r->from, h, sizeof(h)) < 0)
			abort(); /* it is far below the maximum: memory is short */
	}
	pass_answers(r);
}

static void failed(struct resolve *r, const char *why)
{
	log_warn("names of the guest: the host's resolver %s", why);
	end_resolver(r);
	r->rest_until = clock_ms() + REST_MS;
	fail_all(r);
}

static void take_questions(struct resolve *r);

static void on_deadline(void *ctx)
{
	struct resolve *r = ctx;

	if (!r->asked_count) {
		end_resolver(r);
		return;
	}
	kill(r->pid, SIGKILL);
	failed(r, "hangs and was killed");
	take_questions(r);
}

static void watch_resolver(struct resolve *r)
{
	watch_set(r->watch, (r->from.max - r->from.len >= RECORD_MAX ? WATCH_READ : 0) | (r->to.len ? WATCH_WRITE : 0));
}

static void read_resolver(struct resolve *r)
{
	char *p = buf_reserve(&r->from, RECORD_MAX);
	ssize_t k = p ? recv(r->fd, p, RECORD_MAX, 0) : 0;

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (k <= 0) {
		failed(r, "ended unexpectedly");
		return;
	}
	buf_commit(&r->from, (size_t)k);
	pass_answers(r);
}

/* -1: it is gone, and everything that was asked of it has failed. */
static int write_resolver(struct resolve *r)
{
	while (r->to.len) {
		ssize_t k = send(r->fd, r->to.data, r->to.len, MSG_NOSIGNAL);

		if (k >= 0) {
			buf_drop_front(&r->to, (size_t)k);
		} else if (errno == EAGAIN) {
			return 0;
		} else if (errno != EINTR) {
			failed(r, "ended unexpectedly");
			return -1;
		}
	}
	buf_free(&r->to);
	return 0;
}

static void on_resolver(void *ctx, unsigned events)
{
	struct resolve *r = ctx;

	if ((events & WATCH_WRITE) && write_resolver(r) < 0)
		events = 0;
	if (events & (WATCH_READ | WATCH_ERROR))
		read_resolver(r);
	take_questions(r);
	if (r->fd >= 0)
		watch_resolver(r);
}

static void add_names(struct resolve *r)
{
	for (size_t i = 0; i < r->plan->host_names; i++) {
		const struct plan_pair *name = &r->plan->host_name[i];
		auto_free char *text = xasprintf("%s=%s", name->key, name->value);
		uint8_t h[DNS_RECORD_HEADER];

		dns_record_pack(h, 0, strlen(text));
		if (buf_add(&r->to, h, sizeof(h)) < 0 || buf_add(&r->to, text, strlen(text)) < 0)
			log_warn("there are too many names: %s is left out", name->key);
	}
}

static int start_resolver(struct resolve *r, struct err *e)
{
	auto_free char *program = prefix_libexec("resolver", e);
	const char *argv[] = { program, r->plan->dns_ipv6 ? "--ipv6" : NULL, NULL };
	struct spawn s = { .argv = argv };

	if (!program)
		return -1;
	r->fd = spawner_connect(r->spawner, &s, &r->pid, e);
	if (r->fd < 0)
		return -1;
	r->watch = watch_new(r->loop, r->fd, on_resolver, r);
	if (!r->watch) {
		close(steal_fd(&r->fd));
		return err_set(e, ERR_SYS, "its program cannot be watched");
	}
	add_names(r);
	deadline_in(r->deadline, IDLE_MS);
	return 0;
}

/* --- the guest --- */

static void ask(struct resolve *r, const uint8_t *record, size_t n)
{
	struct err e = { 0 };

	r->asked[r->asked_count++] = dns_record_id(record);
	r->questions++;
	if (r->fd < 0 && clock_ms() < r->rest_until) {
		fail_all(r);
		return;
	}
	if (r->fd < 0 && start_resolver(r, &e) < 0) {
		err_wrap(&e, "cannot be started");
		failed(r, e.msg);
		return;
	}
	if (r->asked_count == 1)
		deadline_in(r->deadline, IDLE_MS);
	if (buf_add(&r->to, record, n) < 0)
		failed(r, "takes no questions");
	else if (write_resolver(r) == 0)
		watch_resolver(r);
}

/* As agreed with the guest agent. */
static bool is_question(const struct resolve *r, const uint8_t *record)
{
	uint32_t id = dns_record_id(record);

	return id && dns_record_len(record) >= DNS_HEADER && !is_asked(r, id);
}

static void take_questions(struct resolve *r)
{
	uint8_t record[DNS_RECORD_HEADER + DNS_QUESTION_MAX];
	ssize_t n;

	while (r->st.mux && r->asked_count < DNS_IN_FLIGHT && (n = dns_record_read(r->st.mux, record, sizeof(record)))) {
		if (n < 0 || !is_question(r, record)) {
			log_warn("the guest agent asks for names in a way that was not agreed; it is not answered any more");
			guest_abort(&r->st, MUX_RESET_PROTOCOL);
			end_resolver(r);
			return;
		}
		ask(r, record, (size_t)n);
	}
}

static void on_readable(struct stream *st)
{
	take_questions(resolve_of(st));
}

static void on_writable(struct stream *st)
{
	struct resolve *r = resolve_of(st);

	pass_answers(r);
	take_questions(r);
	if (r->fd >= 0)
		watch_resolver(r);
}

static void open_stream(struct resolve *r);

/* What was asked is of no use to anybody. A stream that was lost on the way is opened anew; a guest that cannot or will
 * not is left alone. */
static void on_reset(struct stream *st, enum mux_reset_code code)
{
	struct resolve *r = resolve_of(st);

	end_resolver(r);
	if (code == MUX_RESET_LOST && guest_is_up(r->guest))
		open_stream(r);
	else if (code != MUX_RESET_LOST)
		log_info("the guest does not ask us for names (%d): its network's name server answers", (int)code);
}

static void on_closed(struct stream *st)
{
	end_resolver(resolve_of(st));
}

static const struct stream_ops ops = {
	.readable = on_readable,
	.writable = on_writable,
	.reset = on_reset,
	.closed = on_closed,
};

static void open_stream(struct resolve *r)
{
	struct ap_open o = { .kind = AP_OPEN_DNS, .family = 4, .port = DNS_PORT };
	uint8_t request[64];
	ssize_t n;

	if (inet_pton(AF_INET, r->plan->dns_address, o.addr) != 1)
		return;
	n = ap_open_pack(&o, request, sizeof(request));
	if (n < 0)
		abort(); /* it is of one fixed size */
	r->st = (struct stream){ .ops = &ops };
	r->asked_count = 0;
	guest_open(r->guest, &r->st, request, (size_t)n);
}

void resolve_agent(struct resolve *r)
{
	if (r->plan->dns_address && !r->st.mux && !r->st.request)
		open_stream(r);
}

struct jx *resolve_json(const struct resolve *r)
{
	struct jx *o = jx_new_object();

	jx_set_int(o, "questions", (int64_t)r->questions);
	jx_set_int(o, "answers", (int64_t)r->answers);
	jx_set_int(o, "failed", (int64_t)(r->questions - r->answers - r->asked_count));
	return o;
}

struct resolve *resolve_new(struct loop *l, struct guest *g, struct spawner *spawner, const struct plan *plan)
{
	struct resolve *r = xcalloc(1, sizeof(*r));

	*r = (struct resolve){ .loop = l, .guest = g, .spawner = spawner, .plan = plan, .fd = -1,
			       .to = BUF_INIT(1 << 20), .from = BUF_INIT(2 * RECORD_MAX) };
	r->deadline = deadline_new(l, on_deadline, r);
	return r;
}

void resolve_free(struct resolve *r)
{
	if (!r)
		return;
	end_resolver(r);
	guest_abort(&r->st, MUX_RESET_ABORT);
	deadline_free(r->deadline);
	free(r);
}
