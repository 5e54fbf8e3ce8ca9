/* silence.h - how long a client waits for a guest that gives no sign of life.
 *
 * Streams wait here for the link and, those in a hurry, from their opening until the guest agent has said that it heard of it.
 * One in a hurry is reset once nothing came from the guest for SILENCE_MS. The guest is asked for a sign before that,
 * once, and has the rest of the time for its answer, however late it was asked; a guest that answers its clients anyway
 * is never asked. Nothing is timed while nobody waits, nor while the machine
 * sleeps.
 */
#ifndef LIMA_HOSTAGENT_SILENCE_H
#define LIMA_HOSTAGENT_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/list.h"
#include "lib/mux.h"
#include "limactl-c/hostagent/loop.h"

enum {
	SILENCE_MS = 2000,
	SILENCE_ASK_MS = 500, /* until the guest is asked for a sign of life */
	SILENCE_LISTEN_MS = 20, /* for what came while the host agent itself was held up */
};

struct stream;

struct silence {
	struct mux *mux;
	struct deadline *tick; /* set only while a stream in a hurry is in a list */
	bool armed, counting;
	bool asking;   /* nothing has come since our last question */
	bool listened; /* in this tick they are given up */
	int64_t heard, asked; /* clock_ms() of the guest's last sign, and of our last question */
	struct node waiting; /* for the link */
	struct node unheard; /* in the order of their opening, so those heard of are the first ones */
};

struct stream *silence_waiting(const struct silence *s); /* who waits for the link for longest; NULL: nobody */
void silence_init(struct silence *s, struct loop *l, struct mux *m); /* not counting */
void silence_fini(struct silence *s); /* its streams are forgotten */
void silence_wait(struct silence *s, struct stream *st);   /* st, just asked for, waits for the link */
void silence_opened(struct silence *s, struct stream *st); /* st, which is in no list, was opened */
void silence_remove(struct stream *st);                    /* st is served, or gone; it may be in no list */
void silence_heard(struct silence *s);                     /* bytes came from the guest */
void silence_count(struct silence *s, bool on); /* the machine runs: time counts from now on, for those who wait too */

#endif
