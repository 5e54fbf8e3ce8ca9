/* idle_text.h - what there is to say about a machine that sleeps or does not, for people and in JSON. */
#ifndef LIMA_HOSTAGENT_IDLE_TEXT_H
#define LIMA_HOSTAGENT_IDLE_TEXT_H

#include <stdint.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/containers.h"
#include "limactl-c/hostagent/idle_ladder.h"
#include "limactl-c/hostagent/use.h"

struct idle_slept {
	int64_t paused_ms, suspended_ms;
	uint64_t naps;
	enum use_kind woken_by; /* the last time; USE_NONE: never, or by a command */
};

struct idle_story {
	const struct ladder *ladder;
	struct ladder_next next;
	int64_t now, since_ms, life_ms; /* clock_ms(); how long it has been so; how long the host agent has had the machine */
	enum use_kind used;             /* what it was used by last */
	struct idle_slept slept;
	const struct container_list *containers; /* known last; NULL: none */
	const char *doing;                       /* while it changes: "starting" */
};

const char *idle_step_word(enum ladder_step s); /* "the machine cannot be paused" */
char *idle_sentence(const struct idle_story *s); /* malloc'd */
struct jx *idle_story_json(const struct idle_story *s);

#endif
