/* file_events.h - changes in the host's folders, told to who watches files here: a child of the agent's, which may wait for a
 * folder's server as long as that takes. */
#ifndef LIMA_GUESTAGENT_FILE_EVENTS_H
#define LIMA_GUESTAGENT_FILE_EVENTS_H

#include "guestagent/session.h"
#include "lib/agentproto.h"

/* Takes stream m, or resets it. The child ends with the stream. */
void ga_file_events_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);

#endif
