#include "limactl-c/driver/qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"

enum { READ_SIZE = 64 * 1024 };

struct qmp {
	int fd;
	uint64_t last_id;
	struct buf in, out;
	size_t scanned;   /* bytes of in that hold no newline */
	int pass;         /* descriptor to travel with the byte at pass_at of out, -1 = none */
	size_t pass_at;
	struct jx *line;  /* the message handed out last */
};

struct qmp *qmp_new(int fd)
{
	struct qmp *q = xcalloc(1, sizeof(*q));

	*q = (struct qmp){ .fd = fd,
			   .pass = -1,
			   .in = BUF_INIT(QMP_LINE_MAX + READ_SIZE),
			   .out = BUF_INIT(QMP_QUEUE_MAX) };
	return q;
}

void qmp_free(struct qmp *q)
{
	if (!q)
		return;
	cleanup_closep(&q->fd);
	cleanup_closep(&q->pass);
	buf_free(&q->in);
	buf_free(&q->out);
	jx_free(q->line);
	free(q);
}

int qmp_fd(const struct qmp *q)
{
	return q->fd;
}

/* --- sending --- */

uint64_t qmp_send(struct qmp *q, const char *command, struct jx *args, int pass)
{
	auto_jx *o = jx_new_object();
	auto_free char *text = NULL;
	size_t at = q->out.len;

	jx_set_string(o, "execute", command);
	jx_set_int(o, "id", (int64_t)(q->last_id + 1));
	if (args)
		jx_set(o, "arguments", args);
	text = jx_dump(o);
	/* One descriptor at a time is enough: commands that carry one are answered before the next is sent. */
	if ((pass >= 0 && q->pass >= 0) || buf_addf(&q->out, "%s\n", text) < 0)
		return 0;
	if (pass >= 0) {
		q->pass = fcntl(pass, F_DUPFD_CLOEXEC, 3);
		q->pass_at = at;
		if (q->pass < 0) {
			q->out.data[q->out.len = at] = '\0';
			return 0;
		}
	}
	return ++q->last_id;
}

bool qmp_has_output(const struct qmp *q)
{
	return q->out.len > 0;
}

int qmp_flush(struct qmp *q, struct err *e)
{
	while (q->out.len) {
		/* The descriptor goes with the first byte of its command. */
		bool here = q->pass >= 0 && q->pass_at == 0;
		size_t n = q->pass >= 0 && !here ? q->pass_at : q->out.len;
		ssize_t k = sock_send_fds(q->fd, q->out.data, n, &q->pass, here ? 1 : 0);

		if (k < 0 && errno == EAGAIN)
			return 0;
		if (k < 0)
			return err_errno(e, "QMP");
		if (here) {
			close(q->pass);
			q->pass = -1;
		} else if (q->pass >= 0) {
			q->pass_at -= (size_t)k;
		}
		buf_drop_front(&q->out, (size_t)k);
	}
	return 0;
}

/* --- receiving --- */

int qmp_feed(struct qmp *q, const void *p, size_t n)
{
	return buf_add(&q->in, p, n);
}

int qmp_fill(struct qmp *q, struct err *e)
{
	char *to = buf_reserve(&q->in, READ_SIZE);
	ssize_t k;

	e->kind = ERR_NONE;
	if (!to)
		return 0; /* the owner takes messages first */
	do
		k = read(q->fd, to, READ_SIZE);
	while (k < 0 && errno == EINTR);
	if (k < 0 && errno == EAGAIN)
		return 0;
	if (k < 0 && errno != ECONNRESET)
		return err_errno(e, "QMP");
	if (k <= 0)
		return -1;
	buf_commit(&q->in, (size_t)k);
	return 1;
}

static int as_event(const struct jx *o, struct qmp_msg *out)
{
	out->kind = QMP_EVENT;
	out->name = jx_as_string(jx_member(o, "event"));
	out->data = jx_member(o, "data");
	return out->name ? 0 : -1;
}

static int as_reply(const struct jx *o, struct qmp_msg *out)
{
	const struct jx *error = jx_member(o, "error");
	int64_t id;

	out->kind = QMP_REPLY;
	out->data = jx_member(o, "return");
	if (jx_as_int(jx_member(o, "id"), &id) && id > 0)
		out->id = (uint64_t)id;
	if (error)
		out->error = jx_string_or(error, "desc", "QEMU gives no reason");
	return out->data || error ? 0 : -1;
}

static int interpret(const struct jx *o, struct qmp_msg *out)
{
	*out = (struct qmp_msg){ 0 };
	if (!jx_is_object(o))
		return -1;
	if (jx_member(o, "event"))
		return as_event(o, out);
	if (jx_member(o, "QMP")) {
		out->kind = QMP_GREETING;
		return 0;
	}
	return as_reply(o, out);
}

int qmp_next(struct qmp *q, struct qmp_msg *out, struct err *e)
{
	char *end = q->in.len > q->scanned ?
			    memchr(q->in.data + q->scanned, '\n', q->in.len - q->scanned) : NULL;
	size_t n;

	jx_free(q->line);
	q->line = NULL;
	if (!end) {
		q->scanned = q->in.len;
		if (q->in.len > QMP_LINE_MAX)
			return err_set(e, ERR_INVALID, "QMP: a line has more than %d bytes", QMP_LINE_MAX);
		return 0;
	}
	n = (size_t)(end - q->in.data);
	q->line = jx_parse(q->in.data, n, "QMP", e);
	buf_drop_front(&q->in, n + 1);
	q->scanned = 0;
	if (!q->line)
		return -1;
	if (interpret(q->line, out) < 0)
		return err_set(e, ERR_INVALID, "QMP: neither greeting, reply nor event");
	return 1;
}
