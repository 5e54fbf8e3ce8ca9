/* listen.h - a listening socket of the host; each connection it accepts is relayed to one place in the guest. */
#ifndef LIMA_HOSTAGENT_LISTEN_H
#define LIMA_HOSTAGENT_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/agentproto.h"
#include "lib/err.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/loop.h"

struct listener;

/* Port host of this host to what guest names; t counts the connections of both kinds. */
struct listener *listen_tcp(struct loop *l, struct conns *cs, struct tally *t, const struct ap_port *host,
			    const struct ap_open *guest, struct err *e);
/* A unix socket with mode and, unless NULL, of group, in a folder that is made with 0700; connections stay in the
 * kernel's queue until listen_accept(). The socket's file is removed at the end. */
struct listener *listen_unix(struct loop *l, struct conns *cs, struct tally *t, const char *path, mode_t mode,
			     const char *group, const struct ap_open *guest, struct err *e);
/* Why a port could not be listened on, for people: errnum, or what a privileged port needs. */
enum { LISTEN_REASON_MAX = 160 };
const char *listen_reason(int errnum, unsigned port, char out[LISTEN_REASON_MAX]);

uint16_t listen_port(const struct listener *ln); /* of listen_tcp() */
void listen_kind(struct listener *ln, enum conn_kind kind); /* of its connections; else by what kind of socket it is */
void listen_accept(struct listener *ln);
void listen_retarget(struct listener *ln, const struct ap_open *guest); /* connections from now on */
void listen_free(struct listener *ln); /* NULL is allowed; connections go on */

#endif
