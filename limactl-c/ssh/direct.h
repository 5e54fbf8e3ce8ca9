/* direct.h - connections to ports and sockets of the guest, each a channel that its SSH server connects.
 *
 * A server may refuse channels to sockets (AllowStreamLocalForwarding no), or be one that knows none: a command in the guest
 * that connects its standard input and output does it then, and where only root may connect.
 */
#ifndef LIMA_SSH_DIRECT_H
#define LIMA_SSH_DIRECT_H

#include "limactl-c/ssh/standin.h"

void direct_open(struct standin *si, struct mux_stream *m, const struct ap_open *o); /* TCP, UNIX */

/* What a channel is asked for with, in SSH's form; malloc'd. */
uint8_t *direct_tcpip_request(const struct ap_open *o, size_t *len);
uint8_t *direct_streamlocal_request(const struct ap_open *o, size_t *len);

#endif
