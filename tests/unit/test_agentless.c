/* What is read of a guest's SSH server, which is not trusted, and the lines it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/ssh/direct.h"
#include "limactl-c/ssh/greeting.h"
#include "limactl-c/ssh/hostkey.h"
#include "limactl-c/ssh/line.h"
#include "limactl-c/ssh/remote.h"
#include "limactl-c/ssh/sftp_send.h"

/* --- the greeting --- */

/* In pieces of that many bytes. */
static void greet(struct greeting *g, const char *text, size_t len, size_t piece)
{
	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < piece ? len - at : piece;
		if (g->over)
			assert_int_equal(buf_add(&g->held, text + at, n), 0);
		else
			greeting_take(g, text + at, n);
	}
}

static void check_greeting(const char *text, size_t len, const char *pid, const char *output)
{
	for (size_t piece = 1; piece < 40; piece += 13) {
		struct greeting g = GREETING_INIT;

		greet(&g, text, len, piece);
		greeting_end(&g);
		assert_string_equal(g.pid, pid);
		assert_string_equal(g.held.data ? g.held.data : "", output);
		buf_free(&g.held);
	}
}
#define GREETING(text, pid, output) check_greeting(text, sizeof(text) - 1, pid, output)

static void test_greeting(void **state)
{
	(void)state;
	GREETING("limactl-c: process 4711\nhello\n", "4711", "hello\n");
	GREETING("limactl-c: process 4711\n", "4711", "");
	GREETING("limactl-c: process 12\r\nhello\r\n", "12", "hello\r\n");
	GREETING("of the profile\nlimactl-c: process 12\nx", "12", "x");
	GREETING("a\0b\nlimactl-c: process 12\nx", "12", "x");
	/* The first is ours, another is output. */
	GREETING("limactl-c: process 12\nlimactl-c: process 13\n", "12", "limactl-c: process 13\n");
	/* A number nobody must be signalled by. */
	GREETING("limactl-c: process 1\nx", "", "x");
	GREETING("limactl-c: process 0\nx", "", "limactl-c: process 0\nx");
	GREETING("limactl-c: process -12\nx", "", "limactl-c: process -12\nx");
	GREETING("limactl-c: process 12;reboot\nx", "", "limactl-c: process 12;reboot\nx");
	GREETING("limactl-c: process 99999999999\nx", "", "limactl-c: process 99999999999\nx");
	GREETING("This account is not available.\n", "", "This account is not available.\n");
	GREETING("", "", "");
}

static void test_greeting_that_does_not_come(void **state)
{
	struct greeting g = GREETING_INIT;
	static char much[GREETING_MAX];

	(void)state;
	memset(much, 'x', sizeof(much));
	greeting_take(&g, much, sizeof(much) - 1);
	assert_false(g.over);
	greeting_take(&g, much, 1);
	assert_true(g.over);
	assert_int_equal(g.held.len, sizeof(much));
	buf_free(&g.held);
}

/* --- host keys --- */

static void test_key_of_a_server(void **state)
{
	static const char ed[] = "\0\0\0\x0bssh-ed25519\0\0\0\x04""abcd";
	char text[AP_HOST_KEY_MAX];
	static char large[AP_HOST_KEY_MAX];

	(void)state;
	assert_int_equal(hostkey_text(ed, sizeof(ed) - 1, text), 0);
	assert_string_equal(text, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAABGFiY2Q=");
	assert_int_equal(hostkey_text(ed, sizeof(ed) - 2, text), 0);
	assert_string_equal(text, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAABGFiYw==");
	assert_int_equal(hostkey_text(ed, 14, text), -1);
	assert_int_equal(hostkey_text(ed, 3, text), -1);
	assert_int_equal(hostkey_text("", 0, text), -1);
	assert_int_equal(hostkey_text("\xff\xff\xff\xff""ssh", 7, text), -1);
	assert_int_equal(hostkey_text("\0\0\0\x05""s\nrsa", 9, text), -1);
	assert_int_equal(hostkey_text("\0\0\0\x05""s\0rsa", 9, text), -1);
	memcpy(large, ed, sizeof(ed));
	assert_int_equal(hostkey_text(large, sizeof(large), text), -1);
}

static void test_known_hosts(void **state)
{
	struct ap_host_keys known;
	auto_free char *kinds = NULL, *all = NULL;
	struct buf many = BUF_INIT(4096);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(hostkey_parse("# lima-a ssh-rsa AAAA\nlima-b ssh-rsa BBBB\nlima-a ssh-ed25519 AAAA comment\n\n"
				       "lima-a ssh-rsa\nlima-a ecdsa-sha2-nistp256 CCCC\nlima-a ssh-ed25519 AAAA\n"
				       "lima-a ssh-rsa A*A\nlima-ab ssh-rsa DDDD", "lima-a", &known, &e), 0);
	assert_int_equal(known.count, 2);
	assert_true(hostkey_is_known(&known, "ssh-ed25519 AAAA"));
	assert_true(hostkey_is_known(&known, "ecdsa-sha2-nistp256 CCCC"));
	assert_false(hostkey_is_known(&known, "ssh-ed25519 AAAB"));
	kinds = hostkey_methods(&known);
	assert_string_equal(kinds, "ssh-ed25519,ecdsa-sha2-nistp256");
	known.count = 0;
	all = hostkey_methods(&known);
	assert_non_null(strstr(all, "ssh-rsa"));
	for (int i = 0; i <= AP_HOST_KEYS_MAX; i++)
		assert_int_equal(buf_addf(&many, "lima-a ssh-rsa A%d\n", i), 0);
	assert_int_equal(hostkey_parse(many.data, "lima-a", &known, &e), -1);
	buf_free(&many);
	assert_int_equal(hostkey_load("/no/such/file", "lima-a", &known, &e), 0);
	assert_int_equal(known.count, 0);
}

/* --- lines --- */

/* What a shell prints that gets the line as a login shell of the server's user does. */
static void check_line(const char *shell, const struct buf *line, const char *output, int code)
{
	const char *argv[] = { shell, "-c", line->data, NULL };
	struct spawn s = { .argv = argv, .seconds = 20 };
	struct buf out = BUF_INIT(65536);
	struct err e = { 0 };

	assert_int_equal(spawn_run(&s, &out, &e), code);
	assert_string_equal(out.data ? strchr(out.data, '\n') + 1 : "", output);
	assert_int_equal(strncmp(out.data, LINE_MARK, strlen(LINE_MARK)), 0);
	buf_free(&out);
}

static void test_a_command_is_taken_apart_as_it_was(void **state)
{
	const struct ep_start start = { .term = "", .workdir = "/usr", .shell = "/bin/sh", .argc = 5,
					.argv = { "printf", "%s|", "it's", "$HOME \\ \"", "" },
					.envc = 3, .env = { "FRUIT=a pear", "=x", "--help" } };
	const struct ep_start env = { .term = "", .workdir = "/no/such", .shell = "", .argc = 3, .argv = { "sh", "-c", "echo $FRUIT" },
				      .envc = 1, .env = { "FRUIT=a 'pear'" } };
	const struct ep_start there = { .term = "", .workdir = "/no/such", .shell = "", .only_there = true, .argc = 1,
					.argv = { "true" } };
	struct buf line = BUF_INIT(LINE_MAX_BYTES);

	(void)state;
	setenv("SHELL", "/bin/sh", 1);
	for (int i = 0; i < 2; i++) {
		const char *shell = i ? "bash" : "sh";

		assert_int_equal(line_command(&line, &start), 0);
		check_line(shell, &line, "it's|$HOME \\ \"||", 0);
		buf_free(&line);
		assert_int_equal(line_command(&line, &env), 0);
		check_line(shell, &line, "a 'pear'\n", 0);
		buf_free(&line);
		assert_int_equal(line_command(&line, &there), 0);
		check_line(shell, &line, "", 1);
		buf_free(&line);
	}
}

static void test_lines_have_a_bound(void **state)
{
	const struct ep_start start = { .term = "", .workdir = "", .shell = "", .argc = 1, .argv = { "true" } };
	struct buf line = BUF_INIT(100);

	(void)state;
	assert_int_equal(line_command(&line, &start), -1);
	assert_int_equal(line_connect(&line, "/run/docker.sock"), -1);
	buf_free(&line);
}

static void test_requests_for_channels(void **state)
{
	static const uint8_t tcp[] = "\0\0\0\x09""127.0.0.1\0\0\x1f\x90\0\0\0\x09""127.0.0.1\0\0\0\0";
	static const uint8_t sock[] = "\0\0\0\x02/s\0\0\0\0\0\0\0\0";
	const struct ap_open o = { .kind = AP_OPEN_TCP, .family = 4, .addr = { 127, 0, 0, 1 }, .port = 8080 };
	const struct ap_open s = { .kind = AP_OPEN_UNIX, .path = "/s" };
	size_t len;
	auto_free uint8_t *a = direct_tcpip_request(&o, &len), *b = NULL;

	(void)state;
	assert_int_equal(len, sizeof(tcp) - 1);
	assert_memory_equal(a, tcp, len);
	b = direct_streamlocal_request(&s, &len);
	assert_int_equal(len, sizeof(sock) - 1);
	assert_memory_equal(b, sock, len);
}

static void test_signals(void **state)
{
	(void)state;
	assert_int_equal(remote_signal_number("TERM"), 15);
	assert_int_equal(remote_signal_number("USR2"), 12);
	assert_int_equal(remote_signal_number("TERM\n"), 0);
	assert_int_equal(remote_signal_number(""), 0);
}

/* --- files --- */

static bool is_name(const char *bytes, size_t len)
{
	char name[FP_NAME_MAX + 2];

	memcpy(name, bytes, len);
	return sftp_send_name(name, len);
}

static void test_names_of_a_server(void **state)
{
	static char lots[FP_NAME_MAX + 1];

	(void)state;
	memset(lots, 'x', sizeof(lots));
	assert_true(is_name("a b\n\xff", 5));
	assert_true(is_name("...", 3));
	assert_true(is_name(lots, FP_NAME_MAX));
	assert_false(is_name(lots, FP_NAME_MAX + 1));
	assert_false(is_name("", 0));
	assert_false(is_name(".", 1));
	assert_false(is_name("..", 2));
	assert_false(is_name("../x", 4));
	assert_false(is_name("/etc/passwd", 11));
	assert_false(is_name("a/", 2));
	assert_false(is_name("a\0b", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greeting),
		cmocka_unit_test(test_greeting_that_does_not_come),
		cmocka_unit_test(test_key_of_a_server),
		cmocka_unit_test(test_known_hosts),
		cmocka_unit_test(test_a_command_is_taken_apart_as_it_was),
		cmocka_unit_test(test_lines_have_a_bound),
		cmocka_unit_test(test_requests_for_channels),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_names_of_a_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
