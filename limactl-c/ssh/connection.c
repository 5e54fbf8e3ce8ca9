#include "limactl-c/ssh/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/ssh/hostkey.h"

enum {
	MEMORY_MAX = 128 << 20, /* bytes: twice the windows of all channels */
	WINDOW = 256 * 1024,    /* bytes a server may send ahead on a channel */
	PACKET = 32 * 1024,
	BUDGET = 512 * 1024,    /* bytes read before others have their turn */
	OUT_MAX = 4 << 20,      /* bytes: our channels', and answers to a server that asks and does not read */
	READY_MS = 60000,       /* from connecting to the first channel */
	HEAD = 16,              /* bytes before each block, which say its size */
};

/* --- what libssh2 calls --- */

static void *count_alloc(size_t n, void **abstract)
{
	struct connection *c = *abstract;
	char *p;

	if (n > MEMORY_MAX - c->memory || !(p = malloc(HEAD + n)))
		return NULL;
	memcpy(p, &n, sizeof(n));
	c->memory += n;
	return p + HEAD;
}

static void count_free(void *block, void **abstract)
{
	struct connection *c = *abstract;
	char *p = (char *)block - HEAD;
	size_t n;

	if (!block)
		return;
	memcpy(&n, p, sizeof(n));
	c->memory -= n;
	free(p);
}

static void *count_realloc(void *block, size_t n, void **abstract)
{
	void *p = count_alloc(n, abstract);
	size_t was = 0;

	if (!p)
		return NULL;
	if (block)
		memcpy(&was, (char *)block - HEAD, sizeof(was));
	if (was)
		memcpy(p, block, was < n ? was : n);
	count_free(block, abstract);
	return p;
}

static ssize_t on_send(int fd, const void *p, size_t n, int flags, void **abstract)
{
	struct connection *c = *abstract;

	(void)fd;
	(void)flags;
	return c->fd < 0 || buf_add(&c->out, p, n) < 0 ? -EPIPE : (ssize_t)n;
}

static ssize_t on_recv(int fd, void *p, size_t n, int flags, void **abstract)
{
	struct connection *c = *abstract;
	ssize_t k;

	(void)fd;
	(void)flags;
	if (c->fd < 0)
		return 0;
	if (!c->budget)
		return -EAGAIN;
	k = recv(c->fd, p, n < c->budget ? n : c->budget, MSG_DONTWAIT);
	if (k < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	c->budget -= (size_t)k;
	return k;
}

/* --- the end --- */

/* Who waits for it finds the connection lost. */
static void forget_opening(struct connection *c)
{
	if (c->opening.type && !c->opening.chan) {
		c->channels--;
		c->sessions -= !strcmp(c->opening.type, "session");
	}
	free(c->opening.request);
	memset(&c->opening, 0, sizeof(c->opening));
}

static void lose(struct connection *c, const char *what)
{
	char *said = NULL;

	forget_opening(c);

	if (c->ssh && libssh2_session_last_errno(c->ssh))
		libssh2_session_last_error(c->ssh, &said, NULL, 0);
	err_set(&c->why, ERR_STATE, "%s%s%s", what, said && *said ? ": " : "", said ? said : "");
	text_make_plain(c->why.msg);
	c->state = CONNECTION_LOST;
	if (c->fd >= 0)
		close(steal_fd(&c->fd));
}

/* Without its socket no channel waits for the server any more. */
static void end_session(struct connection *c)
{
	if (!c->ssh)
		return;
	libssh2_session_free(c->ssh);
	c->ssh = NULL;
}

void connection_free(struct connection *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(steal_fd(&c->fd));
	end_session(c);
	buf_free(&c->out);
	free(c);
}

/* --- until it is ready --- */

struct connection *connection_new(struct server *server)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 };
	struct connection *c = xcalloc(1, sizeof(*c));
	struct sockaddr_storage ss;
	socklen_t len = sock_ip_addr(4, loopback, server->port, &ss);
	struct err e = { 0 };

	*c = (struct connection){ .server = server, .fd = -1, .out = BUF_INIT(OUT_MAX), .sessions_max = CONNECTION_SESSIONS,
				  .deadline = clock_ms() + READY_MS };
	c->fd = sock_start_connect((struct sockaddr *)&ss, len, &c->pending, &e);
	if (c->fd < 0)
		lose(c, e.msg);
	else
		sock_relay_options(c->fd);
	return c;
}

static int begin_session(struct connection *c)
{
	auto_free char *methods = hostkey_methods(&c->server->known);

	c->ssh = libssh2_session_init_ex(count_alloc, count_free, count_realloc, c);
	if (!c->ssh)
		return -1;
	libssh2_session_set_blocking(c->ssh, 0);
	libssh2_session_callback_set(c->ssh, LIBSSH2_CALLBACK_SEND, (void *)on_send);
	libssh2_session_callback_set(c->ssh, LIBSSH2_CALLBACK_RECV, (void *)on_recv);
	return libssh2_session_method_pref(c->ssh, LIBSSH2_METHOD_HOSTKEY, methods);
}

static void step_connecting(struct connection *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };
	int errnum;

	if (c->pending && poll(&p, 1, 0) <= 0)
		return;
	errnum = c->pending ? sock_error(c->fd) : 0;
	if (errnum) {
		lose(c, strerror(errnum));
		return;
	}
	c->pending = false;
	if (begin_session(c) < 0)
		lose(c, "no SSH session can be begun");
	else
		c->state = CONNECTION_SHAKING;
}

static void step_shaking(struct connection *c)
{
	const char *blob;
	size_t len = 0;
	int type, rc = libssh2_session_handshake(c->ssh, c->fd);

	if (rc == LIBSSH2_ERROR_EAGAIN)
		return;
	if (rc) {
		lose(c, "the SSH server does not answer as one");
		return;
	}
	blob = libssh2_session_hostkey(c->ssh, &len, &type);
	if (!blob || hostkey_text(blob, len, c->host_key) < 0) {
		lose(c, "the SSH server shows no host key");
	} else if (c->server->known.count && !hostkey_is_known(&c->server->known, c->host_key)) {
		c->stranger = true;
		lose(c, "the SSH server has another host key than the guest's");
	} else {
		c->state = CONNECTION_LOGIN;
	}
}

static void step_login(struct connection *c)
{
	const struct server *s = c->server;
	auto_free char *pub = xasprintf("%s.pub", s->key);
	int rc = libssh2_userauth_publickey_fromfile_ex(c->ssh, s->user, (unsigned)strlen(s->user), pub, s->key, "");

	if (rc == LIBSSH2_ERROR_EAGAIN)
		return;
	if (rc) {
		lose(c, "the SSH server does not let us in");
		return;
	}
	c->state = CONNECTION_CONTROL;
	if (!c->server->known.count)
		memcpy(c->server->known.key[c->server->known.count++], c->host_key, sizeof(c->host_key));
}

static bool would_block(const struct connection *c)
{
	return libssh2_session_last_errno(c->ssh) == LIBSSH2_ERROR_EAGAIN;
}

static void step_control(struct connection *c)
{
	c->control = libssh2_channel_open_ex(c->ssh, "session", 7, WINDOW, PACKET, NULL, 0);
	if (c->control)
		c->state = CONNECTION_READY;
	else if (!would_block(c))
		lose(c, "the SSH server opens no channel");
}

/* --- channels --- */

static void bury(struct connection *c, LIBSSH2_CHANNEL *ssh)
{
	if (libssh2_channel_free(ssh) != LIBSSH2_ERROR_EAGAIN)
		return;
	if (c->dyings < CONNECTION_DYING)
		c->dying[c->dyings++] = ssh;
	else
		lose(c, "the SSH server ends no channels");
}

/* The server has opened it, or it will not. */
static void opened(struct connection *c, LIBSSH2_CHANNEL *ssh)
{
	struct chan *ch = c->opening.chan;
	bool session = !strcmp(c->opening.type, "session");

	forget_opening(c);
	if (!ch) {
		if (ssh)
			bury(c, ssh);
		return;
	}
	ch->ssh = ssh;
	ch->state = ssh ? CHAN_OPEN : CHAN_REFUSED;
	/* A server that is set up for fewer of them tells it so. */
	ch->crowded = !ssh && session && c->sessions > 1;
	if (ch->crowded)
		c->sessions_max = c->sessions - 1;
}

static void step_opening(struct connection *c)
{
	LIBSSH2_CHANNEL *ssh;
	int errnum;

	if (!c->opening.type)
		return;
	ssh = libssh2_channel_open_ex(c->ssh, c->opening.type, (unsigned)strlen(c->opening.type), WINDOW, PACKET,
				      (const char *)c->opening.request, (unsigned)c->opening.request_len);
	if (!ssh && would_block(c))
		return;
	errnum = libssh2_session_last_errno(c->ssh);
	opened(c, ssh);
	if (!ssh && errnum != LIBSSH2_ERROR_CHANNEL_FAILURE && errnum != LIBSSH2_ERROR_TIMEOUT)
		lose(c, "the connection to the SSH server is lost");
}

static void step_dying(struct connection *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->dyings; i++)
		if (libssh2_channel_free(c->dying[i]) == LIBSSH2_ERROR_EAGAIN)
			c->dying[kept++] = c->dying[i];
	c->dyings = kept;
}

static void step_ready(struct connection *c)
{
	char none[1024];
	ssize_t k;

	while ((k = libssh2_channel_read(c->control, none, sizeof(none))) > 0)
		;
	if (k != LIBSSH2_ERROR_EAGAIN) {
		lose(c, "the connection to the SSH server is lost");
		return;
	}
	step_opening(c);
	if (c->state == CONNECTION_READY)
		step_dying(c);
}

static void (*const steps[])(struct connection *c) = {
	[CONNECTION_CONNECTING] = step_connecting, [CONNECTION_SHAKING] = step_shaking, [CONNECTION_LOGIN] = step_login,
	[CONNECTION_CONTROL] = step_control,       [CONNECTION_READY] = step_ready,
};

void connection_step(struct connection *c)
{
	enum connection_state was;

	c->budget = BUDGET;
	do {
		was = c->state;
		if (was != CONNECTION_LOST)
			steps[was](c);
	} while (c->state != was);
	c->budget = 0;
	if (c->state < CONNECTION_READY && clock_ms() >= c->deadline)
		lose(c, "the SSH server does not answer");
}

void connection_flush(struct connection *c)
{
	while (c->fd >= 0 && !c->pending && c->out.len) {
		ssize_t k = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (k > 0)
			buf_drop_front(&c->out, (size_t)k);
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			lose(c, strerror(errno));
	}
	if (!c->out.len)
		buf_free(&c->out);
}

struct pollfd connection_poll(const struct connection *c)
{
	bool out = c->out.len || c->state == CONNECTION_CONNECTING;

	return (struct pollfd){ .fd = c->fd, .events = (short)(POLLIN | (out ? POLLOUT : 0)) };
}

bool connection_has_room(const struct connection *c)
{
	return c->out.len < CONNECTION_ROOM;
}

bool connection_fits(const struct connection *c, const char *type)
{
	return c->state == CONNECTION_READY && c->channels < CONNECTION_CHANNELS &&
	       (strcmp(type, "session") || c->sessions < c->sessions_max);
}

void connection_open(struct connection *c, struct chan *ch)
{
	ch->on = c;
	ch->state = CHAN_OPENING;
	c->channels++;
	c->sessions += !strcmp(ch->type, "session");
	c->opening.chan = ch;
	c->opening.type = ch->type;
	c->opening.request = steal(&ch->request);
	c->opening.request_len = ch->request_len;
	c->opening.since = clock_ms();
	step_opening(c);
}

bool chan_is_open(struct chan *ch)
{
	if (ch->on && ch->on->state == CONNECTION_LOST && ch->state != CHAN_REFUSED)
		ch->state = CHAN_LOST;
	return ch->state == CHAN_OPEN;
}

void connection_close(struct chan *ch)
{
	struct connection *c = ch->on;
	bool open = chan_is_open(ch);

	ch->on = NULL;
	ch->state = CHAN_NONE;
	free(steal(&ch->request));
	if (!c)
		return;
	/* What is still being opened is counted until it is. */
	if (c->opening.chan == ch) {
		c->opening.chan = NULL;
		return;
	}
	c->channels--;
	c->sessions -= !strcmp(ch->type, "session");
	if (open)
		bury(c, ch->ssh);
	ch->ssh = NULL;
}
