/* use.h - what counts as use of the guest: noted where bytes pass, read by who lets the machine sleep (idle.h).
 *
 * A stream that is open and silent is no use, but for three kinds of it: a command of `shell`, `copy` or ssh, which may work
 * without a word; a request of Docker's API that is not answered yet; and, for a while, one whose last bytes were the
 * client's, so that a question that takes long is not frozen with whom it was put to.
 */
#ifndef LIMA_HOSTAGENT_USE_H
#define LIMA_HOSTAGENT_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/list.h"

enum use_kind { USE_NONE, USE_SOCKET, USE_PORT, USE_COMMAND, USE_DATAGRAM, USE_STREAM, USE_CALL, USE_KINDS };

/* A stream's place among those that wait for the guest's answer. */
struct use_asker {
	struct node in_list;
	int64_t at; /* clock_ms() of the client's last bytes */
};

struct use {
	int64_t last;       /* clock_ms() of the last use, 0: there was none */
	enum use_kind kind; /* of it */
	bool wanted;        /* there was some since who reads this has set it to false */
	uint64_t changes;   /* counts what may have changed something in the guest */
	size_t commands;    /* open */
	size_t requests;    /* not answered yet */
	struct node askers; /* who asked last is the last one */
};

void use_init(struct use *u);
void use_note(struct use *u, enum use_kind kind); /* somebody came, or bytes passed, either way */
void use_note_question(struct use *u); /* the same, of one that changes nothing */
void use_asked(struct use *u, struct use_asker *a);    /* the client's bytes were passed on */
void use_answered(struct use_asker *a);                /* the guest's were, or the stream is gone */
int64_t use_last_asked(const struct use *u); /* when the last asked of those that wait; 0: nobody does */

#endif
