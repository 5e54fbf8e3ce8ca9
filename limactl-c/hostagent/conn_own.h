/* conn_own.h - a connection as conn.c and conn_docker.c know it. */
#ifndef LIMA_HOSTAGENT_CONN_OWN_H
#define LIMA_HOSTAGENT_CONN_OWN_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/list.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/docker_conn.h"

struct conns {
	struct loop *loop;
	struct guest *guest;
	struct recall *recall; /* NULL: there is none */
	struct node list;
	size_t count;
};

struct conn {
	struct stream st; /* first: a stream is cast to its connection */
	struct conns *all;
	struct node in_list;
	struct tally *tally; /* may be NULL */
	int fd; /* -1 once both directions have ended */
	struct watch *watch;
	struct buf early; /* bytes of the client that wait for the stream */
	enum conn_kind kind;
	struct docker_conn *docker; /* of CONN_DOCKER, else NULL */
	bool works;       /* … a request is counted as under way */
	bool used;        /* it was use of the guest */
	struct use_asker asker;
	bool in_ended;    /* the client will send no more */
	bool broken;      /* writing has told of the reset, so that reading tells of an end */
	bool out_ended;   /* the guest's end was passed on */
	bool in_blocked;  /* the stream takes no more for now */
	bool out_blocked; /* the client takes no more for now */
};

/* conn.c */
void conn_free(struct conn *c);
void conn_abort(struct conn *c, enum mux_reset_code code); /* the guest's side gets a reset, as the client's does */
void conn_update(struct conn *c); /* what is waited for */

/* conn_docker.c */
void conn_note_begun(struct conn *c); /* it is there */
void conn_note_gone(struct conn *c);
void conn_note_asked(struct conn *c, const void *p, size_t n);    /* the client's bytes pass */
void conn_note_answered(struct conn *c, const void *p, size_t n); /* the guest's */
bool conn_is_unopened(const struct conn *c); /* no stream was asked for, since the client has not said enough */
bool conn_owes(const struct conn *c); /* the client has not taken all of an answer from memory */
int conn_pay(struct conn *c); /* goes on with it; -1: c is gone */
bool conn_holds(struct conn *c); /* what the client says next is held until it is known what it is … */
int conn_hold(struct conn *c); /* … by this; 1: there may be more, 0: not now, -1: c is gone, or opens its stream */

#endif
