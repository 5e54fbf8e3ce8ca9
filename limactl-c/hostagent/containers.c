#include "limactl-c/hostagent/containers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/dns_message.h"
#include "lib/log.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/http.h"

enum { ANSWER_MS = 2000 };

/* HTTP/1.0: the answer is not sent in chunks and ends with the connection. */
static const char ask_request[] = "GET /containers/json HTTP/1.0\r\nHost: docker\r\nUser-Agent: limactl-c\r\n\r\n";

struct containers {
	struct stream st; /* first */
	struct guest *guest;
	void (*answered)(void *ctx, bool ok);
	void *ctx;
	uint8_t request[AP_PATH_MAX + 32];
	size_t request_len; /* 0: the path does not fit */
	struct deadline *end;
	struct buf answer;
	bool asking, known, complained;
	struct container_list list;
	int64_t listed_at; /* clock_ms() */
};

/* --- a list --- */

/* As Docker makes names, and as a name of the DNS, or nobody can ask for it: nor for one with a dot at its end, which is
 * asked for as the name without. */
static bool is_name(const char *s)
{
	enum { NAME_MAX_ = 128 };
	uint8_t wire[DNS_NAME_MAX];
	size_t n = strlen(s);

	return n <= NAME_MAX_ && dns_name_of_host(s) && s[n - 1] != '.' && dns_name_pack(s, wire);
}

/* Its own name begins with the only slash; others are links of other containers. */
static const char *own_name(const struct jx *names)
{
	for (size_t i = 0; i < jx_count(names); i++) {
		const char *s = jx_as_string(jx_at(names, i));

		if (s && *s == '/' && is_name(s + 1))
			return s + 1;
	}
	return NULL;
}

static void take_ports(struct container *c, const struct jx *ports)
{
	size_t n = jx_count(ports);

	n = n < CONTAINER_PORTS_MAX ? n : CONTAINER_PORTS_MAX;
	c->port = xcalloc(n, sizeof(*c->port));
	for (size_t i = 0; i < n; i++) {
		int64_t port = jx_int_or(jx_at(ports, i), "PublicPort", 0);

		if (port > 0 && port <= UINT16_MAX)
			c->port[c->ports++] = (uint16_t)port;
	}
}

/* One that is paused does nothing. */
static bool works(const struct jx *o)
{
	return strcmp(jx_string_or(jx_member(o, "Labels"), CONTAINER_IDLE_LABEL, ""), "ignore") != 0 &&
	       strcmp(jx_string_or(o, "State", ""), "paused") != 0;
}

int container_list_parse(struct container_list *list, const char *text, size_t len, struct err *e)
{
	auto_jx *v = jx_parse(text, len, "/containers/json", e);
	size_t n = jx_count(v);

	*list = (struct container_list){ 0 };
	if (!v)
		return -1;
	/* An object is what Docker answers an error with. */
	if (!jx_is_array(v))
		return err_set(e, ERR_INVALID, "/containers/json: not a list");
	for (size_t i = 0; i < n; i++)
		list->working += works(jx_at(v, i));
	n = n < CONTAINERS_MAX ? n : CONTAINERS_MAX;
	list->item = xcalloc(n, sizeof(*list->item));
	for (size_t i = 0; i < n; i++) {
		const struct jx *o = jx_at(v, i);
		const char *name = own_name(jx_member(o, "Names"));
		const char *service = jx_string_or(jx_member(o, "Labels"), "com.docker.compose.service", "");
		struct container *c = &list->item[list->count];

		if (!name)
			continue;
		list->count++;
		c->name = xstrdup(name);
		c->works = works(o);
		c->service = is_name(service) ? xstrdup(service) : NULL;
		take_ports(c, jx_member(o, "Ports"));
	}
	return 0;
}

void container_list_free(struct container_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->item[i].name);
		free(list->item[i].service);
		free(list->item[i].port);
	}
	free(list->item);
	*list = (struct container_list){ 0 };
}

const struct container *container_list_find(const struct container_list *list, const char *name)
{
	const struct container *found = NULL;
	size_t services = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct container *c = &list->item[i];

		if (!strcasecmp(c->name, name))
			return c;
		if (c->service && !strcasecmp(c->service, name)) {
			found = c;
			services++;
		}
	}
	return services == 1 ? found : NULL;
}

/* --- asking --- */

static void over(struct containers *c, bool ok)
{
	c->asking = false;
	deadline_stop(c->end);
	buf_free(&c->answer);
	c->answered(c->ctx, ok);
}

/* Says why once, until it works again. */
static void fail(struct containers *c, const char *why)
{
	guest_abort(&c->st, MUX_RESET_ABORT);
	if (!c->complained)
		log_warn("the guest's containers are not known: %s", why);
	c->complained = true;
	over(c, false);
}

static void take_answer(struct containers *c)
{
	const char *text = c->answer.data ? c->answer.data : "", *head = strstr(text, "\r\n\r\n");
	struct container_list list;
	struct err e = { 0 };

	if (!head || http_status(text, c->answer.len) != 200) {
		fail(c, "docker.sock gives no such list");
		return;
	}
	head += strlen("\r\n\r\n");
	if (container_list_parse(&list, head, c->answer.len - (size_t)(head - text), &e) < 0) {
		fail(c, e.msg);
		return;
	}
	guest_abort(&c->st, MUX_RESET_ABORT); /* all was said */
	container_list_free(&c->list);
	c->list = list;
	c->listed_at = clock_ms();
	c->known = true;
	c->complained = false;
	over(c, true);
}

static void on_opened(struct stream *st)
{
	mux_write(st->mux, ask_request, sizeof(ask_request) - 1); /* a new stream has room for it */
}

static void on_readable(struct stream *st)
{
	struct containers *c = (struct containers *)st;
	const uint8_t *bytes;
	size_t n;

	while ((bytes = mux_peek(st->mux, &n)) && n) {
		if (buf_add(&c->answer, bytes, n) < 0) {
			fail(c, "the list is too large");
			return;
		}
		mux_consume(st->mux, n);
	}
	if (mux_at_end(st->mux))
		take_answer(c);
}

static void on_reset(struct stream *st, enum mux_reset_code code)
{
	(void)code;
	fail((struct containers *)st, "docker.sock does not answer");
}

static void on_closed(struct stream *st)
{
	fail((struct containers *)st, "docker.sock does not answer");
}

static const struct stream_ops ops = {
	.opened = on_opened,
	.readable = on_readable,
	.reset = on_reset,
	.closed = on_closed,
};

static void on_deadline(void *ctx)
{
	fail(ctx, "docker.sock did not answer in time");
}

void containers_ask(struct containers *c)
{
	c->asking = true;
	deadline_in(c->end, ANSWER_MS);
	c->st = (struct stream){ .ops = &ops };
	guest_open(c->guest, &c->st, c->request, c->request_len);
}

bool containers_asking(const struct containers *c)
{
	return c->asking;
}

const struct container_list *containers_known(const struct containers *c, int64_t *age)
{
	*age = clock_ms() - c->listed_at;
	return c->known ? &c->list : NULL;
}

struct containers *containers_new(struct loop *l, struct guest *g, const char *socket, void (*answered)(void *ctx, bool ok),
				  void *ctx)
{
	struct containers *c = xcalloc(1, sizeof(*c));
	struct ap_open o = fwd_open_path(socket);
	ssize_t n;

	*c = (struct containers){ .guest = g, .answered = answered, .ctx = ctx, .answer = BUF_INIT(CONTAINERS_BYTES_MAX) };
	n = ap_open_pack(&o, c->request, sizeof(c->request));
	if (n < 0)
		abort(); /* a listener for it is there, or the start has failed */
	c->request_len = (size_t)n;
	c->end = deadline_new(l, on_deadline, c);
	return c;
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	if (c->asking)
		guest_abort(&c->st, MUX_RESET_ABORT);
	deadline_free(c->end);
	buf_free(&c->answer);
	container_list_free(&c->list);
	free(c);
}
