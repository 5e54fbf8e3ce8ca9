#include "limactl-c/cli/haclient.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"

enum { HEAD_MAX = 16 * 1024, EXEC_ANSWER_MS = 2500 };

/* A conversation with a deadline. */
struct talk {
	int fd;
	int64_t deadline; /* ms on CLOCK_MONOTONIC, -1 = none */
};

static int wait_for(const struct talk *t, short events, struct err *e)
{
	for (;;) {
		int64_t left = t->deadline < 0 ? -1 : t->deadline - clock_ms();
		struct pollfd p = { .fd = t->fd, .events = events };
		int n;

		if (t->deadline >= 0 && left <= 0)
			return err_set(e, ERR_TIMEOUT, "the host agent does not answer");
		n = poll(&p, 1, (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_errno(e, "poll");
	}
}

static int talk_open(struct talk *t, const char *dir, int ms, struct err *e)
{
	auto_free char *path = path_in(dir, PATH_HA_SOCK);
	struct sockaddr_un sa;
	bool pending;

	t->deadline = ms < 0 ? -1 : clock_ms() + ms;
	if (sock_unix_addr(path, &sa, e) < 0)
		return -1;
	/* Non-blocking: a stopped host agent with a full backlog must not hold us. */
	t->fd = sock_start_connect((struct sockaddr *)&sa, sizeof(sa), &pending, e);
	if (t->fd < 0 && (e->errnum == ENOENT || e->errnum == ECONNREFUSED))
		return err_set(e, ERR_NOTFOUND, "the host agent is not running");
	return t->fd < 0 ? -1 : 0;
}

static int talk_send(const struct talk *t, const char *p, size_t n, struct err *e)
{
	while (n) {
		ssize_t k;

		if (wait_for(t, POLLOUT, e) < 0)
			return -1;
		k = send(t->fd, p, n, MSG_NOSIGNAL);
		if (k < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (k < 0)
			return err_errno(e, "send to the host agent");
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

/* Appends what arrives; 0 at the end of the stream. */
static ssize_t talk_receive(const struct talk *t, struct buf *b, struct err *e)
{
	char chunk[16384];
	ssize_t k;

	do {
		if (wait_for(t, POLLIN, e) < 0)
			return -1;
		k = recv(t->fd, chunk, sizeof(chunk), 0);
	} while (k < 0 && (errno == EINTR || errno == EAGAIN));
	if (k < 0)
		return err_errno(e, "receive from the host agent");
	if (buf_add(b, chunk, (size_t)k) < 0)
		return err_set(e, ERR_INVALID, "the host agent's answer is too long");
	return k;
}

static int send_request(const struct talk *t, const char *method, const char *path, const char *extra, const char *body,
			struct err *e)
{
	auto_free char *text = xasprintf("%s %s HTTP/1.1\r\nHost: lima\r\n%sContent-Length: %zu\r\n\r\n%s", method, path,
					 extra, body ? strlen(body) : 0, body ? body : "");

	return talk_send(t, text, strlen(text), e);
}

/* Reads until the end of the head; returns its length with the empty line, and the status. */
static ssize_t read_head(const struct talk *t, struct buf *b, int *status, struct err *e)
{
	const char *end;

	while (!b->data || !(end = memmem(b->data, b->len, "\r\n\r\n", 4))) {
		ssize_t k = b->len > HEAD_MAX ? 0 : talk_receive(t, b, e);

		if (k < 0)
			return -1;
		if (k == 0)
			return err_set(e, ERR_INVALID, "the host agent closed the connection without an answer");
	}
	if (b->len < 12 || strncmp(b->data, "HTTP/1.", 7) || (*status = atoi(b->data + 9)) < 100)
		return err_set(e, ERR_INVALID, "the host agent's answer is no HTTP");
	return end - b->data + 4;
}

/* Value of Content-Length in the head, -1 when there is none: the body then ends with the connection. */
static long body_length(const char *head, size_t len)
{
	static const char name[] = "\r\ncontent-length:";

	for (const char *p = head; p + sizeof(name) < head + len; p++)
		if (!strncasecmp(p, name, sizeof(name) - 1))
			return strtol(p + sizeof(name) - 1, NULL, 10);
	return -1;
}

/* The message an error answer carries. */
static int refused(const struct hac_answer *a, struct err *e)
{
	struct err ignored = { 0 };
	auto_jx *o = a->body.data ? jx_parse(a->body.data, a->body.len, "answer", &ignored) : NULL;

	return err_set(e, ERR_STATE, "%s",
		       jx_string_or(o, "message", a->status == 404 ? "the host agent does not know this request"
								   : "the host agent refused"));
}

static int read_answer(const struct talk *t, struct hac_answer *a, struct err *e)
{
	ssize_t head = read_head(t, &a->body, &a->status, e), k;
	long want;

	if (head < 0)
		return -1;
	want = body_length(a->body.data, (size_t)head);
	buf_drop_front(&a->body, (size_t)head);
	while (want < 0 || a->body.len < (size_t)want) {
		k = talk_receive(t, &a->body, e);
		if (k < 0)
			return -1;
		if (k == 0)
			break;
	}
	return a->status / 100 == 2 ? 0 : refused(a, e);
}

int hac_request(const char *dir, const char *method, const char *path, const char *body, int ms, struct hac_answer *a,
	       struct err *e)
{
	struct talk t = { .fd = -1 };
	int rc = -1;

	if (talk_open(&t, dir, ms, e) == 0 && send_request(&t, method, path, "", body, e) == 0)
		rc = read_answer(&t, a, e);
	if (t.fd >= 0)
		close(t.fd);
	return rc;
}

/* Sends a request whose answer, with that status, is a stream. */
static int open_stream(const char *dir, const char *method, const char *path, const char *extra, int status,
		       struct buf *early, struct err *e)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct talk t = { .fd = -1 };
	ssize_t head = -1;

	/* The host agent answers at once, whether the machine sleeps or not. */
	if (talk_open(&t, dir, EXEC_ANSWER_MS, e) == 0 &&
	    send_request(&t, method, path, extra, NULL, e) == 0)
		head = read_head(&t, early, &a.status, e);
	if (head >= 0 && a.status != status) {
		buf_drop_front(early, (size_t)head);
		buf_add(&a.body, early->data, early->len);
		head = refused(&a, e);
		buf_free(&a.body);
	}
	if (head < 0 || io_set_nonblock(t.fd, false) < 0) {
		if (t.fd >= 0)
			close(t.fd);
		return -1;
	}
	buf_drop_front(early, (size_t)head);
	return t.fd;
}

int hac_exec(const char *dir, struct buf *early, struct err *e)
{
	return open_stream(dir, "POST", "/v1/exec", "Connection: Upgrade\r\nUpgrade: execproto\r\n", 101, early, e);
}

int hac_events(const char *dir, struct buf *early, struct err *e)
{
	return open_stream(dir, "GET", "/v1/events", "", 200, early, e);
}

int hac_orphan(const struct inst *i, struct err *e)
{
	return err_set(e, ERR_STATE, "the machine of instance \"%s\" runs without its host agent: `limactl-c start %s` takes it over",
		       i->name, i->name);
}

int hac_not_running(const struct inst *i, struct err *e)
{
	switch (inst_status(i)) {
	case INST_RUNNING:
		return err_wrap(e, "instance \"%s\"", i->name);
	case INST_ORPHAN:
		return hac_orphan(i, e);
	default:
		return err_set(e, ERR_STATE, "instance \"%s\" is stopped, run `limactl-c start %s` to start it", i->name,
			       i->name);
	}
}
