#include "limactl-c/hostagent/sockets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/listen.h"
#include "limactl-c/hostagent/retry.h"

struct slot {
	const struct plan_socket *plan;
	struct ap_port host, guest; /* of ends that are ports */
	struct tally *tally;
	struct listener *ln;
	int errnum; /* why a port is not open */
};

struct sockets {
	struct loop *loop;
	struct conns *conns;
	struct events *events;
	struct slot *slot;
	size_t count;
	bool open;
	struct retry *retry;
};

/* --- what is said of them --- */

static char *end_text(const char *path, const struct ap_port *port)
{
	char text[FWD_TEXT_MAX];

	if (path)
		return xstrdup(path);
	fwd_text(port, text);
	return xstrdup(text);
}

static const char *protocol(const struct slot *sl)
{
	return sl->plan->host_path ? "unix" : "tcp";
}

static const char *state_word(const struct slot *sl)
{
	return sl->ln || sl->plan->reverse ? "forwarding" : sl->errnum == EADDRINUSE ? "failed" : "not-forwarding";
}

static void tell(struct sockets *s, const struct slot *sl, const char *type, const char *error)
{
	auto_free char *host = end_text(sl->plan->host_path, &sl->host);
	auto_free char *guest = end_text(sl->plan->guest_path, &sl->guest);

	events_port(s->events, &(struct event_port){ .type = type, .protocol = protocol(sl), .guest = guest, .host = host,
						     .error = error, .tally = strcmp(type, "stopping") ? NULL : sl->tally });
	if (error)
		log_warn("not forwarding %s to %s: %s", guest, host, error);
	else
		log_info("%s %s to %s", strcmp(type, "stopping") ? "forwarding" : "stopping forwarding",
			 sl->plan->reverse ? host : guest, sl->plan->reverse ? guest : host);
}

void sockets_json(const struct sockets *s, struct jx *list, bool counted)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct slot *sl = &s->slot[i];
		auto_free char *host = end_text(sl->plan->host_path, &sl->host);
		auto_free char *guest = end_text(sl->plan->guest_path, &sl->guest);
		char text[LISTEN_REASON_MAX];
		struct event_port is = { .state = state_word(sl), .protocol = protocol(sl), .guest = guest, .host = host,
					 .reverse = sl->plan->reverse, .tally = counted ? sl->tally : NULL };

		if (!counted && sl->plan->host_path)
			continue;
		if (sl->errnum)
			is.error = listen_reason(sl->errnum, sl->host.port, text);
		jx_add(list, event_port_json(&is));
	}
}

/* --- listeners --- */

static struct ap_open request_of(const struct slot *sl)
{
	return sl->plan->guest_path ? fwd_open_path(sl->plan->guest_path) : fwd_open(&sl->guest);
}

/* first: it is said when it fails. */
static void open_port(struct sockets *s, struct slot *sl, bool first)
{
	struct ap_open o = request_of(sl);
	char text[LISTEN_REASON_MAX];
	struct err e = { 0 };

	sl->ln = listen_tcp(s->loop, s->conns, sl->tally, &sl->host, &o, &e);
	sl->errnum = sl->ln ? 0 : e.errnum;
	if (sl->ln)
		tell(s, sl, "forwarding", NULL);
	else if (first)
		tell(s, sl, state_word(sl), listen_reason(sl->errnum, sl->host.port, text));
}

static bool may_come(const struct slot *sl)
{
	return sl->errnum == EADDRINUSE || sl->errnum == EACCES;
}

static void arm_retry(struct sockets *s)
{
	bool busy = false, denied = false;

	for (size_t i = 0; i < s->count; i++) {
		busy |= s->slot[i].errnum == EADDRINUSE;
		denied |= s->slot[i].errnum == EACCES;
	}
	retry_arm(s->retry, busy, denied);
}

static void on_retry(void *ctx)
{
	struct sockets *s = ctx;

	for (size_t i = 0; i < s->count; i++) {
		if (may_come(&s->slot[i]))
			open_port(s, &s->slot[i], false);
	}
	arm_retry(s);
}

void sockets_retry(struct sockets *s)
{
	retry_restart(s->retry);
	on_retry(s);
}

void sockets_start(struct sockets *s)
{
	if (s->open)
		return;
	s->open = true;
	for (size_t i = 0; i < s->count; i++) {
		if (s->slot[i].plan->host_path)
			tell(s, &s->slot[i], "forwarding", NULL);
		else
			open_port(s, &s->slot[i], true);
	}
	arm_retry(s);
}

void sockets_accept(struct sockets *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->slot[i].ln)
			listen_accept(s->slot[i].ln);
	}
}

void sockets_close(struct sockets *s)
{
	retry_arm(s->retry, false, false);
	for (size_t i = 0; i < s->count; i++) {
		struct slot *sl = &s->slot[i];

		if (s->open && (sl->ln || sl->plan->reverse))
			tell(s, sl, "stopping", NULL);
		listen_free(sl->ln);
		sl->ln = NULL;
		sl->errnum = 0;
	}
	s->open = false;
}

/* --- reverse --- */

void sockets_tell(struct sockets *s, struct guest *g)
{
	auto_free struct ap_reverse *v = xcalloc(1, sizeof(*v));

	for (size_t i = 0; i < s->count && v->count < AP_REVERSE_MAX; i++) {
		const struct plan_socket *p = s->slot[i].plan;
		struct ap_reverse_socket *to = &v->socket[v->count];

		if (!p->reverse)
			continue;
		to->index = (uint16_t)i;
		to->mode = (uint16_t)p->mode;
		snprintf(to->group, sizeof(to->group), "%s", p->group ? p->group : "");
		snprintf(to->path, sizeof(to->path), "%s", p->guest_path);
		v->count++;
	}
	/* A guest agent that was there before us may still listen on what the plan has no more. */
	if (guest_send_reverse(g, v) < 0)
		log_error("the guest cannot be told which sockets to listen on");
}

void sockets_open(struct sockets *s, struct mux_stream *m, const uint8_t *request, size_t len)
{
	struct sockaddr_un sa;
	struct err e = { 0 };
	struct ap_open o;
	struct slot *sl;
	bool pending;
	int fd;

	if (ap_open_unpack(&o, request, len) < 0 || o.kind != AP_OPEN_REVERSE || o.index >= s->count ||
	    !s->slot[o.index].plan->reverse) {
		mux_reset(m, MUX_RESET_PROTOCOL);
		return;
	}
	sl = &s->slot[o.index];
	if (!s->open || sl->tally->now >= SOCKETS_REVERSE_CONNS) {
		mux_reset(m, s->open ? MUX_RESET_LIMIT : MUX_RESET_REFUSED);
		return;
	}
	fd = sock_unix_addr(sl->plan->host_path, &sa, &e) < 0 ? -1 :
	     sock_start_connect((struct sockaddr *)&sa, sizeof(sa), &pending, &e);
	if (fd < 0)
		mux_reset(m, MUX_RESET_REFUSED);
	else
		conn_answer(s->conns, sl->tally, fd, m);
}

/* --- the whole --- */

/* A path of the host is listened on at once: what is in its way is a reason not to start. */
static int prepare(struct sockets *s, struct slot *sl, struct err *e)
{
	const struct plan_socket *p = sl->plan;
	struct ap_open o;

	if ((!p->host_path && fwd_parse(&sl->host, p->host_ip, e) < 0) ||
	    (!p->guest_path && fwd_parse(&sl->guest, p->guest_ip, e) < 0))
		return -1;
	if (p->guest_path && strlen(p->guest_path) > SOCK_PATH_MAX)
		return err_set(e, ERR_INVALID, "guest socket path \"%s\" is too long", p->guest_path);
	sl->host.port = p->host_port;
	sl->guest.port = p->guest_port;
	sl->host.proto = sl->guest.proto = AP_TCP;
	if (!p->host_path || p->reverse)
		return 0;
	o = request_of(sl);
	sl->ln = listen_unix(s->loop, s->conns, sl->tally, p->host_path, p->mode, p->group, &o, e);
	if (sl->ln && plan_socket_is_docker(p))
		listen_kind(sl->ln, CONN_DOCKER);
	return sl->ln ? 0 : -1;
}

struct sockets *sockets_new(struct loop *l, struct conns *cs, struct events *ev, const struct plan *plan, struct err *e)
{
	struct sockets *s = xcalloc(1, sizeof(*s));

	s->loop = l;
	s->conns = cs;
	s->events = ev;
	s->slot = xcalloc(plan->sockets, sizeof(*s->slot));
	s->retry = retry_new(l, on_retry, s);
	for (size_t i = 0; i < plan->sockets; i++) {
		struct slot *sl = &s->slot[s->count++];

		sl->plan = &plan->socket[i];
		sl->tally = tally_new();
		if (prepare(s, sl, e) < 0) {
			err_wrap(e, "forwarded socket");
			sockets_free(s);
			return NULL;
		}
	}
	return s;
}

void sockets_free(struct sockets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		listen_free(s->slot[i].ln);
		tally_drop(s->slot[i].tally);
	}
	retry_free(s->retry);
	free(s->slot);
	free(s);
}
