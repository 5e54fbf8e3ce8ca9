/* The ceiling of the host agent's logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/hostagent/logs.h"

static char dir[40], path[60], old[64];

static int begin(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/logs.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ha.stdout.log", dir);
	snprintf(old, sizeof(old), "%s.1", path);
	return 0;
}

static int end(void **state)
{
	struct err e = { 0 };

	(void)state;
	return fs_remove_tree(dir, &e);
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) < 0 ? -1 : st.st_size;
}

static int open_log(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void fill(int fd, size_t n)
{
	char chunk[4096];

	memset(chunk, 'x', sizeof(chunk));
	for (; n; n -= n < sizeof(chunk) ? n : sizeof(chunk))
		assert_int_equal(io_write_full(fd, chunk, n < sizeof(chunk) ? n : sizeof(chunk)), 0);
}

static void a_log_beyond_the_limit_begins_anew(void **state)
{
	int fd = open_log();

	(void)state;
	fill(fd, LOGS_LIMIT);
	logs_check(fd, path);
	assert_int_equal(size_of(old), -1);
	fill(fd, 1);
	logs_check(fd, path);
	assert_int_equal(size_of(old), LOGS_LIMIT + 1);
	assert_int_equal(size_of(path), 0);
	fill(fd, 10); /* the same descriptor goes to the new file */
	assert_int_equal(size_of(path), 10);
	close(fd);
}

static void what_is_not_our_log_stays(void **state)
{
	int fd = open_log(), pipes[2];

	(void)state;
	fill(fd, LOGS_LIMIT + 1);
	/* Somebody moved it away: another file has its name now. */
	assert_int_equal(rename(path, old), 0);
	close(open_log());
	logs_check(fd, path);
	assert_int_equal(size_of(path), 0);
	assert_int_equal(size_of(old), LOGS_LIMIT + 1);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	logs_check(pipes[1], path);
	close(pipes[0]);
	close(pipes[1]);
}

static void a_log_that_cannot_begin_anew_is_tried_again(void **state)
{
	int fd = open_log(), probe = dup(fd);
	struct rlimit was, none;

	(void)state;
	fill(fd, LOGS_LIMIT + 1);
	close(probe);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = (rlim_t)probe; /* all that are free from here on */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	logs_check(fd, path);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(size_of(path), LOGS_LIMIT + 1);
	logs_check(fd, path);
	assert_int_equal(size_of(old), LOGS_LIMIT + 1);
	assert_int_equal(size_of(path), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_log_beyond_the_limit_begins_anew, begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_our_log_stays, begin, end),
		cmocka_unit_test_setup_teardown(a_log_that_cannot_begin_anew_is_tried_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
