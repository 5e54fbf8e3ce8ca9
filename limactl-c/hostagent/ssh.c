#include "limactl-c/hostagent/ssh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agentproto.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/listen.h"
#include "limactl-c/hostagent/retry.h"
#include "limactl-c/store/paths.h"

enum {
	GUEST_PORT = 22,
	FILE_MAX = 64 * 1024,
	TURN_MS = 1000,
	WRITES_A_TURN = 4, /* of the guest's keys, which tells them as often as it likes */
};

struct ssh {
	struct loop *loop;
	struct conns *conns;
	const struct plan *plan;
	struct tally *tally;
	struct listener *ln;
	struct retry *retry;
	int errnum; /* why it does not listen */
	size_t keys;
	struct ap_host_keys *told; /* and not in the file yet; NULL: nothing is */
	struct deadline *turn_end; /* set while something waits for it */
	int64_t turn_at;           /* clock_ms() when the turn began */
	unsigned writes;           /* in this turn */
};

static void open_port(struct ssh *s)
{
	const struct ap_port host = fwd_loopback(s->plan->ssh_port), server = fwd_loopback(GUEST_PORT);
	const struct ap_open guest = fwd_open(&server);
	char text[LISTEN_REASON_MAX];
	int before = s->errnum;
	struct err e = { 0 };

	s->ln = listen_tcp(s->loop, s->conns, s->tally, &host, &guest, &e);
	s->errnum = s->ln ? 0 : e.errnum;
	if (s->ln)
		listen_kind(s->ln, CONN_LOGIN);
	if (s->errnum && s->errnum != before)
		log_warn("no ssh on 127.0.0.1:%u: %s", host.port, listen_reason(s->errnum, host.port, text));
	retry_arm(s->retry, s->errnum == EADDRINUSE, s->errnum == EACCES);
}

static void on_retry(void *ctx)
{
	open_port(ctx);
}

void ssh_start(struct ssh *s)
{
	/* Where it has no agent the machine leads the port to its server. */
	if (s->plan->ssh_port && !s->plan->ssh_key && !s->ln)
		open_port(s);
}

/* Written only when it says something else. */
static int write_file(const struct ssh *s, const struct ap_host_keys *v, struct err *e)
{
	auto_free char *path = path_in(s->plan->dir, PATH_KNOWN_HOSTS);
	auto_buf text = BUF_INIT(FILE_MAX), have = BUF_INIT(FILE_MAX);
	struct err none;

	for (size_t i = 0; i < v->count; i++)
		if (buf_addf(&text, "%s %s\n", s->plan->hostname, v->key[i]) < 0)
			return err_set(e, ERR_INVALID, "the guest has too many host keys");
	if (io_read_file(path, &have, &none) == 0 && buf_same(&text, &have))
		return 0;
	return fs_write_atomic(path, text.data ? text.data : "", text.len, 0600, e);
}

static void write_told(void *ctx)
{
	struct ssh *s = ctx;
	auto_free struct ap_host_keys *v = steal(&s->told);
	int64_t now = clock_ms();
	struct err e = { 0 };

	deadline_stop(s->turn_end);
	if (!v || !s->plan->ssh_port)
		return;
	if (now - s->turn_at >= TURN_MS) {
		s->turn_at = now;
		s->writes = 0;
	}
	s->writes++;
	if (write_file(s, v, &e) < 0)
		log_error("ssh: %s", e.msg);
}

/* The latest is what counts, so what is told between two turns is written once. */
int ssh_message(struct ssh *s, const uint8_t *body, size_t len)
{
	struct ap_host_keys *v = xcalloc(1, sizeof(*v));

	if (ap_host_keys_unpack(v, body, len) < 0) {
		free(v);
		return -1;
	}
	s->keys = v->count;
	free(s->told);
	s->told = v;
	if (s->writes < WRITES_A_TURN || clock_ms() - s->turn_at >= TURN_MS)
		write_told(s);
	else
		deadline_at(s->turn_end, s->turn_at + TURN_MS);
	return 0;
}

void ssh_close(struct ssh *s)
{
	write_told(s);
	retry_arm(s->retry, false, false);
	listen_free(s->ln);
	s->ln = NULL;
	s->errnum = 0;
}

struct jx *ssh_json(const struct ssh *s)
{
	char text[LISTEN_REASON_MAX];
	auto_free char *address = xasprintf("127.0.0.1:%u", s->plan->ssh_port);
	struct jx *o = jx_new_object();

	jx_set_string(o, "address", address);
	jx_set_int(o, "hostKeys", (int64_t)s->keys);
	if (s->errnum)
		jx_set_string(o, "error", listen_reason(s->errnum, s->plan->ssh_port, text));
	return o;
}

struct ssh *ssh_new(struct loop *l, struct conns *cs, const struct plan *plan)
{
	struct ssh *s = xcalloc(1, sizeof(*s));

	s->loop = l;
	s->conns = cs;
	s->plan = plan;
	s->tally = tally_new();
	s->retry = retry_new(l, on_retry, s);
	s->turn_end = deadline_new(l, write_told, s);
	return s;
}

void ssh_free(struct ssh *s)
{
	if (!s)
		return;
	write_told(s);
	deadline_free(s->turn_end);
	listen_free(s->ln);
	retry_free(s->retry);
	tally_drop(s->tally);
	free(s);
}
