/* When to look at the sockets, and when what was noticed has been seen; the clock is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "guestagent/ports_news.h"

static struct port_news news;
static struct port_sock sock[8];
static struct port_socks socks;

static int begin(void **state)
{
	(void)state;
	memset(&news, 0, sizeof(news));
	socks = (struct port_socks){ .sock = sock };
	return 0;
}

/* A socket of the next dump. */
static void there(uint64_t cookie, uint16_t port, uint8_t proto, bool told)
{
	sock[socks.count++] = (struct port_sock){ cookie, port, proto, told };
}

static void udp(uint8_t kind, uint64_t cookie, int64_t now)
{
	port_news_add(&news, &(struct port_event){ .kind = kind, .id = cookie }, &socks, now);
}

static void tcp(uint8_t kind, uint16_t port, int64_t now)
{
	port_news_add(&news, &(struct port_event){ .kind = kind, .port = port }, &socks, now);
}

static void nothing_noticed_is_nothing_to_do(void **state)
{
	(void)state;
	assert_true(port_news_due(&news) == INT64_MAX);
}

static void a_socket_that_came_and_went_is_no_news(void **state)
{
	(void)state;
	for (uint64_t i = 1; i < 1000; i++) {
		udp(PORT_EVENT_BIND, i, 10000);
		assert_int_equal(port_news_due(&news), 10005);
		udp(PORT_EVENT_RELEASE, i, 10001);
		assert_true(port_news_due(&news) == INT64_MAX);
	}
}

static void a_release_counts_only_for_a_port_that_was_told(void **state)
{
	(void)state;
	there(1, 53, AP_UDP, true);
	there(2, 40000, AP_UDP, false);
	udp(PORT_EVENT_RELEASE, 2, 10000); /* connected, or our own */
	udp(PORT_EVENT_RELEASE, 3, 10000); /* nobody heard of it */
	assert_int_equal(news.count, 0);
	udp(PORT_EVENT_RELEASE, 1, 10000);
	assert_int_equal(port_news_due(&news), 10005);
}

/* The dump that told it began behind its bind, and before the event was taken. */
static void a_bind_that_was_seen_already_is_no_news(void **state)
{
	(void)state;
	there(1, 53, AP_UDP, true);
	udp(PORT_EVENT_BIND, 1, 10000);
	assert_int_equal(news.count, 0);
	udp(PORT_EVENT_RELEASE, 1, 10000);
	assert_int_equal(news.count, 1);
}

static void datagram_sockets_are_looked_for_together_and_listeners_at_once(void **state)
{
	(void)state;
	news.looked = 10000;
	udp(PORT_EVENT_BIND, 1, 10010);
	udp(PORT_EVENT_BIND, 2, 10020);
	assert_int_equal(port_news_due(&news), 10050);
	tcp(PORT_EVENT_CLOSE, 80, 10021);
	assert_int_equal(port_news_due(&news), 10021);
	tcp(PORT_EVENT_LISTEN, 81, 10021);
	assert_int_equal(port_news_due(&news), 10021);
	news.looked = 10020;
	assert_int_equal(port_news_due(&news), 10025);
}

static void what_the_dump_shows_is_done_with(void **state)
{
	(void)state;
	udp(PORT_EVENT_BIND, 1, 10000);
	tcp(PORT_EVENT_LISTEN, 80, 10000);
	tcp(PORT_EVENT_CLOSE, 81, 10000);
	there(1, 53, AP_UDP, false); /* connected by now */
	there(2, 80, AP_TCP, true);
	port_news_seen(&news, &socks, 10001);
	assert_int_equal(news.count, 0);
}

static void what_the_dump_does_not_show_yet_is_looked_for_again(void **state)
{
	(void)state;
	there(7, 53, AP_UDP, true);
	there(8, 81, AP_TCP, true);
	udp(PORT_EVENT_BIND, 1, 10000);
	udp(PORT_EVENT_RELEASE, 7, 10000);
	tcp(PORT_EVENT_LISTEN, 80, 10000);
	tcp(PORT_EVENT_CLOSE, 81, 10000);
	port_news_seen(&news, &socks, 10001);
	assert_int_equal(news.count, 4);
	assert_int_equal(port_news_due(&news), 10011);
	socks.count = 0;
	there(1, 54, AP_UDP, true);
	there(9, 80, AP_TCP, true);
	port_news_seen(&news, &socks, 10011);
	assert_int_equal(news.count, 0);
}

static void it_is_not_looked_for_for_ever(void **state)
{
	int64_t now = 10000;

	(void)state;
	tcp(PORT_EVENT_LISTEN, 80, now); /* of another network namespace */
	for (unsigned dumps = 0; port_news_due(&news) != INT64_MAX; dumps++) {
		now = port_news_due(&news);
		assert_true(now <= 10310);
		assert_true(dumps < 40);
		port_news_seen(&news, &socks, now);
	}
}

static void more_than_there_is_room_for_is_looked_for_all_the_same(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 2 * PORT_NEWS_MAX; i++)
		udp(PORT_EVENT_BIND, i, 10000);
	assert_int_equal(port_news_due(&news), 10000);
	/* Those that found no place go unnoticed by name: the dumps go on for a while. */
	for (uint64_t i = 1; i <= 2 * PORT_NEWS_MAX; i++)
		udp(PORT_EVENT_RELEASE, i, 10001);
	port_news_seen(&news, &socks, 10002);
	assert_int_equal(port_news_due(&news), 10012);
	port_news_seen(&news, &socks, 10400);
	assert_int_equal(news.count, 0);
}

static void after_a_failure_there_is_a_pause(void **state)
{
	(void)state;
	tcp(PORT_EVENT_LISTEN, 80, 10000);
	port_news_failed(&news, 10000);
	assert_true(port_news_due(&news) >= 11000);
	assert_true(port_news_due(&news) < 12000);
}

static void an_unknown_event_is_a_reason_to_look(void **state)
{
	(void)state;
	port_news_add(&news, &(struct port_event){ .kind = 200 }, &socks, 10000);
	assert_int_equal(port_news_due(&news), 10000);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup(fn, begin)
	const struct CMUnitTest tests[] = {
		T(nothing_noticed_is_nothing_to_do),
		T(a_socket_that_came_and_went_is_no_news),
		T(a_release_counts_only_for_a_port_that_was_told),
		T(a_bind_that_was_seen_already_is_no_news),
		T(datagram_sockets_are_looked_for_together_and_listeners_at_once),
		T(what_the_dump_shows_is_done_with),
		T(what_the_dump_does_not_show_yet_is_looked_for_again),
		T(it_is_not_looked_for_for_ever),
		T(more_than_there_is_room_for_is_looked_for_all_the_same),
		T(after_a_failure_there_is_a_pause),
		T(an_unknown_event_is_a_reason_to_look),
	};

	return cmocka_run_group_tests_name("ports_news", tests, NULL, NULL);
}
