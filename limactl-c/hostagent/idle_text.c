#include "limactl-c/hostagent/idle_text.h"

#include <stdlib.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

enum { SENTENCE_MAX = 1024, NAMES_SAID = 3 };

static const char *const whens[] = {
	[LADDER_NO_CONTAINERS] = "noContainers", [LADDER_NO_CONNECTIONS] = "noConnections", [LADDER_NEVER] = "never",
};

static const char *const whys[LADDER_WHYS] = {
	[LADDER_BUSY] = "changing",     [LADDER_OFF] = "off",           [LADDER_COMMANDS] = "commands",
	[LADDER_REQUESTS] = "requests", [LADDER_ANSWERS] = "answers",   [LADDER_USED] = "used",
	[LADDER_FAILED] = "failed",     [LADDER_NO_ENGINE] = "noEngine", [LADDER_CONTAINERS] = "containers",
	[LADDER_ASKING] = "asking",     [LADDER_NO_ANSWER] = "noAnswer", [LADDER_HELD] = "held",
	[LADDER_FREE] = "free",
};

static const char *const uses[USE_KINDS] = {
	[USE_NONE] = "its start",          [USE_SOCKET] = "a connection to a forwarded socket",
	[USE_PORT] = "a connection to a forwarded port", [USE_COMMAND] = "a command of shell, copy or ssh",
	[USE_DATAGRAM] = "a datagram",     [USE_STREAM] = "bytes of an open connection",
	[USE_CALL] = "a command of limactl-c",
};

const char *idle_step_word(enum ladder_step s)
{
	static const char *const words[] = {
		[LADDER_STAY] = "", [LADDER_ASK] = "", [LADDER_PAUSE] = "the machine cannot be paused",
		[LADDER_SUSPEND] = "the machine cannot be suspended", [LADDER_WAKE] = "the machine cannot be woken up",
	};

	return words[s];
}

static char *duration(int64_t ms)
{
	return text_duration((unsigned)(ms / 1000));
}

/* --- why it is awake; buf_addf() fails only when a sentence is too long, which is then cut --- */

static void say_off(struct buf *b, const struct idle_story *s)
{
	buf_addf(b, s->ladder->when == LADDER_NEVER ? "idle.when is \"never\"" : "idle.pauseAfter and idle.suspendAfter are 0");
}

static void say_commands(struct buf *b, const struct idle_story *s)
{
	buf_addf(b, "%zu command%s of shell, copy or ssh run%s in it", s->ladder->commands, s->ladder->commands == 1 ? "" : "s",
		 s->ladder->commands == 1 ? "s" : "");
}

static void say_requests(struct buf *b, const struct idle_story *s)
{
	buf_addf(b, "Docker works on %zu request%s", s->ladder->requests, s->ladder->requests == 1 ? "" : "s");
}

static void say_answers(struct buf *b, const struct idle_story *s)
{
	auto_free char *ago = duration(s->now - s->ladder->asked);

	buf_addf(b, "a connection has been waiting for an answer for %s", ago);
}

static void say_used(struct buf *b, const struct idle_story *s)
{
	auto_free char *ago = duration(s->now - s->ladder->used), *left = duration(s->next.at - s->now + 999);

	buf_addf(b, "it was used %s ago (%s); it sleeps in %s unless it is used again", ago, uses[s->used], left);
}

static void say_containers(struct buf *b, const struct idle_story *s)
{
	const struct container_list *list = s->containers;
	size_t said = 0;

	buf_addf(b, "%zu container%s run%s in it", list->working, list->working == 1 ? "" : "s", list->working == 1 ? "s" : "");
	for (size_t i = 0; i < list->count && said < NAMES_SAID; i++)
		if (list->item[i].works)
			buf_addf(b, "%s%s", said++ ? ", " : ": ", list->item[i].name);
	if (said && said < list->working)
		buf_addf(b, ", …");
}

static void say_busy(struct buf *b, const struct idle_story *s)
{
	buf_addf(b, "it is %s", s->doing);
}

static const struct {
	const char *text;
	void (*say)(struct buf *b, const struct idle_story *s); /* instead */
} awake[LADDER_WHYS] = {
	[LADDER_BUSY] = { NULL, say_busy },
	[LADDER_OFF] = { NULL, say_off },
	[LADDER_COMMANDS] = { NULL, say_commands },
	[LADDER_REQUESTS] = { NULL, say_requests },
	[LADDER_ANSWERS] = { NULL, say_answers },
	[LADDER_USED] = { NULL, say_used },
	[LADDER_FAILED] = { "putting it to sleep failed (ha.stderr.log has the reason); that is tried again after its next use", NULL },
	[LADDER_NO_ENGINE] = { "nobody can tell whether containers run in it: no docker.sock is forwarded that would know them all "
			       "(idle.when \"noConnections\" does not ask)", NULL },
	[LADDER_CONTAINERS] = { NULL, say_containers },
	[LADDER_ASKING] = { "Docker is being asked for its containers", NULL },
	[LADDER_NO_ANSWER] = { "Docker did not say which containers run; it is asked again within a minute", NULL },
	[LADDER_HELD] = { "", NULL },
	[LADDER_FREE] = { "nothing: it goes to sleep", NULL },
};

/* --- the whole --- */

static void say_awake(struct buf *b, const struct idle_story *s)
{
	buf_addf(b, "awake: ");
	if (awake[s->next.why].say)
		awake[s->next.why].say(b, s);
	else
		buf_addf(b, "%s", awake[s->next.why].text);
}

static void say_asleep(struct buf *b, const struct idle_story *s)
{
	auto_free char *since = duration(s->since_ms);

	buf_addf(b, "%s for %s, %s wakes it up", s->ladder->state == LADDER_PAUSED ? "paused" : "suspended", since,
		 s->ladder->held ? "`limactl-c resume`" : "the next use");
	if (s->next.why == LADDER_FAILED)
		buf_addf(b, "; it could not be suspended (ha.stderr.log has the reason), which is tried again after that");
}

static void say_slept(struct buf *b, const struct idle_story *s)
{
	int64_t slept = s->slept.paused_ms + s->slept.suspended_ms;
	auto_free char *asleep = duration(slept), *life = duration(s->life_ms);

	if (!s->slept.naps)
		return;
	buf_addf(b, "; it has slept %s of the last %s, %llu time%s", asleep, life, (unsigned long long)s->slept.naps,
		 s->slept.naps == 1 ? "" : "s");
	if (s->slept.woken_by)
		buf_addf(b, ", woken up last by %s", uses[s->slept.woken_by]);
}

char *idle_sentence(const struct idle_story *s)
{
	auto_buf b = BUF_INIT(SENTENCE_MAX);

	if (s->ladder->state == LADDER_PAUSED || s->ladder->state == LADDER_SUSPENDED)
		say_asleep(&b, s);
	else
		say_awake(&b, s);
	say_slept(&b, s);
	return xstrdup(b.data);
}

struct jx *idle_story_json(const struct idle_story *s)
{
	auto_free char *sentence = idle_sentence(s);
	struct jx *o = jx_new_object();

	jx_set_string(o, "when", whens[s->ladder->when]);
	jx_set_string(o, "why", whys[s->next.why]);
	jx_set_string(o, "sentence", sentence);
	jx_set_int(o, "naps", (int64_t)s->slept.naps);
	jx_set_int(o, "pausedMs", s->slept.paused_ms);
	jx_set_int(o, "suspendedMs", s->slept.suspended_ms);
	return o;
}
