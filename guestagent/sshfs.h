/* sshfs.h - folders of the host that the guest's own program sshfs mounts (mountType: reverse-sshfs).
 *
 * The host opens a stream for each and serves it as an SFTP server; sshfs is its client, on standard input and output. It ends
 * with its stream, and with the agent. Why a folder could not be mounted is told as a trouble.
 */
#ifndef LIMA_GUESTAGENT_SSHFS_H
#define LIMA_GUESTAGENT_SSHFS_H

#include "guestagent/session.h"
#include "lib/agentproto.h"

/* Takes stream m, or resets it. What an earlier stream mounted there gives way. AP_MSG_MOUNTED follows when it is mounted. */
void ga_sshfs_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);
void ga_sshfs_stop(struct ga *ga); /* forgets them all; each ends with its stream */

#endif
