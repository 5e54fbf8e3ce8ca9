#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/execproto.h"

static uint8_t bytes[EP_START_MAX + 1];

static const struct ep_start example = {
	.tty = true, .as_root = true, .files = true, .only_there = true, .rows = 24, .cols = 300, .term = "xterm", .workdir = "/tmp",
	.shell = "/bin/ash",
	.argc = 3, .argv = { "sh", "-c", "echo \"$A\" \xff" }, .envc = 2, .env = { "A=b c", "B=" },
};

static void test_start(void **state)
{
	struct ep_start s;
	ssize_t n = ep_start_pack(&example, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0);
	assert_int_equal(ep_start_unpack(&s, bytes, (size_t)n), 0);
	assert_true(s.tty && s.as_root && s.files && s.only_there);
	assert_int_equal(s.rows, 24);
	assert_int_equal(s.cols, 300);
	assert_string_equal(s.term, "xterm");
	assert_string_equal(s.workdir, "/tmp");
	assert_string_equal(s.shell, "/bin/ash");
	assert_int_equal(s.argc, 3);
	assert_string_equal(s.argv[2], example.argv[2]);
	assert_int_equal(s.envc, 2);
	assert_string_equal(s.env[1], "B=");
}

/* Every shorter piece, and one byte more, is refused; so is every place to write that is too short. */
static void test_exact_length(void **state)
{
	struct ep_start s;
	size_t n = (size_t)ep_start_pack(&example, bytes, sizeof(bytes));
	uint8_t small[200];

	(void)state;
	for (size_t k = 0; k < n; k++) {
		assert_int_equal(ep_start_unpack(&s, bytes, k), -1);
		assert_int_equal(ep_start_pack(&example, small, k), -1);
	}
	bytes[n] = 0;
	assert_int_equal(ep_start_unpack(&s, bytes, n + 1), -1);
}

static void test_bad_starts(void **state)
{
	struct ep_start s = example, got;
	static char big[EP_START_MAX];
	size_t n = (size_t)ep_start_pack(&example, bytes, sizeof(bytes));

	(void)state;
	bytes[0] = 16;
	assert_int_equal(ep_start_unpack(&got, bytes, n), -1);
	bytes[0] = 0;
	bytes[1] = 1;
	assert_int_equal(ep_start_unpack(&got, bytes, n), -1);
	bytes[1] = 0;
	bytes[7] = 0x10; /* 4099 arguments */
	assert_int_equal(ep_start_unpack(&got, bytes, n), -1);
	s.env[0] = "=x";
	assert_int_equal(ep_start_pack(&s, bytes, sizeof(bytes)), -1);
	s.env[0] = "novalue";
	assert_int_equal(ep_start_pack(&s, bytes, sizeof(bytes)), -1);
	s = example;
	s.argc = EP_ARGS_MAX + 1;
	assert_int_equal(ep_start_pack(&s, bytes, sizeof(bytes)), -1);
	s = example;
	memset(big, 'x', sizeof(big) - 1);
	s.workdir = big;
	assert_int_equal(ep_start_pack(&s, bytes, sizeof(bytes)), -1);
}

static void test_most_arguments(void **state)
{
	struct ep_start s = example, got;
	ssize_t n;

	(void)state;
	s.argc = EP_ARGS_MAX;
	s.envc = EP_ENV_MAX;
	for (size_t i = 0; i < EP_ARGS_MAX; i++)
		s.argv[i] = "arg";
	for (size_t i = 0; i < EP_ENV_MAX; i++)
		s.env[i] = "a=b";
	n = ep_start_pack(&s, bytes, sizeof(bytes));
	assert_true(n > 0);
	assert_int_equal(ep_start_unpack(&got, bytes, (size_t)n), 0);
	assert_string_equal(got.env[EP_ENV_MAX - 1], "a=b");
}

static void test_headers(void **state)
{
	uint8_t h[EP_HEADER];
	enum ep_type type;
	size_t len;

	(void)state;
	for (unsigned t = 0; t < 256; t++) {
		ep_header_pack(h, (enum ep_type)t, EP_PAYLOAD_MAX);
		if (t >= EP_START && t <= EP_FAILED) {
			assert_int_equal(ep_header_unpack(h, &type, &len), 0);
			assert_int_equal(type, t);
			assert_int_equal(len, EP_PAYLOAD_MAX);
		} else {
			assert_int_equal(ep_header_unpack(h, &type, &len), -1);
		}
	}
	ep_header_pack(h, EP_STDIN, EP_PAYLOAD_MAX + 1);
	assert_int_equal(ep_header_unpack(h, &type, &len), -1);
	ep_header_pack(h, EP_STDIN, 0);
	assert_int_equal(ep_header_unpack(h, &type, &len), 0);
	h[1] = 1;
	assert_int_equal(ep_header_unpack(h, &type, &len), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_exact_length),
		cmocka_unit_test(test_bad_starts),
		cmocka_unit_test(test_most_arguments),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
