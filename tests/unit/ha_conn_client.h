/* ha_conn_client.h - a client of the host agent's relay, whose stream ends at the test's guest. */
#ifndef TEST_HA_CONN_CLIENT_H
#define TEST_HA_CONN_CLIENT_H

#include "tests/unit/ha_peer.h"

#include <netinet/in.h>

#include "lib/sock.h"

static struct peer p;
static int client; /* the test's end of the connection */
static const uint8_t *request;
static size_t request_len;
static bool job; /* the connection is a command's */
static bool tcp; /* the client comes by TCP */

static inline int begin(void **state)
{
	static uint8_t bytes[64];
	struct ap_open o = { .kind = AP_OPEN_TCP, .family = 4, .addr = { 127, 0, 0, 1 }, .port = 80 };

	(void)state;
	request_len = (size_t)ap_open_pack(&o, bytes, sizeof(bytes));
	request = bytes;
	job = tcp = false;
	peer_begin(&p);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	close(client);
	peer_end(&p);
	return 0;
}

/* Both ends of a TCP connection; the second as a listener's is. */
static inline void tcp_pair(int fds[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	struct err e;
	int listener = sock_listen_tcp((struct sockaddr *)&sa, sizeof(sa), &e);

	assert_true(listener >= 0);
	sock_relay_options(listener);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&sa, sizeof(sa)), 0);
	fds[1] = accept(listener, NULL, NULL);
	assert_true(fds[1] >= 0);
	io_set_nonblock(fds[1], true);
	close(listener);
}

static inline void connect_client(const char *early)
{
	int fds[2];

	if (tcp)
		tcp_pair(fds);
	else
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	client = fds[0];
	io_set_nonblock(client, true);
	conn_start(p.conns, NULL, fds[1], job ? CONN_JOB : CONN_PORT, request, request_len, early, strlen(early));
}

static inline void leave(void)
{
	close(client);
	client = -1;
}

static inline bool client_ready(struct peer *peer)
{
	struct pollfd f = { .fd = client, .events = POLLIN };

	(void)peer;
	return poll(&f, 1, 0) == 1;
}

/* The next bytes the client gets; "" at the end, "!" after a reset. */
static inline const char *client_read(void)
{
	static char buf[100];
	ssize_t k;

	peer_run(&p, client_ready);
	k = read(client, buf, sizeof(buf) - 1);
	if (k < 0)
		return "!";
	buf[k] = '\0';
	return buf;
}

static inline bool no_conns(struct peer *peer)
{
	return conns_count(peer->conns) == 0;
}

static inline bool guest_has_stream(struct peer *peer)
{
	return peer->last;
}

/* A client whose stream the guest has. */
static inline void connect_through(void)
{
	guest_connect(p.guest);
	connect_client("");
	peer_run(&p, guest_has_stream);
}

static inline bool guest_saw_reset(struct peer *peer)
{
	return peer->resets;
}

#endif
