/* agent.h - the host agent of one instance: everything that lives while it runs. */
#ifndef LIMA_HOSTAGENT_AGENT_H
#define LIMA_HOSTAGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/driver/driver.h"
#include "limactl-c/plan/plan.h"

struct ha;

/* plan, driver and spawner are borrowed; lock (the descriptor of ha.lock) and ready_fd are taken. */
struct ha *ha_new(const struct plan *plan, const struct vm_driver *driver, struct spawner *spawner, int lock,
		  int ready_fd);
int ha_begin(struct ha *ha); /* listens and begins to start the machine; -1: it has failed, which was said */
int ha_run(struct ha *ha); /* until the instance has ended; 0 when it was asked to or the guest powered itself off */
void ha_free(struct ha *ha);

/* --- for the control socket --- */

enum ha_command {
	HA_PAUSE, HA_RESUME, HA_SAVE, HA_RESTORE, HA_WAKE, HA_SNAPSHOT_CREATE, HA_SNAPSHOT_APPLY, HA_SNAPSHOT_DELETE, HA_STOP, HA_COMMANDS,
};

struct ha_order {
	enum ha_command cmd;
	bool force;      /* HA_STOP */
	bool until_used; /* HA_PAUSE, HA_SAVE: the next use wakes it up; else it waits for a command */
	const char *tag; /* HA_SNAPSHOT_* */
};

/* Somebody who waits for a command to be carried out. done is called once, possibly before ha_command() returns; status
 * is one of HTTP, text is the state's word with 200, else a sentence. */
struct ha_waiter {
	void (*done)(struct ha_waiter *w, int status, const char *text);
	struct ha_waiter *next;
};

void ha_command(struct ha *ha, const struct ha_order *o, struct ha_waiter *w); /* o is borrowed for the call */
struct jx *ha_info(const struct ha *ha);
struct jx *ha_status(const struct ha *ha);
struct jx *ha_forwards(const struct ha *ha); /* every forward, with what went through it */
struct jx *ha_errors(const struct ha *ha); /* array of sentences: why it is degraded */
void ha_subscribe(struct ha *ha, int fd); /* event lines; fd is taken */
/* NULL when commands can be run in the guest, else why not, with the status to answer. */
const char *ha_exec_refusal(const struct ha *ha, int *status);
/* Relays fd, which is taken, to a command stream of the guest; early as for conn_start(). */
void ha_exec(struct ha *ha, int fd, const void *early, size_t early_len);
/* A SOCKS port for connections that leave from the guest, as tunnel_open() says; to be asked when commands can be run. */
int ha_tunnel(struct ha *ha, uint16_t port, struct err *e);

#endif
