#include "limactl-c/hostagent/idle_ladder.h"

enum { N = 1 << LADDER_NO_CONTAINERS, C = 1 << LADDER_NO_CONNECTIONS, V = 1 << LADDER_NEVER };

static bool always(const struct ladder *l)
{
	(void)l;
	return true;
}

static bool is_off(const struct ladder *l)
{
	return !l->pause_ms && !l->suspend_ms;
}

static bool has_commands(const struct ladder *l)
{
	return l->commands;
}

static bool has_requests(const struct ladder *l)
{
	return l->requests;
}

/* One that cannot be suspended can be paused. */
static bool has_failed(const struct ladder *l)
{
	return l->failed == LADDER_PAUSE || (l->failed == LADDER_SUSPEND && !l->pause_ms);
}

static bool has_no_engine(const struct ladder *l)
{
	return !l->engine;
}

static bool is_asked(const struct ladder *l)
{
	return l->containers == LADDER_ASKED;
}

static int64_t containers_until(const struct ladder *l)
{
	if (l->containers != LADDER_SOME)
		return 0;
	return l->told ? INT64_MAX : l->containers_at + LADDER_ASK_AGAIN_MS;
}

static int64_t silent_until(const struct ladder *l)
{
	return l->containers == LADDER_SILENT ? l->containers_at + LADDER_ASK_AGAIN_MS : 0;
}

static int64_t answers_until(const struct ladder *l)
{
	return l->asked ? l->asked + LADDER_ANSWER_MS : 0;
}

/* Without a pause the first step down is the deep one. */
static int64_t quiet_until(const struct ladder *l)
{
	return l->used + (l->pause_ms ? l->pause_ms : l->suspend_ms);
}

/* What keeps a machine awake, under which of idle.when: the first that holds. */
static const struct {
	enum ladder_why why;
	unsigned when;
	bool (*holds)(const struct ladder *l);
	int64_t (*until)(const struct ladder *l); /* instead: it holds until then */
} keeps[] = {
	{ LADDER_OFF, V, always, NULL },
	{ LADDER_OFF, N | C, is_off, NULL },
	{ LADDER_COMMANDS, N | C, has_commands, NULL },
	{ LADDER_REQUESTS, N | C, has_requests, NULL },
	{ LADDER_USED, N | C, NULL, quiet_until },
	{ LADDER_ANSWERS, N | C, NULL, answers_until },
	{ LADDER_FAILED, N | C, has_failed, NULL },
	{ LADDER_NO_ENGINE, N, has_no_engine, NULL },
	{ LADDER_CONTAINERS, N, NULL, containers_until },
	{ LADDER_ASKING, N, is_asked, NULL },
	{ LADDER_NO_ANSWER, N, NULL, silent_until },
};

static struct ladder_next stay(enum ladder_why why, int64_t at)
{
	return (struct ladder_next){ LADDER_STAY, why, at };
}

static struct ladder_next go(enum ladder_step step)
{
	return (struct ladder_next){ step, LADDER_FREE, INT64_MAX };
}

static struct ladder_next awake(const struct ladder *l, int64_t now)
{
	for (size_t i = 0; i < sizeof(keeps) / sizeof(*keeps); i++) {
		int64_t until = keeps[i].until ? keeps[i].until(l) : 0;

		if (!(keeps[i].when & 1u << l->when))
			continue;
		if (keeps[i].until ? until > now : keeps[i].holds(l))
			return stay(keeps[i].why, keeps[i].until ? until : INT64_MAX);
	}
	if (l->when == LADDER_NO_CONTAINERS && l->containers != LADDER_NONE)
		return go(LADDER_ASK);
	return go(l->pause_ms ? LADDER_PAUSE : LADDER_SUSPEND);
}

static struct ladder_next paused(const struct ladder *l, int64_t now)
{
	int64_t deeper = l->used + l->suspend_ms;

	if (l->held)
		return stay(LADDER_HELD, INT64_MAX);
	if (l->wanted)
		return go(LADDER_WAKE);
	if (l->when == LADDER_NEVER || !l->suspend_ms)
		return stay(LADDER_OFF, INT64_MAX);
	if (l->failed == LADDER_SUSPEND)
		return stay(LADDER_FAILED, INT64_MAX);
	return l->pressure || deeper <= now ? go(LADDER_SUSPEND) : stay(LADDER_USED, deeper);
}

static struct ladder_next suspended(const struct ladder *l, int64_t now)
{
	(void)now;
	if (l->held)
		return stay(LADDER_HELD, INT64_MAX);
	return l->wanted ? go(LADDER_WAKE) : stay(LADDER_FREE, INT64_MAX);
}

static struct ladder_next changing(const struct ladder *l, int64_t now)
{
	(void)l;
	(void)now;
	return stay(LADDER_BUSY, INT64_MAX);
}

struct ladder_next ladder_decide(const struct ladder *l, int64_t now)
{
	static struct ladder_next (*const decide[])(const struct ladder *l, int64_t now) = {
		[LADDER_CHANGING] = changing, [LADDER_AWAKE] = awake, [LADDER_PAUSED] = paused, [LADDER_SUSPENDED] = suspended,
	};

	return decide[l->state](l, now);
}
