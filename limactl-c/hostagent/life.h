/* life.h - the states of an instance and what moves it from one to another (docs/lifecycle.md). */
#ifndef LIMA_HOSTAGENT_LIFE_H
#define LIMA_HOSTAGENT_LIFE_H

#include "limactl-c/hostagent/agent.h"
#include "limactl-c/hostagent/agentless.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/edits.h"
#include "limactl-c/hostagent/events.h"
#include "limactl-c/hostagent/file_events.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/harvester.h"
#include "limactl-c/hostagent/hostclock.h"
#include "limactl-c/hostagent/idle.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/names.h"
#include "limactl-c/hostagent/publish.h"
#include "limactl-c/hostagent/ready.h"
#include "limactl-c/hostagent/sockets.h"
#include "limactl-c/hostagent/resolve.h"
#include "limactl-c/hostagent/ssh.h"
#include "limactl-c/hostagent/sshfs.h"
#include "limactl-c/hostagent/suspend.h"
#include "limactl-c/hostagent/troubles.h"
#include "limactl-c/hostagent/tunnel.h"
#include "limactl-c/hostagent/vm.h"

enum ha_state { HA_STARTING, HA_RUNNING, HA_PAUSED, HA_SAVED, HA_STOPPING, HA_STATES };

struct ha {
	const struct plan *plan;
	const struct vm_driver *driver;
	struct spawner *spawner;
	int lock; /* ha.lock, held until everything is removed */
	struct change *lock_change;
	struct hostclock *clock; /* NULL where the system does not tell that its clock was set */
	struct loop *loop;
	struct vmctl *vm;
	struct agentless agentless;
	struct guest *guest;
	struct conns *conns;
	struct recall *recall; /* NULL: there is no docker.sock */
	struct publish *publish;
	struct tunnels *tunnels;
	struct sockets *sockets;
	struct ssh *ssh;
	struct sshfs *sshfs;
	struct events *events;
	struct ready *ready;
	struct edits *edits;
	struct harvester *harvester;
	struct names *names; /* NULL: there is no Docker */
	struct resolve *resolve;
	struct file_events *file_events;
	struct api *api;
	struct idle *idle;

	/* life.c */
	enum ha_state state;
	enum vmctl_op op;          /* under way */
	struct {
		enum vmctl_op op;
		char *tag;
	} snapshot;                /* that was begun last */
	struct ha_waiter *waiters; /* for the operation under way */
	struct ha_waiter *wakers;  /* for it to run again, once it sleeps */
	struct suspend suspend;
	bool held; /* asleep until it is told to wake up, whoever comes */
	struct ha_waiter *enders;  /* for the end */
	struct deadline *end_deadline; /* set only while stopping */
	int64_t signal_at;         /* when the first signal came, 0 = none */
	bool stop_wanted;          /* as soon as the operation under way is over */
	bool guest_off;            /* the guest is powering itself off */
	bool killed;               /* by us */
	bool cut_off;              /* killed since the guest did not power off when it was asked to */
	bool machine_left;         /* it goes on without us: its files stay */
	bool ended;
	int exit_code;
	struct jx *errors; /* array: what failed at its start, or why it ended */
	struct troubles *troubles; /* what does not work by now */
	unsigned resets; /* of the machine by its guest since the agent answered last */
	int64_t reset_at; /* clock_ms() of the last of them */
	unsigned panics;  /* of its kernel while it ran */

	/* what the guest said of itself */
	bool agent_known;
	int64_t begun;    /* clock_ms() when we began with the machine */
	int64_t answered; /* clock_ms() of the agent's first answer */
	struct ap_info agent;
};

const char *life_word(enum ha_state s); /* "running" */

/* Begins with whatever is there: a running machine, a saved one, none. */
void life_begin(struct ha *ha);
void life_event(void *ctx, const struct vm_event *ev); /* from the driver */
void life_tell_time(void *ctx);                        /* guest's or host's clock is not what it was */
void life_ready(void *ctx);                            /* a requirement was met */
void life_signal(void *ctx, int signum);               /* once: stop; again: at once */
void life_fail(struct ha *ha, const char *why);        /* ends with an error */
void life_give_up(struct ha *ha, const char *why);     /* the same, and the machine, if it lives, is killed first */
void life_stop(struct ha *ha, bool force);
/* Begins an operation; life_event() hears of its end. */
int life_operation(struct ha *ha, enum vmctl_op op, struct err *e);
void life_answer(struct ha_waiter **list, int status, const char *text); /* to all of them, who are forgotten */
int life_operation_on(struct ha *ha, enum vmctl_op op, const char *path, struct err *e); /* path: as for vmctl_begin() */
void life_begin_or_fail(struct ha *ha, enum vmctl_op op); /* an operation that cannot begin ends it with an error */
void life_machine_runs(struct ha *ha); /* its guest: at a start of any kind */
void life_settle(struct ha *ha, enum ha_state s); /* that is its state, and who waited for it is told */
void life_stop_if_wanted(struct ha *ha); /* an operation is over */
const char *life_doing(const struct ha *ha); /* "being saved" */

#endif
