/* The control socket's HTTP: what is taken, what is refused, in whatever pieces it arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "limactl-c/hostagent/http.h"

static void a_request_arrives_byte_by_byte(void **state)
{
	static const char text[] = "POST /v1/stop?now=1 HTTP/1.1\r\nHost: lima\r\ncontent-LENGTH:  14 \r\n\r\n"
				   "{\"force\":true}rest";
	size_t whole = sizeof(text) - 1 - 4;
	struct http_request r;

	(void)state;
	for (size_t n = 0; n < whole; n++)
		assert_int_equal(http_parse(text, n, &r), 0);
	for (size_t n = whole; n < sizeof(text); n++) {
		assert_int_equal(http_parse(text, n, &r), 1);
		assert_string_equal(r.method, "POST");
		assert_string_equal(r.path, "/v1/stop");
		assert_int_equal(r.body_len, 14);
		assert_memory_equal(r.body, "{\"force\":true}", 14);
		assert_int_equal(r.used, whole);
	}
}

static void without_headers_or_body(void **state)
{
	static const char text[] = "GET /v1/info HTTP/1.0\r\n\r\n";
	struct http_request r;

	(void)state;
	assert_int_equal(http_parse(text, sizeof(text) - 1, &r), 1);
	assert_string_equal(r.path, "/v1/info");
	assert_int_equal(r.body_len, 0);
	assert_int_equal(r.used, sizeof(text) - 1);
}

static void malformed_requests_are_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "\r\n\r\n", 400 },
		{ "GET\r\n\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "GET / HTTP/2.0\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n\r\n", 400 },
		{ "GET v1 HTTP/1.1\r\n\r\n", 400 },
		{ "G\x01T / HTTP/1.1\r\n\r\n", 400 },
		{ "ANENDLESSLYLONGMETHOD / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nnocolon\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n: empty\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nContent-Length : 1\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413 },
		{ "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999999\r\n\r\n", 413 },
		{ "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501 },
	};
	struct http_request r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(http_parse(cases[i].text, strlen(cases[i].text), &r), -1);
		assert_int_equal(r.status, cases[i].status);
		assert_non_null(r.why);
	}
}

static void the_head_has_a_limit(void **state)
{
	static char text[HTTP_HEAD_MAX + 100];
	struct http_request r;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
	assert_int_equal(http_parse(text, HTTP_HEAD_MAX - 1, &r), 0);
	assert_int_equal(http_parse(text, HTTP_HEAD_MAX, &r), -1);
	assert_int_equal(r.status, 431);
	/* A path of the longest length is taken, one more is not. */
	memset(text, 'p', HTTP_PATH_MAX + 10);
	memcpy(text, "GET /", 5);
	memcpy(text + 4 + HTTP_PATH_MAX, " HTTP/1.1\r\n\r\n", 13);
	assert_int_equal(http_parse(text, 4 + HTTP_PATH_MAX + 13, &r), 1);
	memcpy(text + 4 + HTTP_PATH_MAX, "p HTTP/1.1\r\n\r\n", 14);
	assert_int_equal(http_parse(text, 4 + HTTP_PATH_MAX + 14, &r), -1);
}

static void answers_have_a_length(void **state)
{
	auto_buf out = BUF_INIT(1000);

	(void)state;
	assert_int_equal(http_answer(&out, 409, "{\"message\":\"no\"}"), 0);
	assert_string_equal(out.data, "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n"
				      "Content-Length: 17\r\nConnection: close\r\n\r\n{\"message\":\"no\"}\n");
}

static void status_of_an_answer(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "", 0 },
		{ "HTTP/1.1 20", 0 },
		{ "HTTP/1.0 200 OK\r\n", 200 },
		{ "HTTP/1.1 500 Internal", 500 },
		{ "HTTP/1.1 404\r\n", 404 },
		{ "HTTP/2", -1 },
		{ "SSH-2.0-x", -1 },
		{ "HTTP/1.1 2x0 OK\r\n", -1 },
		{ "HTTP/1.1 2000 OK\r\n", -1 },
		{ "HTTP/1.1 000 OK\r\n", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(http_status(cases[i].text, strlen(cases[i].text)), cases[i].status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_arrives_byte_by_byte),
		cmocka_unit_test(without_headers_or_body),
		cmocka_unit_test(malformed_requests_are_refused),
		cmocka_unit_test(the_head_has_a_limit),
		cmocka_unit_test(answers_have_a_length),
		cmocka_unit_test(status_of_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
