/* A listening socket of the guest agent, where the system has no room for a connection: the agent does not spin. */
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

#include "guestagent/accept.h"
#include "lib/clock.h"
#include "lib/sock.h"

static struct ga_loop loop;
static struct ga_accept listener;
static char dir[32], path[40];
static int failure;       /* errno that accept4() gives … */
static unsigned failures; /* … that many times, … */
static int64_t fails_until; /* … or until then, on clock_ms() */
static unsigned calls, taken;

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

static void take(struct ga_accept *a, int fd)
{
	close(fd);
	if (++taken == 3)
		a->loop->quit = true;
}

static int begin(void **state)
{
	struct err e;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/acc.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	calls = taken = 0;
	assert_int_equal(ga_loop_init(&loop, &e), 0);
	listener = (struct ga_accept){ .loop = &loop, .name = "a test", .take = take };
	assert_int_equal(ga_accept_start(&listener, sock_listen_unix(path, 0600, &e)), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ga_accept_close(&listener);
	ga_loop_free(&loop);
	unlink(path);
	rmdir(dir);
	return 0;
}

enum { SHORT_MS = 250, LOOKS = 20 }; /* for how long there is no room, and how often that may be seen: a spin is thousands */

/* Three connections wait in the queue while accept4() fails times, or with 0 for SHORT_MS. */
static void until_all_are_taken(int errnum, unsigned times)
{
	int fd[3];
	struct err e;

	failure = errnum;
	failures = times;
	fails_until = times ? 0 : clock_ms() + SHORT_MS;
	for (int i = 0; i < 3; i++) {
		fd[i] = sock_connect_unix(path, &e);
		assert_true(fd[i] >= 0);
	}
	ga_loop_run(&loop);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	assert_int_equal(taken, 3);
	assert_int_equal(failures, 0);
}

static void without_room_it_asks_now_and_then(void **state)
{
	static const int shortage[] = { EMFILE, ENFILE, ENOBUFS, ENOMEM };

	for (size_t i = 0; i < sizeof(shortage) / sizeof(shortage[0]); i++) {
		if (i)
			begin(state);
		until_all_are_taken(shortage[i], 0);
		assert_true(calls <= LOOKS);
		if (i + 1 < sizeof(shortage) / sizeof(shortage[0]))
			end(state);
	}
}

/* Is no reason to wait. */
static void a_connection_that_broke_in_the_queue(void **state)
{
	(void)state;
	until_all_are_taken(ECONNABORTED, 5);
	assert_true(calls <= 5 + 3 + 1);
}

static void stop(struct ga_accept *a, int fd)
{
	close(fd);
	ga_accept_stop(a);
	a->loop->quit = true;
}

static void taking_one_may_end_it(void **state)
{
	struct err e;
	int fd = sock_connect_unix(path, &e), other = sock_connect_unix(path, &e), kept = listener.watch.fd;

	(void)state;
	listener.take = stop;
	ga_loop_run(&loop);
	assert_int_equal(calls, 1);
	assert_int_equal(listener.watch.fd, -1);
	loop.quit = false;
	taken = 2;
	listener.take = take;
	assert_int_equal(ga_accept_start(&listener, kept), 0); /* who waits is found */
	ga_loop_run(&loop);
	assert_int_equal(taken, 3);
	close(fd);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_room_it_asks_now_and_then, begin, end),
		cmocka_unit_test_setup_teardown(a_connection_that_broke_in_the_queue, begin, end),
		cmocka_unit_test_setup_teardown(taking_one_may_end_it, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
