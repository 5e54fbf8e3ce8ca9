#include "limactl-c/hostagent/docker_watch.h"

#include <stdlib.h>
#include <string.h>

#include "lib/agentproto.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/http.h"

/* HTTP/1.0: an event is a line, the answer ends with the connection. The filter is JSON, percent-encoded where it must be:
 * {"type":["container"],"event":["die","pause"]} */
#define REQUEST(filter) "GET /events?filters=%7B" filter "%7D HTTP/1.0\r\nHost: docker\r\nUser-Agent: limactl-c\r\n\r\n"
static const char ends_request[] = REQUEST("%22type%22:%5B%22container%22%5D,%22event%22:%5B%22die%22,%22pause%22%5D");
/* All but a container's exec_…, which health checks are, and which change nothing by themselves. */
static const char all_request[] = REQUEST(
	"%22event%22:%5B%22create%22,%22start%22,%22die%22,%22oom%22,%22destroy%22,%22pause%22,%22unpause%22,%22rename%22,"
	"%22update%22,%22health_status%22,%22pull%22,%22tag%22,%22untag%22,%22delete%22,%22import%22,%22load%22,%22connect%22,"
	"%22disconnect%22,%22remove%22,%22mount%22,%22unmount%22,%22prune%22,%22reload%22%5D");

enum { HEAD_START = 16, ANSWER_MS = 2000 };

struct docker_watch {
	struct stream st; /* first */
	struct guest *guest;
	const struct docker_watch_ops *ops;
	void *ctx;
	const char *question;
	uint8_t request[AP_PATH_MAX + 32];
	size_t request_len;
	bool active, begun;
	struct deadline *end; /* set until it has begun */
	char head[HEAD_START]; /* of the answer */
	size_t head_len;
	unsigned ends; /* of the four bytes that end its head, how many have come */
};

static void over(struct docker_watch *w)
{
	w->active = false;
	deadline_stop(w->end);
	w->ops->ended(w->ctx);
}

static void give_up(struct docker_watch *w)
{
	guest_abort(&w->st, MUX_RESET_ABORT);
	over(w);
}

/* Takes the answer's head; how many bytes were of it. */
static size_t take_head(struct docker_watch *w, const uint8_t *p, size_t n)
{
	static const char end[] = "\r\n\r\n";
	size_t i;

	for (i = 0; i < n && end[w->ends]; i++) {
		if (w->head_len < sizeof(w->head))
			w->head[w->head_len++] = (char)p[i];
		w->ends = (char)p[i] == end[w->ends] ? w->ends + 1 : p[i] == '\r';
	}
	return i;
}

static void on_opened(struct stream *st)
{
	const struct docker_watch *w = (struct docker_watch *)st;

	mux_write(st->mux, w->question, strlen(w->question)); /* a new stream has room for it */
}

/* What has changed is asked for anew, so that it did is all that is read. */
static void on_readable(struct stream *st)
{
	struct docker_watch *w = (struct docker_watch *)st;
	bool event = false, began = false;
	const uint8_t *p;
	size_t n;

	while ((p = mux_peek(st->mux, &n)) && n) {
		size_t head = w->begun ? 0 : take_head(w, p, n);

		event |= n > head;
		mux_consume(st->mux, n);
		if (!w->begun && w->ends == 4)
			w->begun = began = true;
	}
	if ((began && http_status(w->head, w->head_len) != 200) || mux_at_end(st->mux)) {
		give_up(w);
		return;
	}
	if (began) {
		deadline_stop(w->end);
		w->ops->begun(w->ctx);
	}
	if (event)
		w->ops->changed(w->ctx);
}

static void on_reset(struct stream *st, enum mux_reset_code code)
{
	(void)code;
	over((struct docker_watch *)st);
}

static void on_closed(struct stream *st)
{
	over((struct docker_watch *)st);
}

static const struct stream_ops ops_of_stream = {
	.opened = on_opened,
	.readable = on_readable,
	.reset = on_reset,
	.closed = on_closed,
};

static void on_deadline(void *ctx)
{
	give_up(ctx);
}

void docker_watch_all(struct docker_watch *w)
{
	w->question = all_request;
}

void docker_watch_start(struct docker_watch *w)
{
	w->active = true;
	w->begun = false;
	w->head_len = w->ends = 0;
	deadline_in(w->end, ANSWER_MS);
	w->st = (struct stream){ .ops = &ops_of_stream };
	guest_open(w->guest, &w->st, w->request, w->request_len);
}

bool docker_watch_is_active(const struct docker_watch *w)
{
	return w->active;
}

struct docker_watch *docker_watch_new(struct loop *l, struct guest *g, const char *socket, const struct docker_watch_ops *ops,
				      void *ctx)
{
	struct docker_watch *w = xcalloc(1, sizeof(*w));
	struct ap_open o = fwd_open_path(socket);
	ssize_t n = ap_open_pack(&o, w->request, sizeof(w->request));

	if (n < 0)
		abort(); /* a listener for it is there, or the start has failed */
	w->request_len = (size_t)n;
	w->guest = g;
	w->question = ends_request;
	w->end = deadline_new(l, on_deadline, w);
	w->ops = ops;
	w->ctx = ctx;
	return w;
}

void docker_watch_free(struct docker_watch *w)
{
	if (!w)
		return;
	if (w->active)
		guest_abort(&w->st, MUX_RESET_ABORT);
	deadline_free(w->end);
	free(w);
}
