/* tally.h - what went through one forward. Kept by who listens and by each of its connections, whoever ends last. */
#ifndef LIMA_HOSTAGENT_TALLY_H
#define LIMA_HOSTAGENT_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"

struct tally {
	size_t keepers;
	uint64_t now, total;         /* connections, or the clients of a UDP port: there now, and ever */
	uint64_t to_guest, to_host;  /* bytes */
	uint64_t in, out, dropped;   /* datagrams: to the guest, to the host, and those of both ways that were lost here */
};

struct tally *tally_new(void);               /* with one keeper */
struct tally *tally_keep(struct tally *t);   /* one more; NULL is allowed, as for the next */
void tally_drop(struct tally *t);

/* Members connections, connectionsTotal, bytesToGuest, bytesToHost; with datagrams, datagramsToGuest, -ToHost and -Dropped. */
void tally_json(const struct tally *t, bool datagrams, struct jx *o);

#endif
