/* haclient.h - requests to the host agent of a running instance over its control socket (ha.sock). */
#ifndef LIMA_CLI_HACLIENT_H
#define LIMA_CLI_HACLIENT_H

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

struct hac_answer {
	int status; /* HTTP's */
	struct buf body;
};
#define HAC_ANSWER_INIT { 0, BUF_INIT(PATH_HA_ANSWER_MAX) }

/* One request; body may be NULL. ERR_TIMEOUT when the whole took longer than ms (-1: no limit); ERR_NOTFOUND when
 * nobody listens. A status other than 2xx is an error with the answer's message. a->body is the caller's to free. */
int hac_request(const char *dir, const char *method, const char *path, const char *body, int ms, struct hac_answer *a,
	       struct err *e);

/* After a failed request: says in e why, in terms of the instance. Returns -1. */
int hac_not_running(const struct inst *i, struct err *e);
/* Of an INST_ORPHAN: what that means, and what helps. Returns -1. */
int hac_orphan(const struct inst *i, struct err *e);

/* Asks for the raw stream behind POST /v1/exec; the blocking descriptor is the caller's. Bytes of the stream that
 * arrived with the answer are in early. */
int hac_exec(const char *dir, struct buf *early, struct err *e);

/* Event lines from now on, the newest one about the state first; otherwise the same. */
int hac_events(const char *dir, struct buf *early, struct err *e);

#endif
