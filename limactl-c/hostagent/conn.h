/* conn.h - a connection of the host relayed to a stream of the guest.
 *
 * Both directions end on their own (half-close); a reset of one side is a reset of the other; a side that does not
 * read holds the other back. Bytes are read straight into the mux's buffer.
 */
#ifndef LIMA_HOSTAGENT_CONN_H
#define LIMA_HOSTAGENT_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/recall.h"
#include "limactl-c/hostagent/tally.h"

/* All connections of one host agent. */
struct conns;

struct conns *conns_new(struct loop *l, struct guest *g);
void conns_free(struct conns *cs); /* closes them all; before guest_free() */
/* From now on questions to docker.sock may be answered from memory; r is the caller's, for as long as cs is there. */
void conns_recall(struct conns *cs, struct recall *r);
size_t conns_count(const struct conns *cs);

enum conn_kind {
	CONN_SOCKET, /* to a socket of the guest */
	CONN_PORT,
	CONN_DOCKER, /* to its docker.sock: its requests are followed (docker_api.h) */
	CONN_LOGIN,  /* to its SSH server: commands run behind it */
	CONN_JOB,    /* one command: when the client hangs up, the guest's side is reset even if it has not taken everything yet,
		      * so that the command ends with who ran it */
};

/* Relays fd, which is taken and non-blocking, to what request asks for. early are bytes that were read from fd already
 * (at most half a mux window). t, which may be NULL, counts it. */
void conn_start(struct conns *cs, struct tally *t, int fd, enum conn_kind kind, const uint8_t *request, size_t len,
		const void *early, size_t early_len);
/* Relays fd, which is taken and non-blocking, to a stream that the guest opened. */
void conn_answer(struct conns *cs, struct tally *t, int fd, struct mux_stream *m);

#endif
