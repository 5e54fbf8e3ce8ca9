#include "limactl-c/hostagent/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/list.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/acceptor.h"
#include "limactl-c/hostagent/http.h"
#include "limactl-c/store/paths.h"

enum {
	REQUESTS_MAX = 128, /* at once; event readers and commands in the guest do not count */
	READ_SIZE = 4096,
};

struct api {
	struct loop *loop;
	struct ha *ha;
	char *path;
	struct acceptor *acceptor; /* NULL once it is closed */
	struct node list; /* the oldest first */
	size_t requests;
};

struct request {
	struct ha_waiter waiter; /* first */
	struct api *api;
	struct node in_list;
	int fd;
	struct watch *watch;
	struct buf in, out;
};

struct handler {
	const char *method, *path;
	void (*fn)(struct request *rq, const struct http_request *h, const struct handler *row);
	enum ha_command command;
};

static void request_free(struct request *rq)
{
	struct api *a = rq->api;

	watch_free(rq->watch);
	if (rq->fd >= 0)
		close(rq->fd);
	buf_free(&rq->in);
	buf_free(&rq->out);
	list_del(&rq->in_list);
	a->requests--;
	free(rq);
}

/* Takes the connection out of the request. */
static int take_fd(struct request *rq)
{
	int fd = rq->fd;

	watch_free(rq->watch);
	rq->watch = NULL;
	rq->fd = -1;
	return fd;
}

/* Writes the answer; frees rq when that is done. */
static void flush(struct request *rq)
{
	while (rq->out.len) {
		ssize_t k = send(rq->fd, rq->out.data, rq->out.len, MSG_NOSIGNAL);

		if (k >= 0) {
			buf_drop_front(&rq->out, (size_t)k);
		} else if (errno == EAGAIN) {
			watch_set(rq->watch, WATCH_WRITE);
			return;
		} else if (errno != EINTR) {
			break;
		}
	}
	request_free(rq);
}

static void answer_json(struct request *rq, int status, const struct jx *v)
{
	auto_free char *text = jx_dump(v);

	if (http_answer(&rq->out, status, text) < 0)
		abort(); /* the largest status, of all ports, is far below PATH_HA_ANSWER_MAX */
	flush(rq);
}

static void answer_error(struct request *rq, int status, const char *why)
{
	auto_jx *o = jx_new_object();

	jx_set_string(o, "message", why);
	answer_json(rq, status, o);
}

/* --- handlers; each answers or frees rq, now or later --- */

static void get_info(struct request *rq, const struct http_request *h, const struct handler *row)
{
	auto_jx *o = ha_info(rq->api->ha);

	(void)h;
	(void)row;
	answer_json(rq, 200, o);
}

static void get_status(struct request *rq, const struct http_request *h, const struct handler *row)
{
	auto_jx *o = ha_status(rq->api->ha);

	(void)h;
	(void)row;
	answer_json(rq, 200, o);
}

static void get_forwards(struct request *rq, const struct http_request *h, const struct handler *row)
{
	auto_jx *o = ha_forwards(rq->api->ha);

	(void)h;
	(void)row;
	answer_json(rq, 200, o);
}

/* The head is small and the connection fresh, so it is written in one go or the reader is gone. */
static int send_head(struct request *rq, int status, const char *extra)
{
	if (http_head(&rq->out, status, extra) < 0)
		abort();
	return send(rq->fd, rq->out.data, rq->out.len, MSG_NOSIGNAL) == (ssize_t)rq->out.len ? 0 : -1;
}

static void get_events(struct request *rq, const struct http_request *h, const struct handler *row)
{
	struct ha *ha = rq->api->ha;

	(void)h;
	(void)row;
	if (send_head(rq, 200, "Content-Type: application/x-ndjson\r\nConnection: close\r\n") == 0)
		ha_subscribe(ha, take_fd(rq));
	request_free(rq);
}

static void post_exec(struct request *rq, const struct http_request *h, const struct handler *row)
{
	struct ha *ha = rq->api->ha;
	int status = 0;
	const char *why = ha_exec_refusal(ha, &status);

	(void)row;
	if (why) {
		answer_error(rq, status, why);
		return;
	}
	if (send_head(rq, 101, "Connection: Upgrade\r\nUpgrade: execproto\r\n") == 0)
		ha_exec(ha, take_fd(rq), rq->in.data + h->used, rq->in.len - h->used);
	request_free(rq);
}

static void post_tunnel(struct request *rq, const struct http_request *h, const struct handler *row)
{
	struct ha *ha = rq->api->ha;
	struct err e = { 0 };
	auto_jx *asked = h->body_len ? jx_parse(h->body, h->body_len, "the request's body", &e) : jx_new_object();
	auto_jx *o = jx_new_object();
	int status = 0;
	const char *why = ha_exec_refusal(ha, &status);
	int64_t port = asked ? jx_int_or(asked, "port", 0) : -1;
	int got;

	(void)row;
	if (why) {
		answer_error(rq, status, why);
	} else if (port < 0 || port > UINT16_MAX) {
		answer_error(rq, 400, asked ? "there is no such port" : e.msg);
	} else if ((got = ha_tunnel(ha, (uint16_t)port, &e)) < 0) {
		answer_error(rq, 409, e.msg);
	} else {
		jx_set_string(o, "type", "socks");
		jx_set_int(o, "port", got);
		answer_json(rq, 200, o);
	}
}

static void on_command_done(struct ha_waiter *w, int status, const char *text)
{
	struct request *rq = (struct request *)w;
	auto_jx *o = jx_new_object();

	jx_set_string(o, status == 200 ? "state" : "message", text);
	answer_json(rq, status, o);
}

static void post_command(struct request *rq, const struct http_request *h, const struct handler *row)
{
	struct err e = { 0 };
	auto_jx *o = h->body_len ? jx_parse(h->body, h->body_len, "the request's body", &e) : jx_new_object();
	struct ha_order order;

	if (!o) {
		answer_error(rq, 400, e.msg);
		return;
	}
	watch_set(rq->watch, 0);
	rq->waiter.done = on_command_done;
	order = (struct ha_order){ row->command, jx_bool_or(o, "force", false), jx_bool_or(o, "untilUsed", false),
				   jx_string_or(o, "tag", "") };
	ha_command(rq->api->ha, &order, &rq->waiter);
}

static const struct handler handlers[] = {
	{ "GET", "/v1/info", get_info, 0 },
	{ "GET", "/v1/status", get_status, 0 },
	{ "GET", "/v1/forwards", get_forwards, 0 },
	{ "GET", "/v1/events", get_events, 0 },
	{ "POST", "/v1/exec", post_exec, 0 },
	{ "POST", "/v1/tunnel", post_tunnel, 0 },
	{ "POST", "/v1/pause", post_command, HA_PAUSE },
	{ "POST", "/v1/resume", post_command, HA_RESUME },
	{ "POST", "/v1/save", post_command, HA_SAVE },
	{ "POST", "/v1/restore", post_command, HA_RESTORE },
	{ "POST", "/v1/wake", post_command, HA_WAKE },
	{ "POST", "/v1/snapshot/create", post_command, HA_SNAPSHOT_CREATE },
	{ "POST", "/v1/snapshot/apply", post_command, HA_SNAPSHOT_APPLY },
	{ "POST", "/v1/snapshot/delete", post_command, HA_SNAPSHOT_DELETE },
	{ "POST", "/v1/stop", post_command, HA_STOP },
};

static void dispatch(struct request *rq, const struct http_request *h)
{
	bool path_known = false;

	for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++) {
		if (strcmp(handlers[i].path, h->path))
			continue;
		path_known = true;
		if (!strcmp(handlers[i].method, h->method)) {
			handlers[i].fn(rq, h, &handlers[i]);
			return;
		}
	}
	if (path_known)
		answer_error(rq, 405, "this path does not take this method");
	else
		answer_error(rq, 404, "there is no such path");
}

/* --- connections --- */

static void read_request(struct request *rq)
{
	struct http_request h;
	char *to = buf_reserve(&rq->in, READ_SIZE);
	ssize_t k;

	if (!to) {
		answer_error(rq, 413, "the request is too large");
		return;
	}
	do
		k = read(rq->fd, to, READ_SIZE);
	while (k < 0 && errno == EINTR);
	if (k < 0 && errno == EAGAIN)
		return;
	if (k <= 0) {
		request_free(rq);
		return;
	}
	buf_commit(&rq->in, (size_t)k);
	switch (http_parse(rq->in.data, rq->in.len, &h)) {
	case 0:
		return;
	case 1:
		dispatch(rq, &h);
		return;
	default:
		answer_error(rq, h.status, h.why);
	}
}

static void on_request(void *ctx, unsigned events)
{
	struct request *rq = ctx;

	if (rq->out.len)
		flush(rq);
	else if (events & (WATCH_READ | WATCH_ERROR))
		read_request(rq);
}

/* Makes room by dropping the connection that has been silent, or not read its answer, for longest: else a few programs
 * that hang would keep out everybody, even who wants to stop the instance. */
static void drop_oldest(struct api *a)
{
	struct node *n = a->list.next;

	while (n != &a->list && list_item(n, struct request, in_list)->waiter.done)
		n = n->next;
	if (n != &a->list)
		request_free(list_item(n, struct request, in_list));
}

static void on_connection(void *ctx, int fd)
{
	struct api *a = ctx;
	struct request *rq;

	if (a->requests >= REQUESTS_MAX)
		drop_oldest(a);
	rq = xcalloc(1, sizeof(*rq));
	rq->api = a;
	rq->fd = fd;
	rq->in.max = HTTP_HEAD_MAX + HTTP_BODY_MAX + READ_SIZE;
	rq->out.max = PATH_HA_ANSWER_MAX;
	list_add(&a->list, &rq->in_list);
	a->requests++;
	rq->watch = watch_new(a->loop, fd, on_request, rq);
	if (!rq->watch)
		request_free(rq);
	else if (a->requests > REQUESTS_MAX)
		answer_error(rq, 503, "too many requests at once");
	else
		watch_set(rq->watch, WATCH_READ);
}

struct api *api_new(struct loop *l, struct ha *ha, const char *path, struct err *e)
{
	int fd = fs_listen_unix(path, 0600, e);
	struct api *a;

	if (fd < 0)
		return NULL;
	a = xcalloc(1, sizeof(*a));
	*a = (struct api){ .loop = l, .ha = ha, .path = xstrdup(path) };
	list_init(&a->list);
	a->acceptor = acceptor_new(l, fd, on_connection, a);
	acceptor_start(a->acceptor);
	return a;
}

void api_close(struct api *a)
{
	if (!a || !a->acceptor)
		return;
	acceptor_free(a->acceptor);
	a->acceptor = NULL;
	unlink(a->path);
}

void api_free(struct api *a)
{
	if (!a)
		return;
	api_close(a);
	while (!list_empty(&a->list))
		request_free(list_item(a->list.next, struct request, in_list));
	free(a->path);
	free(a);
}
