/* session.h - the guest's side of the channel: says what the guest is, opens what the host asks for.
 *
 * struct ga is the daemon: one of it, passed down, no globals.
 */
#ifndef LIMA_GUESTAGENT_SESSION_H
#define LIMA_GUESTAGENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "guestagent/carrier.h"
#include "guestagent/guest_clock.h"
#include "guestagent/loop.h"
#include "guestagent/ports.h"
#include "lib/buf.h"
#include "lib/mux.h"
#include "lib/settings.h"

struct dns;
struct ga_provision;
struct ga_reverse;
struct ga_sshfs;
struct ga_suspend;
struct ga_troubles;

struct ga {
	struct ga_loop loop;
	struct ga_carrier carrier;
	struct mux *mux;
	struct ports *ports; /* NULL: none are told */
	struct ga_watch ports_watch;
	struct ga_timer ports_timer; /* see ports_interval() */
	struct ga_provision *provision;
	struct ga_troubles *troubles; /* NULL: none are told */
	struct dns *dns;              /* NULL: names are not asked of the host */
	struct ga_reverse *reverse;   /* NULL: the host has asked for none */
	struct ga_sshfs *sshfs;       /* a list: folders it serves */
	struct ga_suspend *suspend;   /* NULL: it gets neither ready nor over it */
	const struct settings *settings;
	const char *run_dir;
	struct rlimit files;   /* RLIMIT_NOFILE as we got it; what commands get back */
	void (*power_off)(struct ga *ga); /* the host asks for it; NULL: it is not for us to do */
	void (*used)(struct ga *ga); /* the host opened a stream; may be NULL */
	struct ga_clock clock;
	struct buf host_keys;  /* the message told last */
	bool ports_lost;       /* a change could not be queued: the host needs a snapshot */
	size_t jobs;           /* commands running */
	size_t dials;          /* connections being made by name */
};

/* What a stream is connected to: the first member of its context. A stream without a context (NULL) is one whose
 * work is done; what still comes for it is dropped. */
struct ga_stream {
	const struct ga_stream_ops *ops;
	struct ga *ga;
	struct mux_stream *mux; /* NULL once the channel has let go of it */
};

struct ga_stream_ops {
	void (*readable)(struct ga_stream *s);
	void (*writable)(struct ga_stream *s);
	void (*gone)(struct ga_stream *s); /* reset by the peer; s->mux is NULL already */
};

void ga_stream_attach(struct ga_stream *s, struct ga *ga, struct mux_stream *m, const struct ga_stream_ops *ops);
void ga_stream_release(struct ga_stream *s); /* finished in our direction: the channel keeps the rest */
void ga_stream_reset(struct ga_stream *s, enum mux_reset_code code);

/* Call before handing bytes that somebody outside may act on to the channel: port changes that happened before
 * go out first. A look at memory when there is none. */
void ga_before_data(struct ga *ga);

/* Starts the channel with a fresh epoch. The members above that come from outside are set already. */
int ga_session_start(struct ga *ga, const char *carrier, struct err *e);
void ga_session_stop(struct ga *ga); /* tells the host and lets everything go */

void ga_send_boot(struct ga *ga); /* the present phase, and the first warning of setup */
void ga_send_warning(struct ga *ga, size_t from); /* the first one behind that many bytes of /run/lima/setup.warnings */

#endif
