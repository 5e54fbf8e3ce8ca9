/* standin.h - what the host agent has in place of a guest agent where there is none of ours: the other end of the channel,
 * which does what it is asked by way of the guest's SSH server.
 *
 * It says hello once the server lets us in, or never will. It ends with the connection to the server, as a guest agent ends
 * with its guest, and when the host agent lets go of it.
 */
#ifndef LIMA_SSH_STANDIN_H
#define LIMA_SSH_STANDIN_H

#include "lib/list.h"
#include "lib/mux.h"
#include "limactl-c/ssh/pool.h"

struct work;

struct standin {
	struct server *server;
	struct pool pool;
	const char *name;     /* of the guest */
	const char *dir;      /* instance folder */
	bool seeded;          /* scripts of a seed volume are run in the guest at each boot */
	struct mux *mux;
	int fd;               /* the channel's carrier */
	struct buf in;        /* what has not come whole */
	bool full;            /* the carrier took not all */
	bool up;              /* the host agent has been greeted */
	bool done;            /* the guest's scripts have been run, or there are none */
	char trouble[300];    /* why nothing can be done; "" otherwise */
	struct node works;
	bool ended;
	unsigned refusals;    /* one after the other, of channels to sockets, where a command could connect then */
};

/* Something that is being done: a stream of the host agent's, or an errand of our own. First in its struct. */
struct work {
	struct node node;
	const struct work_ops *ops;
	struct standin *si;
	struct mux_stream *mux; /* NULL: none, or the channel has let go of it */
};

enum { WORK_FDS = 2 };
struct work_ops {
	void (*pump)(struct work *w); /* goes as far as it can; w may be gone after it */
	void (*gone)(struct work *w); /* the stream was reset by the host; w->mux is NULL; w stays until it is pumped */
	size_t (*poll)(const struct work *w, struct pollfd fds[WORK_FDS]); /* what else to wait for; NULL: nothing */
	void (*drop)(struct work *w); /* all ends: lets go of channel and memory */
};

void work_add(struct work *w, struct standin *si, struct mux_stream *m, const struct work_ops *ops);
void work_remove(struct work *w); /* from the list; its stream was released or reset */
void work_release(struct work *w); /* finished in our direction: the channel keeps the rest */
void work_reset(struct work *w, enum mux_reset_code code);

/* Runs to the end. 0: the host agent let go. */
int standin_run(struct standin *si, struct err *e);

/* A command of ours on the server, whose output nobody wants. over, which may be NULL, gets its exit code, -1 when there is
 * none. line is copied. */
void errand_start(struct standin *si, const struct buf *line, void (*over)(struct standin *si, int status));

#endif
