#include "limactl-c/hostagent/idle.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/containers.h"
#include "limactl-c/hostagent/docker_watch.h"
#include "limactl-c/hostagent/idle_ladder.h"
#include "limactl-c/hostagent/idle_text.h"
#include "limactl-c/hostagent/life.h"
#include "limactl-c/hostagent/pressure.h"

enum { JUST_MS = 2000 };

struct idle {
	struct ha *ha;
	struct ladder ladder;
	struct ladder_next next;
	struct deadline *look;
	int64_t look_at; /* for which it is set; INT64_MAX: it is not */
	int64_t awake_at; /* clock_ms() when it began to run, or a container ended */
	int64_t failed_at; /* when a step did */
	enum ladder_step step; /* under way; LADDER_STAY: none */
	enum ladder_state seen;
	int64_t seen_at; /* since then */
	bool asleep;     /* it was so last, apart from changing */
	struct containers *containers; /* NULL: there is no docker.sock; likewise watch */
	struct docker_watch *watch;
	struct idle_slept slept;
	struct pressure *pressure; /* NULL: it is not to be suspended by itself, or the host does not tell */
};

/* --- containers --- */

static void on_list(void *ctx, bool ok)
{
	struct idle *d = ctx;
	const struct container_list *list;
	int64_t age;

	list = containers_known(d->containers, &age);
	d->ladder.containers = !ok ? LADDER_SILENT : list->working ? LADDER_SOME : LADDER_NONE;
}

/* From now on the end of any that the list has is heard. */
static void ask(void *ctx)
{
	struct idle *d = ctx;

	if (!containers_asking(d->containers))
		containers_ask(d->containers);
}

static void on_changed(void *ctx)
{
	struct idle *d = ctx;

	d->awake_at = clock_ms();
}

static void on_watch_ended(void *ctx)
{
	struct idle *d = ctx;

	if (d->ladder.containers == LADDER_ASKED)
		ask(d); /* it could not begin: what is known is what is asked for */
}

static const struct docker_watch_ops watch_ops = { .begun = ask, .changed = on_changed, .ended = on_watch_ended };

static void ask_for_containers(struct idle *d)
{
	d->ladder.containers = LADDER_ASKED;
	d->ladder.containers_at = clock_ms();
	if (docker_watch_is_active(d->watch))
		ask(d);
	else
		docker_watch_start(d->watch);
}

/* --- steps --- */

static const struct {
	enum vmctl_op op[2]; /* from one that is paused, suspended */
	enum ladder_state leads_to;
} steps[] = {
	[LADDER_PAUSE] = { { VMCTL_PAUSE, VMCTL_PAUSE }, LADDER_PAUSED },
	[LADDER_SUSPEND] = { { VMCTL_SAVE, VMCTL_SAVE }, LADDER_SUSPENDED },
	[LADDER_WAKE] = { { VMCTL_RESUME, VMCTL_RESTORE }, LADDER_AWAKE },
};

/* One that was interrupted by a use did not fail. */
static void step_failed(struct idle *d, enum ladder_step step)
{
	if (guest_use(d->ha->guest)->wanted)
		return;
	d->ladder.failed = step;
	d->failed_at = clock_ms();
}

static void take_step(struct idle *d, enum ladder_step step)
{
	struct ha *ha = d->ha;
	struct err e = { 0 };

	guest_use(ha->guest)->wanted = false;
	if (step == LADDER_WAKE) {
		d->slept.woken_by = guest_use(ha->guest)->kind;
		while (ha->wakers) {
			struct ha_waiter *w = ha->wakers;

			ha->wakers = w->next;
			w->next = ha->waiters;
			ha->waiters = w;
		}
	} else {
		ha->held = false;
	}
	d->step = step;
	if (life_operation(ha, steps[step].op[d->ladder.state == LADDER_SUSPENDED], &e) == 0)
		return;
	log_warn("%s: %s", idle_step_word(step), e.msg);
	life_answer(&ha->waiters, 500, e.msg);
	d->step = LADDER_STAY;
	step_failed(d, step);
}

static void carry_out(struct idle *d, enum ladder_step step)
{
	if (step == LADDER_ASK)
		ask_for_containers(d);
	else if (step != LADDER_STAY)
		take_step(d, step);
}

/* --- looking --- */

static enum ladder_state state_now(const struct ha *ha)
{
	static const enum ladder_state states[HA_STATES] = {
		[HA_RUNNING] = LADDER_AWAKE, [HA_PAUSED] = LADDER_PAUSED, [HA_SAVED] = LADDER_SUSPENDED,
	};

	return ha->op != VMCTL_NONE || ha->stop_wanted ? LADDER_CHANGING : states[ha->state];
}

/* What it has slept until now counts to what it was. */
static void note_state(struct idle *d, enum ladder_state state, int64_t now)
{
	if (state == d->seen)
		return;
	if (d->seen == LADDER_PAUSED)
		d->slept.paused_ms += now - d->seen_at;
	else if (d->seen == LADDER_SUSPENDED)
		d->slept.suspended_ms += now - d->seen_at;
	if (state == LADDER_AWAKE) {
		d->awake_at = now;
		d->asleep = false;
	} else if (state != LADDER_CHANGING) {
		d->slept.naps += !d->asleep;
		d->asleep = true;
	}
	d->seen = state;
	d->seen_at = now;
}

static void take_in(struct idle *d, int64_t now)
{
	const struct use *u = guest_use(d->ha->guest);
	struct ladder *l = &d->ladder;

	l->state = state_now(d->ha);
	note_state(d, l->state, now);
	if (d->step != LADDER_STAY && l->state != LADDER_CHANGING) {
		if (l->state != steps[d->step].leads_to)
			step_failed(d, d->step);
		d->step = LADDER_STAY;
	}
	l->used = u->last > d->awake_at ? u->last : d->awake_at;
	l->asked = use_last_asked(u);
	l->commands = u->commands + harvester_is_busy(d->ha->harvester);
	l->requests = u->requests;
	l->told = d->watch && docker_watch_is_active(d->watch);
	l->wanted = u->wanted;
	l->held = d->ha->held;
	if (l->used > d->failed_at)
		l->failed = LADDER_STAY;
	if (l->containers != LADDER_ASKED && l->used > l->containers_at)
		l->containers = LADDER_UNKNOWN;
}

/* A deadline that is set too early is not moved: it is moved when it has passed. */
static void arm(struct idle *d)
{
	int64_t at = d->next.step == LADDER_STAY ? d->next.at : INT64_MAX;

	if (at == INT64_MAX)
		deadline_stop(d->look);
	else if (at < d->look_at)
		deadline_at(d->look, at);
	if (at == INT64_MAX || at < d->look_at)
		d->look_at = at;
}

void idle_look(struct idle *d)
{
	int64_t now = clock_ms();

	if (!d || d->ha->ended)
		return;
	take_in(d, now);
	d->next = ladder_decide(&d->ladder, now);
	d->ladder.pressure = false; /* it is told again while it lasts */
	carry_out(d, d->next.step);
	arm(d);
}

static void on_look(void *ctx)
{
	struct idle *d = ctx;

	d->look_at = INT64_MAX; /* idle_look() follows, before the next wait */
}

void idle_hold(struct idle *d, bool on)
{
	struct use *u = guest_use(d->ha->guest);

	d->ha->held = on;
	/* Somebody who has just asked still wants it. */
	u->wanted = u->requests || use_last_asked(u) > clock_ms() - JUST_MS;
}

void idle_want(struct idle *d)
{
	use_note(guest_use(d->ha->guest), USE_CALL);
}

struct jx *idle_json(const struct idle *d)
{
	const struct use *u = guest_use(d->ha->guest);
	int64_t now = clock_ms(), age = 0;
	struct idle_story s = {
		.ladder = &d->ladder, .next = d->next, .since_ms = now - d->seen_at, .used = u->kind, .slept = d->slept,
		.life_ms = now - d->ha->begun, .now = now,
		.containers = d->containers ? containers_known(d->containers, &age) : NULL,
		.doing = d->ha->op == VMCTL_NONE ? life_word(d->ha->state) : life_doing(d->ha),
	};

	s.slept.paused_ms += d->seen == LADDER_PAUSED ? s.since_ms : 0;
	s.slept.suspended_ms += d->seen == LADDER_SUSPENDED ? s.since_ms : 0;
	return idle_story_json(&s);
}

/* --- the whole --- */

static enum ladder_when when_of(const struct plan *p)
{
	static const char *const words[] = {
		[LADDER_NO_CONTAINERS] = "noContainers", [LADDER_NO_CONNECTIONS] = "noConnections", [LADDER_NEVER] = "never",
	};
	enum ladder_when w = 0;

	while (w < LADDER_NEVER && strcmp(words[w], p->idle_when) != 0)
		w++;
	return w;
}

/* idle_look() follows, before the next wait. */
static void on_pressure(void *ctx)
{
	struct idle *d = ctx;

	d->ladder.pressure = true;
}

struct idle *idle_new(struct ha *ha)
{
	const struct plan *p = ha->plan;
	const char *socket = plan_docker_socket(p);
	struct idle *d = xcalloc(1, sizeof(*d));

	d->ha = ha;
	d->look_at = INT64_MAX;
	d->seen_at = clock_ms();
	d->look = deadline_new(ha->loop, on_look, d);
	d->ladder = (struct ladder){ .when = when_of(p), .pause_ms = 1000 * (int64_t)p->idle_pause_after,
				     .suspend_ms = 1000 * (int64_t)p->idle_suspend_after };
	if (d->ladder.suspend_ms && d->ladder.when != LADDER_NEVER)
		d->pressure = pressure_new(ha->loop, on_pressure, d);
	if (!socket)
		return d;
	/* Those of another engine beside it are in no list of Docker's. */
	d->ladder.engine = !p->containerd;
	d->containers = containers_new(ha->loop, ha->guest, socket, on_list, d);
	d->watch = docker_watch_new(ha->loop, ha->guest, socket, &watch_ops, d);
	return d;
}

void idle_free(struct idle *d)
{
	if (!d)
		return;
	pressure_free(d->pressure);
	docker_watch_free(d->watch);
	containers_free(d->containers);
	deadline_free(d->look);
	free(d);
}
