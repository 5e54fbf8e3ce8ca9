/* What Docker is asked over one connection, in whatever pieces it comes: whether somebody waits for work to be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "limactl-c/hostagent/docker_api.h"

static struct docker_api d;
static size_t piece;

static int begin(void **state)
{
	(void)state;
	d = (struct docker_api){ 0 };
	piece = SIZE_MAX;
	return 0;
}

static void feed(void (*fn)(struct docker_api *d, const void *p, size_t n), const char *text)
{
	size_t n = strlen(text);

	for (size_t at = 0, k; at < n; at += k) {
		k = n - at < piece ? n - at : piece;
		fn(&d, text + at, k);
	}
}

static void asked(const char *text)
{
	feed(docker_api_asked, text);
}

static void answered(const char *text)
{
	feed(docker_api_answered, text);
}

static void works(bool yes)
{
	assert_int_equal(docker_api_works(&d), yes);
	assert_true(docker_api_is_http(&d));
}

static void conversation(void)
{
	asked("GET /v1.41/containers/json HTTP/1.1\r\nHost: d\r\n\r\n");
	works(true);
	answered("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[");
	works(true);
	answered("]");
	works(false);
	asked("POST /build?t=x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nPOST \r\n0\r\nTrailer: x\r\n\r\n");
	works(true);
	answered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
	answered("A\r\nStep 1/2\r\n\r\n");
	works(true); /* a RUN that says nothing for an hour */
	answered("0\r\n\r\n");
	works(false);
	asked("HEAD /_ping HTTP/1.1\r\n\r\n");
	answered("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
	works(false);
	asked("POST /containers/x/stop HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
	works(true);
	answered("HTTP/1.1 204 No Content\r\n\r\n");
	works(false);
	asked("DELETE /containers/x HTTP/1.1\r\n\r\nDELETE /containers/y HTTP/1.1\r\n\r\n");
	answered("HTTP/1.1 304 Not Modified\r\n\r\n");
	works(true);
	answered("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	works(false);
}

static void work_lasts_from_request_to_the_end_of_its_answer(void **state)
{
	(void)state;
	conversation();
	for (piece = 1; piece < 5; piece++)
		conversation();
}

static void who_follows_waits_for_no_work(void **state)
{
	static const char *const requests[] = {
		"GET /events HTTP/1.1", "GET /v1.43/events?since=1 HTTP/1.1", "GET /containers/x/logs?follow=1 HTTP/1.1",
		"GET /v1.24/containers/x/stats HTTP/1.1", "POST /v1.43/containers/x/wait?condition=removed HTTP/1.1",
		"POST /v1.43/exec/0123/start HTTP/1.1", "POST /containers/x/attach?stream=1 HTTP/1.1",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		begin(state);
		asked(requests[i]);
		asked("\r\nHost: d\r\n\r\n");
		works(false);
		answered("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"die\"}\n");
		works(false);
	}
}

static void a_connection_that_is_switched_works_unless_it_follows(void **state)
{
	static const struct {
		const char *request;
		bool works;
	} rows[] = {
		{ "POST /exec/0123/start HTTP/1.1\r\nUpgrade: tcp\r\n\r\n", false },
		{ "POST /containers/x/attach?stdin=1 HTTP/1.1\r\nUpgrade: tcp\r\n\r\n", false },
		{ "POST /session HTTP/1.1\r\nUpgrade: h2c\r\n\r\n", true },
		{ "POST /grpc HTTP/1.1\r\nUpgrade: h2c\r\n\r\n", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(state);
		asked(rows[i].request);
		answered("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
		assert_false(docker_api_is_http(&d));
		asked("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
		answered("\0\0\0");
		assert_int_equal(docker_api_works(&d), rows[i].works);
	}
}

/* Old clients: no 101, what a command reads comes behind the request. */
static void input_behind_an_answer_without_an_end_is_no_request(void **state)
{
	(void)state;
	asked("POST /containers/x/attach?stdin=1 HTTP/1.1\r\n\r\n");
	answered("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n");
	asked("POST /build HTTP/1.1\r\n\r\n");
	works(false);
}

static void what_is_no_http_is_not_followed(void **state)
{
	static const char *const texts[] = {
		"hello\n", "GET\r\n", "GET events HTTP/1.1\r\n", "get / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nno colon\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 5x\r\n", "POST / HTTP/1.1\r\nContent-Length: -5\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		begin(state);
		asked(texts[i]);
		assert_false(docker_api_is_http(&d));
		assert_false(docker_api_works(&d));
	}
	begin(state);
	answered("HTTP/1.1 200 OK\r\n\r\n");
	assert_false(docker_api_is_http(&d)); /* to no question */
	begin(state);
	asked("GET / HTTP/1.1\r\n\r\n");
	answered("SSH-2.0-x\r\n");
	assert_false(docker_api_is_http(&d));
}

static void long_lines_are_read_to_their_end(void **state)
{
	static char line[4000];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	for (piece = 100; piece < 300; piece += 50) {
		asked("GET /events?filters=");
		asked(line);
		asked(" HTTP/1.1\r\nX-Registry-Auth: ");
		asked(line);
		asked("\r\n\r\n");
		works(false);
		answered("HTTP/1.1 200 OK\r\nX-Y: ");
		answered(line);
		answered("\r\nContent-Length: 1\r\n\r\nx");
		works(false);
		assert_int_equal(d.pendings, 0);
	}
}

static void more_requests_than_expected_are_passed_on_unread(void **state)
{
	(void)state;
	for (int i = 0; i < DOCKER_PENDING_MAX; i++)
		asked("GET /info HTTP/1.1\r\n\r\n");
	works(true);
	asked("GET /info HTTP/1.1\r\n\r\n");
	assert_false(docker_api_is_http(&d));
}

static void what_a_request_is_shows_in_its_head(void **state)
{
	static const struct {
		const char *head;
		enum docker_verdict is;
	} rows[] = {
		{ "", DOCKER_IS_PART },
		{ "G", DOCKER_IS_PART },
		{ "GET /_ping HTTP/1.1\r\nHost: d\r\n", DOCKER_IS_PART },
		{ "GET /_ping HTTP/1.1\r\nHost: d\r\n\r\n", DOCKER_IS_QUESTION },
		{ "HEAD /_ping HTTP/1.1\r\n\r\n", DOCKER_IS_QUESTION },
		{ "GET /v1.41/containers/json?all=1&filters=%7B%7D HTTP/1.1\r\nHost: d\r\n\r\n", DOCKER_IS_QUESTION },
		{ "GET /v1.41/containers/x/json HTTP/1.1\r\n\r\n", DOCKER_IS_QUESTION },
		{ "GET /volumes/data HTTP/1.1\r\n\r\n", DOCKER_IS_QUESTION },
		{ "GET /_ping HTTP/1.0\r\n\r\n", DOCKER_IS_USE },
		{ "GET /_ping HTTP/1.1\r\n\r\nG", DOCKER_IS_USE },
		{ "GET /_ping HTTP/1.1\r\nContent-Length: 1\r\n\r\n", DOCKER_IS_USE },
		{ "GET /_ping HTTP/1.1\r\nconnection: Close\r\n\r\n", DOCKER_IS_USE },
		{ "GET /_ping HTTP/1.1\r\nUpgrade: h2c\r\n\r\n", DOCKER_IS_USE },
		{ "GET /events HTTP/1.1\r\n\r\n", DOCKER_IS_USE },
		{ "GET /containers/x/logs HTTP/1.1\r\n\r\n", DOCKER_IS_USE },
		{ "GET /containers/x/y/json HTTP/1.1\r\n\r\n", DOCKER_IS_USE },
		{ "HEAD /containers/json HTTP/1.1\r\n\r\n", DOCKER_IS_USE },
		{ "POST /containers/json HTTP/1.1\r\n\r\n", DOCKER_IS_USE },
		{ "P", DOCKER_IS_USE },
		{ "GET\r\n\r\n", DOCKER_IS_USE },
		{ "GET /_ping\r\n\r\n", DOCKER_IS_USE },
	};
	static char longest[DOCKER_QUESTION_MAX + 2] = "GET /_ping HTTP/1.1\r\n";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (docker_api_judge(rows[i].head, strlen(rows[i].head)) != rows[i].is)
			fail_msg("%s", rows[i].head);
	memset(longest + 21, 'x', DOCKER_QUESTION_MAX - 20);
	assert_int_equal(docker_api_judge(longest, DOCKER_QUESTION_MAX - 1), DOCKER_IS_PART);
	assert_int_equal(docker_api_judge(longest, DOCKER_QUESTION_MAX), DOCKER_IS_USE);
	assert_int_equal(docker_api_judge("GET /_ping HTTP/1.1\r\nA: \0\r\n\r\n", 30), DOCKER_IS_USE);
	assert_true(docker_api_at_rest(&d));
	asked("GET /_pi");
	assert_false(docker_api_at_rest(&d));
	asked("ng HTTP/1.1\r\n\r\n");
	answered("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nO");
	assert_false(docker_api_at_rest(&d));
	answered("K");
	assert_true(docker_api_at_rest(&d));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup(fn, begin)
	const struct CMUnitTest tests[] = {
		T(what_a_request_is_shows_in_its_head),
		T(work_lasts_from_request_to_the_end_of_its_answer),
		T(who_follows_waits_for_no_work),
		T(a_connection_that_is_switched_works_unless_it_follows),
		T(input_behind_an_answer_without_an_end_is_no_request),
		T(what_is_no_http_is_not_followed),
		T(long_lines_are_read_to_their_end),
		T(more_requests_than_expected_are_passed_on_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
