/* server.h - what an SFTP client asks of one folder, answered packet by packet.
 *
 * The client is a guest, which is not trusted: it reaches what lies beneath the folder (tree.h) with the rights of this
 * process, never another place, and gets no file set-user-ID or set-group-ID. Symbolic links it makes are only text.
 */
#ifndef LIMA_SFTP_SERVER_H
#define LIMA_SFTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

struct sftp;

struct sftp *sftp_new(int root, bool readonly, bool follow); /* root: a folder's descriptor, taken */
void sftp_free(struct sftp *s);

/* Answers one packet, without its length, behind what is in out (whose max is that of memory). -1: it is none, and the
 * conversation is over. */
int sftp_packet(struct sftp *s, const uint8_t *p, size_t n, struct buf *out);

#endif
