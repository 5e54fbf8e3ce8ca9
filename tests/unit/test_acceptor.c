/* A listening socket of the host agent, where the system has no room for a connection: the loop does not spin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/sock.h"
#include "limactl-c/hostagent/acceptor.h"

static struct loop *loop;
static struct acceptor *a;
static char dir[32], path[40];
static int failure;       /* errno that accept4() gives … */
static unsigned failures; /* … that many times, … */
static int64_t fails_until; /* … or until then, on clock_ms() */
static int drop_failure;  /* that accept() gives; 0: it works */
static unsigned calls, dropped, taken;

/* In place of libc's. */
int accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	calls++;
	if (!failures && clock_ms() >= fails_until)
		return (int)syscall(SYS_accept4, fd, sa, len, flags);
	failures -= failures > 0;
	errno = failure;
	return -1;
}

int accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	errno = drop_failure;
	if (drop_failure)
		return -1;
	dropped++;
	return (int)syscall(SYS_accept4, fd, sa, len, 0);
}

static void take(void *ctx, int fd)
{
	(void)ctx;
	close(fd);
	if (dropped + ++taken == 3)
		loop_stop(loop);
}

static int begin(void **state)
{
	struct err e;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/acc.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	calls = dropped = taken = 0;
	drop_failure = 0;
	loop = loop_new();
	a = acceptor_new(loop, sock_listen_unix(path, 0600, &e), take, NULL);
	acceptor_start(a);
	return 0;
}

static int end(void **state)
{
	(void)state;
	acceptor_free(a);
	loop_free(loop);
	unlink(path);
	rmdir(dir);
	return 0;
}

enum { SHORT_MS = 250, LOOKS = 20 }; /* for how long there is no room, and how often that may be seen: a spin is thousands */

/* Three connections wait in the queue while accept4() fails times, or with 0 for SHORT_MS. */
static void until_the_queue_is_empty(int errnum, unsigned times)
{
	struct err e;
	int fd[3];

	failure = errnum;
	failures = times;
	fails_until = times ? 0 : clock_ms() + SHORT_MS;
	for (int i = 0; i < 3; i++) {
		fd[i] = sock_connect_unix(path, &e);
		assert_true(fd[i] >= 0);
	}
	loop_run(loop);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	assert_int_equal(failures, 0);
}

static void without_descriptors_it_drops(void **state)
{
	(void)state;
	until_the_queue_is_empty(EMFILE, 2);
	assert_int_equal(dropped, 2);
	assert_int_equal(taken, 1);
}

static void where_it_cannot_even_drop_it_asks_now_and_then(void **state)
{
	(void)state;
	drop_failure = ENFILE;
	until_the_queue_is_empty(ENFILE, 0);
	assert_int_equal(taken, 3);
	assert_true(calls <= LOOKS);
}

static void without_memory_it_asks_now_and_then(void **state)
{
	static const int shortage[] = { ENOBUFS, ENOMEM };

	for (size_t i = 0; i < sizeof(shortage) / sizeof(shortage[0]); i++) {
		calls = taken = 0;
		until_the_queue_is_empty(shortage[i], 0);
		assert_int_equal(taken, 3);
		assert_true(calls <= LOOKS);
	}
	(void)state;
}

static void a_connection_that_broke_in_the_queue(void **state)
{
	(void)state;
	until_the_queue_is_empty(ECONNABORTED, 5);
	assert_int_equal(taken, 3);
	assert_true(calls <= 5 + 3 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_descriptors_it_drops, begin, end),
		cmocka_unit_test_setup_teardown(where_it_cannot_even_drop_it_asks_now_and_then, begin, end),
		cmocka_unit_test_setup_teardown(without_memory_it_asks_now_and_then, begin, end),
		cmocka_unit_test_setup_teardown(a_connection_that_broke_in_the_queue, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
