/* idle_ladder.h - whether a machine may sleep, how deep, and when it is to be looked at again: a table, no side effects.
 *
 *   awake ── quiet for pauseAfter ──► paused ── quiet for suspendAfter, or the host is short of memory ──► suspended
 *     ▲                                  │                                                                   │
 *     └──────────── somebody wants it ───┴───────────────────────────────────────────────────────────────────┘
 */
#ifndef LIMA_HOSTAGENT_IDLE_LADDER_H
#define LIMA_HOSTAGENT_IDLE_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which machines sleep (idle.when). */
enum ladder_when { LADDER_NO_CONTAINERS, LADDER_NO_CONNECTIONS, LADDER_NEVER };

enum ladder_state { LADDER_CHANGING, LADDER_AWAKE, LADDER_PAUSED, LADDER_SUSPENDED };

/* What is known of the guest's containers. */
enum ladder_containers {
	LADDER_UNKNOWN, /* Docker was not asked since the guest was used last */
	LADDER_ASKED,   /* it has not answered yet */
	LADDER_NONE,
	LADDER_SOME,
	LADDER_SILENT,  /* it did not answer */
};

enum ladder_step { LADDER_STAY, LADDER_ASK, LADDER_PAUSE, LADDER_SUSPEND, LADDER_WAKE };

/* Why it is not asleep; of one that sleeps: why not deeper. */
enum ladder_why {
	LADDER_BUSY,       /* it starts, stops, or something is being done with the machine */
	LADDER_OFF,        /* idle.when is never, or the time for the next step is 0 */
	LADDER_COMMANDS,   /* a command runs in it */
	LADDER_REQUESTS,   /* Docker works on a request */
	LADDER_ANSWERS,    /* a connection waits for an answer */
	LADDER_USED,       /* not long enough ago */
	LADDER_FAILED,     /* the step failed; tried again after the next use */
	LADDER_NO_ENGINE,  /* nobody can tell whether containers run */
	LADDER_CONTAINERS, /* some run */
	LADDER_ASKING,     /* Docker is being asked for them */
	LADDER_NO_ANSWER,  /* Docker was asked and did not answer */
	LADDER_HELD,       /* it was put to sleep until it is told to wake up */
	LADDER_FREE,       /* nothing keeps it */
	LADDER_WHYS,
};

/* A question without an answer keeps the machine awake for so long, no longer: some are never answered. */
enum { LADDER_ANSWER_MS = 10 * 60 * 1000 };
/* Docker is asked again so long after a question that it did not answer, or whose answer may have changed without a word. */
enum { LADDER_ASK_AGAIN_MS = 60 * 1000 };

/* Times are clock_ms(). */
struct ladder {
	enum ladder_when when;
	int64_t pause_ms, suspend_ms; /* 0: never */
	bool engine;                  /* there is a docker.sock, which tells of all containers */
	enum ladder_state state;
	int64_t used;  /* when the guest was used last, or began to run */
	int64_t asked; /* when the last asked of those whom the guest owes an answer; 0: nobody */
	size_t commands, requests;
	enum ladder_containers containers;
	int64_t containers_at; /* when Docker was asked for them last */
	bool told;             /* Docker says when one has ended */
	bool wanted;   /* somebody came or wrote since it began to go to sleep */
	bool held;
	enum ladder_step failed; /* the last step that did, if there was no use since then; LADDER_STAY: none */
	bool pressure; /* the host is short of memory */
};

struct ladder_next {
	enum ladder_step step;
	enum ladder_why why;
	int64_t at; /* with LADDER_STAY: when time alone changes that; INT64_MAX: never */
};

struct ladder_next ladder_decide(const struct ladder *l, int64_t now);

#endif
