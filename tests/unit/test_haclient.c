/* The control socket's client against a host agent that says whatever a test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/store/paths.h"
#include "tests/unit/tmp_dir.h"

/* A process that answers one request with text and closes, or stays silent when text is NULL. */
static pid_t serve(const char *dir, const char *text)
{
	auto_free char *path = path_in(dir, PATH_HA_SOCK);
	struct err e = { 0 };
	int listener = sock_listen_unix(path, 0600, &e);
	pid_t pid;

	assert_true(listener >= 0);
	io_set_nonblock(listener, false);
	pid = fork();
	if (pid == 0) {
		int fd = accept(listener, NULL, NULL);
		char request[4096];

		if (fd < 0 || read(fd, request, sizeof(request)) < 0)
			_exit(1);
		for (size_t i = 0; i < 1000 && text && *text; i++) /* a byte at a time: nobody may count on whole packets */
			if (write(fd, text++, 1) < 0)
				_exit(1);
		if (text && io_write_full(fd, text, strlen(text)) < 0)
			_exit(1);
		if (!text)
			pause();
		_exit(0);
	}
	close(listener);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int ask(const char *dir, const char *text, int ms, struct hac_answer *a, struct err *e)
{
	pid_t pid = serve(dir, text);
	int rc = hac_request(dir, "GET", "/v1/status", NULL, ms, a, e);

	end(pid);
	return rc;
}

static void test_answers(void **state)
{
	static const char *const texts[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloand more",
		"HTTP/1.1 200 OK\r\ncontent-length:5\r\nX: y\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\n\r\nhello",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct hac_answer a = HAC_ANSWER_INIT;
		struct err e = { 0 };

		assert_int_equal(ask(*state, texts[i], 10000, &a, &e), 0);
		assert_int_equal(a.status, 200);
		assert_memory_equal(a.body.data, "hello", 5);
		buf_free(&a.body);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *msg;
		enum err_kind kind;
	} rows[] = {
		{ "HTTP/1.1 409 Conflict\r\nContent-Length: 19\r\n\r\n{\"message\":\"no no\"}", "no no", ERR_STATE },
		{ "HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\n???", "the host agent refused", ERR_STATE },
		{ "", "the host agent closed the connection without an answer", ERR_INVALID },
		{ "SSH-2.0-OpenSSH\r\n\r\n", "the host agent's answer is no HTTP", ERR_INVALID },
		{ "HTTP/1.1 \r\n\r\n", "the host agent's answer is no HTTP", ERR_INVALID },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct hac_answer a = HAC_ANSWER_INIT;
		struct err e = { 0 };

		assert_int_equal(ask(*state, rows[i].text, 10000, &a, &e), -1);
		assert_string_equal(e.msg, rows[i].msg);
		assert_int_equal(e.kind, rows[i].kind);
		buf_free(&a.body);
	}
}

/* The longest a host agent says is taken, and no byte more. */
static void test_long_answers(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";

	for (size_t more = 0; more < 2; more++) {
		struct hac_answer a = HAC_ANSWER_INIT;
		size_t n = strlen(head) + PATH_HA_ANSWER_MAX + more;
		auto_free char *text = malloc(n + 1);
		struct err e = { 0 };

		memset(text, 'x', n);
		memcpy(text, head, strlen(head));
		text[n] = '\0';
		assert_int_equal(ask(*state, text, 10000, &a, &e), more ? -1 : 0);
		if (more)
			assert_string_equal(e.msg, "the host agent's answer is too long");
		else
			assert_int_equal(a.body.len, PATH_HA_ANSWER_MAX);
		buf_free(&a.body);
	}
}

static void test_deadline(void **state)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct timespec from, to;
	struct err e = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(ask(*state, NULL, 100, &a, &e), -1);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_true(to.tv_sec - from.tv_sec < 10);
	buf_free(&a.body);
}

static void test_nobody_there(void **state)
{
	auto_free char *path = path_in(*state, PATH_HA_SOCK);
	struct hac_answer a = HAC_ANSWER_INIT;
	struct err e = { 0 };
	int fd;

	assert_int_equal(hac_request(*state, "GET", "/", NULL, 100, &a, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	/* A socket that was left behind. */
	fd = sock_listen_unix(path, 0600, &e);
	close(fd);
	assert_int_equal(hac_request(*state, "GET", "/", NULL, 100, &a, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
}

static void test_exec(void **state)
{
	pid_t pid = serve(*state, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nfirst bytes");
	auto_buf early = BUF_INIT(65536);
	struct err e = { 0 };
	char rest[64];
	ssize_t k;
	int fd = hac_exec(*state, &early, &e);

	assert_true(fd >= 0);
	k = io_read_full(fd, rest, sizeof(rest));
	assert_true(k >= 0);
	buf_add(&early, rest, (size_t)k);
	assert_string_equal(early.data, "first bytes");
	close(fd);
	end(pid);
	pid = serve(*state, "HTTP/1.1 409 Conflict\r\n\r\n{\"message\":\"asleep\"}");
	buf_drop_front(&early, early.len);
	assert_int_equal(hac_exec(*state, &early, &e), -1);
	end(pid);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, tmp_dir_make, tmp_dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_answers), T(test_refusals), T(test_long_answers), T(test_deadline), T(test_nobody_there), T(test_exec),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
