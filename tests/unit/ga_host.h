/* ga_host.h - the host's side for the guest agent's tests: a daemon in a child process, reached through a unix
 * socket and lib/mux, and what it said.
 */
#ifndef LIMA_TESTS_GA_HOST_H
#define LIMA_TESTS_GA_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guestagent/daemon.h"
#include "lib/agentproto.h"
#include "lib/buf.h"
#include "lib/io.h"
#include "lib/mux_internal.h"
#include "lib/sock.h"
#include "tests/unit/feed.h"

enum { HOST_DEADLINE_MS = 20000, HOST_SCRIPTS = 8, HOST_TROUBLES = 20 };

struct peer;

struct host {
	char dir[64];
	int listener, fd;
	bool adopts; /* connects to the agent, which listens and outlives it, instead of being connected to */
	pid_t agent;
	struct mux *mux;
	struct feed feed;
	unsigned ups, port_messages;
	bool up;
	bool silent; /* never says which messages it has heard */
	struct ap_info info;
	struct ap_boot boot;
	struct ap_trouble trouble[HOST_TROUBLES]; /* as told last, by name; over: without why */
	struct ap_provision script[HOST_SCRIPTS];
	struct ap_ports ports; /* the last message */
	struct ap_host_keys keys; /* the same */
	unsigned key_messages;
	size_t port_bytes;     /* stream bytes that had come when it came */
	size_t stream_bytes;
	struct peer *accept; /* what the next stream that the guest opens becomes; NULL: it is refused */
	struct ap_open accepted;
};

/* A stream as a test sees it. */
struct peer {
	struct host *host;
	struct mux_stream *s; /* NULL once it has ended */
	struct buf got;
	size_t count;   /* bytes received in all */
	bool keep;      /* store them in got */
	bool hold;      /* do not consume */
	bool end, reset, closed, writable;
	enum mux_reset_code code;
};

static inline uint64_t host_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void host_up(void *ctx, bool resumed)
{
	struct host *h = ctx;

	(void)resumed;
	h->up = true;
	h->ups++;
}

static void host_down(void *ctx)
{
	((struct host *)ctx)->up = false;
}

static int host_trouble(struct host *h, const uint8_t *body, size_t len)
{
	struct ap_trouble v;
	size_t i = 0;

	if (ap_trouble_unpack(&v, body, len) < 0)
		return -1;
	while (h->trouble[i].what[0] && strcmp(h->trouble[i].what, v.what))
		assert_true(++i < HOST_TROUBLES);
	h->trouble[i] = v;
	return 0;
}

static int host_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	struct host *h = ctx;
	struct ap_provision v;

	switch (type) {
	case AP_MSG_INFO:
		return ap_info_unpack(&h->info, body, len);
	case AP_MSG_BOOT:
		return ap_boot_unpack(&h->boot, body, len);
	case AP_MSG_TROUBLE:
		return host_trouble(h, body, len);
	case AP_MSG_PORTS:
		h->port_messages++;
		h->port_bytes = h->stream_bytes;
		return ap_ports_unpack(&h->ports, body, len);
	case AP_MSG_HOST_KEYS:
		h->key_messages++;
		return ap_host_keys_unpack(&h->keys, body, len);
	case AP_MSG_PROVISION:
		if (ap_provision_unpack(&v, body, len) < 0)
			return -1;
		if (v.index < HOST_SCRIPTS)
			h->script[v.index] = v;
		return 0;
	}
	return 0;
}

static inline void peer_take(struct peer *p)
{
	const uint8_t *b;
	size_t n;

	while (!p->hold && (b = mux_peek(p->s, &n)) && n) {
		if (p->keep)
			assert_int_equal(buf_add(&p->got, b, n), 0);
		p->count += n;
		p->host->stream_bytes += n;
		mux_consume(p->s, n);
	}
	p->end |= mux_at_end(p->s);
}

static void host_readable(void *ctx, struct mux_stream *s)
{
	struct peer *p = mux_stream_get(s);

	(void)ctx;
	if (p)
		peer_take(p);
}

static void host_writable(void *ctx, struct mux_stream *s)
{
	struct peer *p = mux_stream_get(s);

	(void)ctx;
	if (p)
		p->writable = true;
}

static void host_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	struct peer *p = mux_stream_get(s);

	(void)ctx;
	if (p) {
		p->reset = true;
		p->code = code;
		p->s = NULL;
	}
}

static void host_closed(void *ctx, struct mux_stream *s)
{
	struct peer *p = mux_stream_get(s);

	(void)ctx;
	if (p) {
		p->closed = true;
		p->s = NULL;
	}
}

static void host_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	struct host *h = ctx;

	assert_int_equal(ap_open_unpack(&h->accepted, request, len), 0);
	if (!h->accept) {
		mux_reset(s, MUX_RESET_REFUSED);
		return;
	}
	*h->accept = (struct peer){ .host = h, .s = s, .got = BUF_INIT(1 << 20), .keep = true };
	mux_stream_set(s, h->accept);
	h->accept = NULL;
}

static const struct mux_ops host_ops = {
	host_up, host_down, host_message, host_open, host_readable, host_writable, host_reset, host_closed,
};

/* Moves bytes for at most ms, returns early once something came. */
static inline void host_turn(struct host *h, int ms)
{
	static uint8_t bytes[256 * 1024];
	struct pollfd pfd = { .fd = h->fd, .events = POLLIN };
	const uint8_t *p;
	size_t n;
	ssize_t k;

	if (h->silent)
		h->mux->control.rx_acked = h->mux->control.rx;
	n = first_part(h->mux, &p);
	if (n)
		pfd.events |= POLLOUT;
	if (poll(&pfd, 1, ms) <= 0)
		return;
	if (n && (pfd.revents & POLLOUT)) {
		k = send(h->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (k > 0)
			mux_output_done(h->mux, (size_t)k);
	}
	if (pfd.revents & (POLLIN | POLLHUP)) {
		k = recv(h->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (k > 0)
			feed(&h->feed, h->mux, bytes, (size_t)k);
		else if (k == 0)
			mux_carrier_lost(h->mux);
	}
}

/* Waits until cond is true, moving bytes; fails the test at the deadline. */
#define host_until(h, cond)                                                                    \
	do {                                                                                   \
		uint64_t end_ = host_now() + HOST_DEADLINE_MS;                                 \
		while (!(cond)) {                                                              \
			if (host_now() > end_)                                                 \
				fail_msg("%s:%d: not within the deadline: %s", __FILE__, __LINE__, #cond); \
			host_turn(h, 20);                                                      \
		}                                                                              \
	} while (0)

static inline void host_for(struct host *h, unsigned ms)
{
	uint64_t end = host_now() + ms;

	while (host_now() < end)
		host_turn(h, 5);
}

static inline void host_file(const struct host *h, const char *name, const char *text, mode_t mode)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", h->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(io_write_full(fd, text, strlen(text)), 0);
	close(fd);
}

static inline void host_connect(struct host *h)
{
	struct pollfd pfd = { .fd = h->listener, .events = POLLIN };
	char path[200];
	struct err e;

	snprintf(path, sizeof(path), "%s/sock", h->dir);
	if (!h->adopts)
		assert_int_equal(poll(&pfd, 1, HOST_DEADLINE_MS), 1);
	h->fd = h->adopts ? sock_connect_unix(path, &e) : accept(h->listener, NULL, NULL);
	assert_true(h->fd >= 0);
	mux_carrier_open(h->mux);
}

/* Starts a daemon and takes its connection; the channel must be up within the deadline. */
static inline void host_start_agent(struct host *h)
{
	char carrier[200], settings[200], log[200];
	char *argv[] = { "daemon", "--carrier", carrier, "--settings", settings, "--run", h->dir, NULL };
	unsigned ups = h->ups;

	if (h->adopts)
		snprintf(carrier, sizeof(carrier), "listen:%d", h->listener);
	else
		snprintf(carrier, sizeof(carrier), "unix:%s/sock", h->dir);
	snprintf(settings, sizeof(settings), "%s/settings", h->dir);
	snprintf(log, sizeof(log), "%s/log", h->dir);
	h->agent = fork();
	assert_true(h->agent >= 0);
	if (h->agent == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(fd, STDERR_FILENO);
		for (fd = 3; fd < 64; fd++)
			if (fd != h->listener || !h->adopts)
				close(fd);
		optind = 0;
		_exit(daemon_main(7, argv));
	}
	host_connect(h);
	host_until(h, h->ups > ups && h->info.pid);
}

/* Nothing it started may hold the carrier: the port of a real guest could not be opened again. */
static inline void host_stop_agent(struct host *h, int sig)
{
	bool was_up = h->up;

	kill(h->agent, sig);
	assert_int_equal(waitpid(h->agent, NULL, 0), h->agent);
	if (was_up)
		host_until(h, !h->up);
	mux_carrier_lost(h->mux);
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	h->agent = 0;
	memset(&h->info, 0, sizeof(h->info));
}

static inline void host_begin(struct host *h)
{
	char path[200];
	struct err e;
	uint64_t epoch;

	memset(h, 0, sizeof(*h));
	snprintf(h->dir, sizeof(h->dir), "/tmp/ga.XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(path, sizeof(path), "%s/sock", h->dir);
	h->listener = sock_listen_unix(path, 0600, &e);
	assert_true(h->listener >= 0);
	assert_int_equal(getrandom(&epoch, sizeof(epoch), 0), sizeof(epoch));
	h->mux = mux_new(MUX_HOST, epoch, &host_ops, h);
	assert_non_null(h->mux);
}

/* The same with a daemon that has these settings. */
static inline void host_begin_with(struct host *h, const char *settings)
{
	host_begin(h);
	host_file(h, "settings", settings, 0600);
	host_start_agent(h);
}

static inline void host_end(struct host *h)
{
	char command[100];

	if (h->agent > 0 && (h->fd >= 0 || h->adopts))
		host_stop_agent(h, SIGTERM);
	mux_free(h->mux);
	close(h->listener);
	snprintf(command, sizeof(command), "rm -rf %s", h->dir);
	assert_int_equal(system(command), 0);
}

/* --- streams --- */

static inline void peer_open(struct host *h, struct peer *p, const struct ap_open *o)
{
	uint8_t request[MUX_REQUEST_MAX];
	ssize_t n = ap_open_pack(o, request, sizeof(request));

	assert_true(n > 0);
	*p = (struct peer){ .host = h, .got = BUF_INIT(256 << 20) };
	p->s = mux_open(h->mux, request, (size_t)n, p);
	assert_non_null(p->s);
}

/* Writes all of it, waiting for room. */
static inline void peer_write(struct peer *p, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n) {
		size_t k;

		assert_non_null(p->s);
		k = mux_write(p->s, at, n);
		at += k;
		n -= k;
		if (n)
			host_turn(p->host, 20);
	}
}

#endif
