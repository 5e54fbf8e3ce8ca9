/* guest.h - the link to the guest agent: the carrier, the mux over it, and streams opened through it.
 *
 * The carrier is made again whenever it is lost while the machine is alive. A stream asked for while there is no link
 * waits for it; it does not fail. What is written during one round of the loop goes to the carrier at its end.
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

struct guest;
struct stream;

/* What the user of a stream is told. */
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
	struct mux_stream *mux; /* NULL while it waits for the link, and after the end */
	struct guest *guest;
	uint8_t *request;       /* while it waits */
	size_t request_len;
	struct stream *next, *prev; /* in the waiting list */
};

struct guest_ops {
	int (*connect)(void *ctx, struct err *e); /* a carrier's descriptor, given to the guest */
	void (*up)(void *ctx, bool resumed);
	void (*down)(void *ctx);
	int (*message)(void *ctx, unsigned type, const uint8_t *body, size_t len); /* -1: malformed */
};

struct guest *guest_new(struct loop *l, const struct guest_ops *ops, void *ctx, struct err *e);
void guest_free(struct guest *g); /* streams are gone without a call */

void guest_connect(struct guest *g);    /* the machine is alive: connect, and again whenever the carrier is lost */
void guest_ending(struct guest *g);     /* the machine is about to go: a lost carrier is no surprise */
void guest_disconnect(struct guest *g); /* the machine is gone; streams are kept */
bool guest_is_up(const struct guest *g);
int guest_send_power_off(struct guest *g); /* beside the power button */
int guest_send_time(struct guest *g);   /* the host's clock, for the guest to set its own */

/* Opens st as soon as there is a link. opened() or reset() follows, possibly before this returns. */
void guest_open(struct guest *g, struct stream *st, const uint8_t *request, size_t len);
/* Lets go of st: ends it both ways with code when it is open, forgets it when it waits. No callback. */
void guest_abort(struct stream *st, enum mux_reset_code code);
void guest_flush(struct guest *g); /* before each wait of the loop */

#endif
