#include "limactl-c/hostagent/silence.h"

#include <stddef.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/hostagent/guest.h"

/* NULL at the end of the list. */
static struct stream *after(const struct node *list, const struct node *n)
{
	return n->next == list ? NULL : list_item(n->next, struct stream, in_line);
}

struct stream *silence_waiting(const struct silence *s)
{
	return after(&s->waiting, &s->waiting);
}

static struct stream *first_unheard(const struct silence *s)
{
	return after(&s->unheard, &s->unheard);
}

static struct stream *first_in_a_hurry(const struct silence *s)
{
	struct stream *st = silence_waiting(s);

	while (st && !st->in_a_hurry)
		st = after(&s->waiting, &st->in_line);
	return st;
}

/* Since when the guest owes a sign to the first of the unheard. */
static int64_t silent_since(const struct silence *s)
{
	int64_t since = first_unheard(s)->since;

	return since > s->heard ? since : s->heard;
}

static bool to_be_asked(const struct silence *s)
{
	return mux_is_up(s->mux) && !s->asking;
}

/* When the first of the unheard is given up: not before the guest had time to answer our question. */
static int64_t unheard_until(const struct silence *s)
{
	int64_t at = silent_since(s) + SILENCE_MS, answer = s->asked + SILENCE_MS - SILENCE_ASK_MS;

	return s->asking && answer > at ? answer : at;
}

static void arm_at(struct silence *s, int64_t at)
{
	s->armed = s->counting && at < INT64_MAX;
	if (s->armed)
		deadline_at(s->tick, at);
	else
		deadline_stop(s->tick);
}

static void arm(struct silence *s)
{
	const struct stream *st = first_in_a_hurry(s);
	int64_t at = st ? st->since + SILENCE_MS : INT64_MAX;

	if (first_unheard(s)) {
		int64_t due = to_be_asked(s) ? silent_since(s) + SILENCE_ASK_MS : unheard_until(s);

		at = due < at ? due : at;
	}
	arm_at(s, at);
}

/* Those come later whose time is not up: since does not fall along either list. */
static struct stream *expired(const struct silence *s, int64_t now)
{
	struct stream *st = first_in_a_hurry(s);

	if (st && now >= st->since + SILENCE_MS)
		return st;
	return first_unheard(s) && !to_be_asked(s) && now >= unheard_until(s) ? first_unheard(s) : NULL;
}

static void give_up(struct silence *s, int64_t now)
{
	struct stream *st;
	unsigned count = 0;

	for (; (st = expired(s, now)); count++) {
		guest_abort(st, MUX_RESET_ABORT);
		st->ops->reset(st, MUX_RESET_ABORT);
	}
	if (count)
		log_warn("the guest agent does not answer: connections reset: %u", count);
}

static void on_tick(void *ctx)
{
	struct silence *s = ctx;
	int64_t now = clock_ms();
	struct stream *st;

	while ((st = first_unheard(s)) && mux_is_heard(st->mux))
		list_del(&st->in_line);
	/* Who was held up runs timers before it reads: what the guest has said long ago is heard first. */
	if (!s->listened && expired(s, now)) {
		s->listened = true;
		arm_at(s, now + SILENCE_LISTEN_MS);
		return;
	}
	s->listened = false;
	give_up(s, now);
	if (first_unheard(s) && to_be_asked(s) && now >= silent_since(s) + SILENCE_ASK_MS) {
		/* Where there is no room for a question, any sign that would make room is an answer as well. */
		mux_ping(s->mux);
		s->asked = now;
		s->asking = true;
	}
	arm(s);
}

static void arm_first(struct silence *s)
{
	if (s->counting && !s->armed)
		arm(s);
}

void silence_wait(struct silence *s, struct stream *st)
{
	st->since = clock_ms();
	list_add(&s->waiting, &st->in_line);
	if (st->in_a_hurry)
		arm_first(s);
}

void silence_opened(struct silence *s, struct stream *st)
{
	if (!st->in_a_hurry)
		return;
	if (!st->since)
		st->since = clock_ms();
	list_add(&s->unheard, &st->in_line);
	arm_first(s);
}

void silence_remove(struct stream *st)
{
	struct silence *s;

	if (!node_listed(&st->in_line))
		return;
	s = guest_silence(st->guest);
	list_del(&st->in_line);
	if (s->armed && list_empty(&s->unheard) && list_empty(&s->waiting)) {
		s->listened = false;
		arm(s);
	}
}

void silence_heard(struct silence *s)
{
	s->asking = false;
	if (first_unheard(s))
		s->heard = clock_ms();
}

static void count_from(const struct node *list, int64_t now)
{
	for (struct stream *st = after(list, list); st; st = after(list, &st->in_line))
		st->since = now;
}

void silence_count(struct silence *s, bool on)
{
	int64_t now;

	if (s->counting == on)
		return;
	s->counting = on;
	s->asking = s->listened = false;
	now = clock_ms();
	count_from(&s->waiting, now);
	count_from(&s->unheard, now);
	arm(s);
}

void silence_init(struct silence *s, struct loop *l, struct mux *m)
{
	*s = (struct silence){ .mux = m };
	list_init(&s->waiting);
	list_init(&s->unheard);
	s->tick = deadline_new(l, on_tick, s);
}

void silence_fini(struct silence *s)
{
	deadline_free(s->tick);
}
