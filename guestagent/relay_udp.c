#include "guestagent/relay_udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/dgram.h"
#include "lib/sock.h"

enum {
	READ_BATCH = 32,          /* datagrams taken in one go, so that one busy server does not hold up the rest */
	RECEIVE_BYTES = 1 << 20,  /* what may wait in the socket; the kernel's default holds three of the longest */
};

struct udp_relay {
	struct ga_stream stream;
	struct ga_watch watch;
	bool blocked; /* the stream has no room: the socket is not read */
};

static struct dgram dgram; /* the one being passed on */

static void relay_free(struct udp_relay *r)
{
	ga_loop_close(&r->stream.ga->loop, &r->watch);
	free(r);
}

static void relay_fail(struct udp_relay *r, enum mux_reset_code code)
{
	ga_stream_reset(&r->stream, code);
	relay_free(r);
}

static void set_blocked(struct udp_relay *r, bool blocked)
{
	if (r->blocked != blocked)
		ga_loop_change(&r->stream.ga->loop, &r->watch, blocked ? 0 : EPOLLIN);
	r->blocked = blocked;
}

/* Server to stream. */
static void pump_from_socket(struct udp_relay *r)
{
	for (int i = 0; i < READ_BATCH; i++) {
		ssize_t n;

		if (!dgram_room(r->stream.mux)) {
			set_blocked(r, true);
			return;
		}
		n = recv(r->watch.fd, dgram_payload(&dgram), DGRAM_MAX, 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			continue; /* a refusal, which is gone from the socket now */
		dgram.len = (size_t)n;
		ga_before_data(r->stream.ga);
		if (dgram_write(r->stream.mux, &dgram) == DGRAM_BROKEN) {
			relay_fail(r, MUX_RESET_LIMIT);
			return;
		}
	}
}

/* Stream to server. */
static void pump_to_socket(struct udp_relay *r)
{
	enum dgram_result got;

	while ((got = dgram_read(r->stream.mux, &dgram)) == DGRAM_DONE) {
		/* A refusal of an earlier datagram is told in place of sending this one, once. */
		if (send(r->watch.fd, dgram_payload(&dgram), dgram.len, 0) < 0 && errno == ECONNREFUSED)
			send(r->watch.fd, dgram_payload(&dgram), dgram.len, 0);
	}
	if (got == DGRAM_BROKEN) {
		relay_fail(r, MUX_RESET_PROTOCOL);
	} else if (mux_at_end(r->stream.mux)) {
		ga_stream_release(&r->stream);
		relay_free(r);
	}
}

static void on_socket(struct ga_watch *w, uint32_t events)
{
	struct udp_relay *r = ga_of(w, struct udp_relay, watch);

	if (events & EPOLLERR)
		sock_error(w->fd); /* takes the refusal from the socket: it would be told again and again */
	if (events & EPOLLIN)
		pump_from_socket(r);
}

static void on_readable(struct ga_stream *s)
{
	pump_to_socket(ga_of(s, struct udp_relay, stream));
}

static void on_writable(struct ga_stream *s)
{
	struct udp_relay *r = ga_of(s, struct udp_relay, stream);

	if (dgram_room(s->mux))
		set_blocked(r, false);
}

static void on_gone(struct ga_stream *s)
{
	relay_free(ga_of(s, struct udp_relay, stream));
}

static const struct ga_stream_ops ops = { .readable = on_readable, .writable = on_writable, .gone = on_gone };

static int connect_udp(const struct ap_open *o)
{
	struct sockaddr_storage ss;
	socklen_t len = sock_ip_addr(o->family, o->addr, o->port, &ss);
	int fd = socket(ss.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), bytes = RECEIVE_BYTES;

	if (fd >= 0 && connect(fd, (struct sockaddr *)&ss, len) < 0) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	return fd;
}

void ga_relay_udp_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	struct udp_relay *r = calloc(1, sizeof(*r));

	if (!r) {
		mux_reset(m, MUX_RESET_LIMIT);
		return;
	}
	ga_stream_attach(&r->stream, ga, m, &ops);
	r->watch = (struct ga_watch){ connect_udp(o), on_socket };
	if (r->watch.fd < 0)
		relay_fail(r, errno == EMFILE || errno == ENFILE ? MUX_RESET_LIMIT : MUX_RESET_REFUSED);
	else if (ga_loop_add(&ga->loop, &r->watch, EPOLLIN) < 0)
		relay_fail(r, MUX_RESET_LIMIT);
}
