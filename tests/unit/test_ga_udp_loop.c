/* What refused datagrams cost the guest agent, counted in rounds of its loop: relay and loop in this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guestagent/relay_udp.h"
#include "lib/dgram.h"
#include "tests/unit/mux_link.h"

enum { SENT = 100, QUIET_MS = 200 };

static struct mux_link l;
static struct ga ga;
static struct ga_timer timer;
static unsigned rounds, sent, quiet_from;

static void on_readable(struct mux_link *link, struct mux_stream *s)
{
	struct ga_stream *g = s == link->to ? mux_stream_get(s) : NULL;

	if (g)
		g->ops->readable(g);
}

static void on_timer(struct ga_timer *t)
{
	static struct dgram d = { .len = 5 };

	if (sent == SENT) {
		ga.loop.quit = true;
		return;
	}
	assert_int_equal(dgram_write(l.from, &d), DGRAM_DONE);
	sent++;
	if (sent == SENT)
		quiet_from = rounds;
	ga_timer_set(&ga.loop, t, sent == SENT ? QUIET_MS : 1);
}

static void before_sleep(void *ctx)
{
	(void)ctx;
	rounds++;
	link_run(&l, SIZE_MAX);
}

/* A server of 127.0.0.1; *port 0: a new one. */
static int serve(uint16_t *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(*port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	*port = ntohs(in.sin_port);
	return fd;
}

static uint16_t port; /* of the relay's server, which is gone */

static int begin(void **state)
{
	struct ap_open o = { .kind = AP_OPEN_UDP, .family = 4, .addr = { 127, 0, 0, 1 } };
	struct err e = { 0 };

	(void)state;
	port = 0;
	close(serve(&port));
	o.port = port;
	link_begin(&l);
	l.readable = on_readable;
	assert_int_equal(ga_loop_init(&ga.loop, &e), 0);
	ga.loop.before_sleep = before_sleep;
	ga.mux = l.guest;
	ga_relay_udp_open(&ga, l.to, &o);
	assert_non_null(l.to);
	return 0;
}

static int end(void **state)
{
	struct ga_stream *relay = mux_stream_get(l.to);

	(void)state;
	relay->ops->gone(relay);
	ga_loop_free(&ga.loop);
	link_end(&l);
	return 0;
}

/* Whoever sends next on a refused socket is told of it, and what he sends is lost. */
static void a_refusal_is_not_told_in_place_of_a_datagram(void **state)
{
	static struct dgram d;
	char got[10];
	int fd;

	(void)state;
	d.len = 5;
	assert_int_equal(dgram_write(l.from, &d), DGRAM_DONE);
	link_run(&l, SIZE_MAX); /* refused at once; the loop has no turn in which it would see it */
	fd = serve(&port);
	d.len = 7;
	assert_int_equal(dgram_write(l.from, &d), DGRAM_DONE);
	link_run(&l, SIZE_MAX);
	assert_int_equal(recv(fd, got, sizeof(got), 0), 7);
	assert_int_equal(recv(fd, got, sizeof(got), 0), -1);
	close(fd);
}

static void a_refusal_costs_one_round_and_then_nothing(void **state)
{
	(void)state;
	timer.fn = on_timer;
	ga_timer_set(&ga.loop, &timer, 0);
	ga_loop_run(&ga.loop);
	/* For each: the deadline that sends it, and the socket that tells of the refusal. */
	assert_in_range(quiet_from, SENT, 2 * SENT + 2);
	assert_in_range(rounds - quiet_from, 1, 4);
	assert_non_null(l.to);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_refusal_is_not_told_in_place_of_a_datagram),
		T(a_refusal_costs_one_round_and_then_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
