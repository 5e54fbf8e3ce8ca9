/* guest.h - the link to the guest agent: the carrier, the mux over it, and streams opened through it.
 *
 * The carrier is made again whenever it is lost while the machine is alive. A stream asked for while there is no link
 * waits for it; it does not fail, unless it is in a hurry (silence.h). What is written during one round of the loop goes to the carrier at its end.
 */
#ifndef LIMA_HOSTAGENT_GUEST_H
#define LIMA_HOSTAGENT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/agentproto.h"
#include "lib/err.h"
#include "lib/mux.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/silence.h"
#include "limactl-c/hostagent/use.h"

struct guest;
struct stream;

/* What the user of a stream is told. opened and writable may be NULL. */
struct stream_ops {
	void (*opened)(struct stream *st);   /* st->mux is there from now on */
	void (*readable)(struct stream *st);
	void (*writable)(struct stream *st);
	void (*reset)(struct stream *st, enum mux_reset_code code); /* st->mux is gone */
	void (*closed)(struct stream *st);                          /* st->mux is gone */
};

/* Embedded in the user's object, zeroed before guest_open(). */
struct stream {
	const struct stream_ops *ops;
	bool in_a_hurry;        /* somebody waits: reset when the running guest gives no sign of life for SILENCE_MS */
	struct mux_stream *mux; /* NULL while it waits for the link, and after the end */
	struct guest *guest;
	uint8_t *request;       /* while it waits */
	size_t request_len;
	struct node in_line;    /* silence.h */
	int64_t since;          /* clock_ms() from which its waiting counts */
};

struct guest_ops {
	int (*connect)(void *ctx, struct err *e); /* a carrier's descriptor, given to the guest */
	/* Memory that the machine's guest agent sees too: a descriptor, given to the guest; -1: there is none. NULL: never. */
	int (*memory)(void *ctx);
	void (*up)(void *ctx, bool resumed);
	void (*down)(void *ctx);
	int (*message)(void *ctx, unsigned type, const uint8_t *body, size_t len); /* -1: malformed */
	/* The guest opened m: it is taken with guest_take() or reset. NULL: all are refused. */
	void (*open)(void *ctx, struct mux_stream *m, const uint8_t *request, size_t len);
};

struct guest *guest_new(struct loop *l, const struct guest_ops *ops, void *ctx, struct err *e);
void guest_free(struct guest *g); /* streams are gone without a call */

void guest_connect(struct guest *g);    /* the machine is alive: connect, and again whenever the carrier is lost */
void guest_ending(struct guest *g);     /* the machine is about to go: a lost carrier is no surprise, and who comes waits */
void guest_disconnect(struct guest *g); /* the machine is gone; streams are kept */
bool guest_is_up(const struct guest *g);
/* Much of what was said to it waits: what may get lost is not said now, so that there is room for what may not. */
bool guest_is_behind(const struct guest *g);
void guest_hurry(struct guest *g, bool on); /* whether the guest could answer now, so that streams in a hurry need not wait */
struct silence *guest_silence(struct guest *g); /* for silence.c */
struct use *guest_use(struct guest *g); /* where the users of streams note what counts as use */
int guest_send_power_off(struct guest *g); /* beside the power button */
int guest_send(struct guest *g, unsigned type, const uint8_t *body, size_t len); /* a message; -1: its queue is full */
int guest_send_reverse(struct guest *g, const struct ap_reverse *v);
/* The host's clock, for the guest to compare its own with. Before the first frame after a quiet minute it is sent by itself. */
int guest_send_time(struct guest *g);
int guest_answer_clock(struct guest *g, const uint8_t *body, size_t len); /* AP_MSG_CLOCK; -1: malformed */

/* Opens st as soon as there is a link. opened() or reset() follows, possibly before this returns. */
void guest_open(struct guest *g, struct stream *st, const uint8_t *request, size_t len);
void guest_take(struct guest *g, struct stream *st, struct mux_stream *m); /* st is m, which the guest opened */
/* Lets go of st: ends it both ways with code when it is open, forgets it when it waits. No callback. */
void guest_abort(struct stream *st, enum mux_reset_code code);
void guest_reset(struct stream *st, enum mux_reset_code code); /* the same; what was written may be lost */
void guest_flush(struct guest *g); /* before each wait of the loop */

#endif
