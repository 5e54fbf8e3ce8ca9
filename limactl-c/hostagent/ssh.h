/* ssh.h - the host port that leads to the guest's SSH server, and the file that says by which keys that is known.
 *
 * The guest tells its keys before anything that its server says, so a client that reads the file after it has heard from the
 * server finds what is true by then (guestagent/host_keys.h). A guest that tells them more than a few times a second has the last
 * ones written a moment later. The file stays when the instance stops: who listens on the port
 * then is not taken for it.
 */
#ifndef LIMA_HOSTAGENT_SSH_H
#define LIMA_HOSTAGENT_SSH_H

#include <stddef.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/plan/plan.h"

struct ssh;

struct ssh *ssh_new(struct loop *l, struct conns *cs, const struct plan *plan);
void ssh_free(struct ssh *s); /* NULL is allowed */

void ssh_start(struct ssh *s); /* the port opens, or is tried again while somebody else has it */
void ssh_close(struct ssh *s);
/* The guest told its keys; -1: that was no such message. */
int ssh_message(struct ssh *s, const uint8_t *body, size_t len);

/* {"address":"127.0.0.1:60022","hostKeys":1,"error":…}, of a plan that has a port. */
struct jx *ssh_json(const struct ssh *s);

#endif
