/* The command line's end of an exec stream, against a guest that is a script of records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/cli/exec.h"

/* One side of the conversation in a process of its own: reads the START record, then runs fn. */
static pid_t guest(int fd[2], void (*fn)(int fd))
{
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	pid = fork();
	if (pid == 0) {
		uint8_t head[EP_HEADER], body[EP_PAYLOAD_MAX];
		enum ep_type type;
		size_t len;

		close(fd[0]);
		if (io_read_full(fd[1], head, EP_HEADER) != EP_HEADER || ep_header_unpack(head, &type, &len) < 0 ||
		    type != EP_START || io_read_full(fd[1], body, len) != (ssize_t)len)
			_exit(1);
		fn(fd[1]);
		_exit(0);
	}
	close(fd[1]);
	return pid;
}

static void put(int fd, enum ep_type type, const void *p, size_t n)
{
	uint8_t head[EP_HEADER];

	ep_header_pack(head, type, n);
	if (io_write_full(fd, head, EP_HEADER) < 0 || io_write_full(fd, p, n) < 0)
		_exit(1);
}

static void put_exit(int fd, int32_t code)
{
	uint8_t p[4] = { (uint8_t)code, (uint8_t)(code >> 8), (uint8_t)(code >> 16), (uint8_t)(code >> 24) };

	put(fd, EP_EXIT, p, 4);
}

/* What exec_run wrote to standard output, and its answer. Standard input is the file at in. */
struct result {
	int code;
	struct err e;
	char out[256];
};

static struct result run(void (*fn)(int fd), const char *in)
{
	struct ep_start start = { .term = "", .workdir = "", .shell = "" };
	struct result r = { .code = 0 };
	struct buf early = BUF_INIT(65536);
	int fd[2], saved_out = dup(1), saved_in = dup(0), pipe_fd[2], file = open(in, O_RDONLY);
	pid_t pid = guest(fd, fn);
	ssize_t k;

	assert_int_equal(pipe(pipe_fd), 0);
	fflush(stdout);
	dup2(pipe_fd[1], 1);
	dup2(file, 0);
	r.code = exec_run(fd[0], &early, &start, &r.e);
	dup2(saved_out, 1);
	dup2(saved_in, 0);
	close(pipe_fd[1]);
	k = io_read_full(pipe_fd[0], r.out, sizeof(r.out) - 1);
	r.out[k < 0 ? 0 : k] = '\0';
	close(pipe_fd[0]);
	close(fd[0]);
	close(file);
	close(saved_in);
	close(saved_out);
	waitpid(pid, NULL, 0);
	return r;
}

static void says_and_exits(int fd)
{
	put(fd, EP_STDOUT, "hello ", 6);
	put(fd, EP_STDOUT, "world", 5);
	put_exit(fd, 42);
}

static void test_output_and_status(void **state)
{
	struct result r = run(says_and_exits, "/dev/null");

	(void)state;
	assert_int_equal(r.code, 42);
	assert_string_equal(r.out, "hello world");
}

/* Waits for the end of the input, then says how much there was. */
static void counts_input(int fd)
{
	uint8_t head[EP_HEADER], body[EP_PAYLOAD_MAX];
	char text[32];
	size_t total = 0, len;
	enum ep_type type;

	for (;;) {
		if (io_read_full(fd, head, EP_HEADER) != EP_HEADER || ep_header_unpack(head, &type, &len) < 0 ||
		    io_read_full(fd, body, len) != (ssize_t)len)
			_exit(1);
		if (type == EP_STDIN_END)
			break;
		total += type == EP_STDIN ? len : 0;
	}
	snprintf(text, sizeof(text), "%zu", total);
	put(fd, EP_STDOUT, text, strlen(text));
	put_exit(fd, 0);
}

static void test_input_and_its_end(void **state)
{
	char path[] = "/tmp/ut.XXXXXX", block[1000] = { 'x' };
	int fd = mkstemp(path);
	struct result r;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(io_write_full(fd, block, sizeof(block)), 0);
	close(fd);
	r = run(counts_input, path);
	unlink(path);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "1000000");
}

/* Takes no input before its output was taken: a client that waits for the one or the other would hang. */
static void floods(int fd)
{
	static uint8_t block[EP_PAYLOAD_MAX];

	for (int i = 0; i < 100; i++)
		put(fd, EP_STDERR, block, sizeof(block));
	counts_input(fd);
}

static void test_both_directions_full(void **state)
{
	char path[] = "/tmp/ut.XXXXXX";
	int fd = mkstemp(path), saved = dup(2), null = open("/dev/null", O_WRONLY);
	struct result r;

	(void)state;
	assert_int_equal(ftruncate(fd, 3 << 20), 0);
	close(fd);
	dup2(null, 2);
	alarm(60);
	r = run(floods, path);
	alarm(0);
	dup2(saved, 2);
	close(saved);
	close(null);
	unlink(path);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "3145728");
}

/* "head -1" of a large input: the status counts, not that nobody takes the rest. */
static void test_input_nobody_wants(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct result r = run(says_and_exits, "/dev/zero");

		assert_int_equal(r.code, 42);
		assert_string_equal(r.out, "hello world");
	}
}

static void cannot(int fd)
{
	put(fd, EP_FAILED, "no such user", 12);
}

static void leaves(int fd)
{
	put(fd, EP_STDOUT, "x", 1);
}

static void talks_nonsense(int fd)
{
	if (io_write_full(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8) < 0)
		_exit(1);
}

static void answers_with_a_request(int fd)
{
	put(fd, EP_STDIN, "x", 1);
}

static void short_exit(int fd)
{
	put(fd, EP_EXIT, "x", 1);
}

static void test_failures(void **state)
{
	static const struct {
		void (*fn)(int fd);
		const char *msg;
	} rows[] = {
		{ cannot, "no such user" },
		{ leaves, "the connection to the guest was lost" },
		{ talks_nonsense, "the connection to the guest was lost: malformed record" },
		{ answers_with_a_request, "the connection to the guest was lost: unexpected record" },
		{ short_exit, "the connection to the guest was lost: malformed exit status" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct result r = run(rows[i].fn, "/dev/zero");

		assert_int_equal(r.code, -1);
		assert_string_equal(r.e.msg, rows[i].msg);
	}
}

/* Ends with the number of the first signal it is sent, as a shell would. */
static void waits_for_signal(int fd)
{
	uint8_t head[EP_HEADER], body[EP_PAYLOAD_MAX];
	enum ep_type type;
	size_t len;

	kill(getppid(), SIGTERM);
	do {
		if (io_read_full(fd, head, EP_HEADER) != EP_HEADER || ep_header_unpack(head, &type, &len) < 0 ||
		    io_read_full(fd, body, len) != (ssize_t)len)
			_exit(1);
	} while (type != EP_SIGNAL);
	put_exit(fd, 128 + body[0]);
}

static void test_signals_are_forwarded(void **state)
{
	struct result r = run(waits_for_signal, "/dev/null");
	struct sigaction now;

	(void)state;
	assert_int_equal(r.code, 128 + SIGTERM);
	sigaction(SIGTERM, NULL, &now);
	assert_true(now.sa_handler == SIG_DFL);
}

enum { ROOM = 4096 }; /* of the pipe that is standard error */

static int error_reader;

/* Our errors are not read before the signal has come, which is sent when there is no room for them any more. */
static void reads_after_the_signal(int fd)
{
	static uint8_t block[2 * ROOM];
	int there = 0;

	put(fd, EP_STDERR, block, sizeof(block));
	while (there < ROOM && ioctl(error_reader, FIONREAD, &there) == 0)
		usleep(1000);
	waits_for_signal(fd);
	io_read_full(error_reader, block, sizeof(block));
}

static void test_signals_while_there_is_no_room(void **state)
{
	int fd[2], saved = dup(2);
	struct result r;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(fcntl(fd[1], F_SETPIPE_SZ, ROOM), ROOM);
	assert_int_equal(io_set_nonblock(fd[1], true), 0);
	error_reader = fd[0];
	dup2(fd[1], 2);
	alarm(60);
	r = run(reads_after_the_signal, "/dev/null");
	alarm(0);
	dup2(saved, 2);
	close(saved);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(r.code, 128 + SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_and_status),    cmocka_unit_test(test_input_and_its_end),
		cmocka_unit_test(test_both_directions_full), cmocka_unit_test(test_input_nobody_wants),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_signals_are_forwarded), cmocka_unit_test(test_signals_while_there_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
