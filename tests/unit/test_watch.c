/* What `watch` tells of an instance, from its log and from a host agent that says what a test wants. All times are written
 * down: no clock is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/cli/watch.h"
#include "limactl-c/store/paths.h"
#include "tests/unit/tmp_dir.h"

#define LINE(time, what) "{\"time\":\"2026-05-01T" time "Z\",\"status\":{\"what\":\"" what "\"}}\n"

static struct buf told = BUF_INIT(64); /* what of each event, in order */

static void note(const char *instance, const struct jx *event)
{
	const struct jx *status = jx_member(event, "status");

	assert_string_equal(instance, "a");
	assert_int_equal(buf_adds(&told, jx_string_or(status, "what", jx_member(status, "eventsDropped") ? "!" : "?")), 0);
}

/* A host agent with no forwards. It says first to who asks for events; the rest follows when the test lets it, and the end. */
struct agent {
	pid_t pid;
	int go;
};

static void serve(int listener, int go, const char *first, const char *rest)
{
	static const char forwards[] = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"forwards\":[]}";
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
	char request[4096] = "", c;
	int events = accept(listener, NULL, NULL), fd;

	if (read(events, request, sizeof(request) - 1) < 0 || !strstr(request, "/v1/events") ||
	    io_write_full(events, head, strlen(head)) < 0 || io_write_full(events, first, strlen(first)) < 0)
		_exit(1);
	fd = accept(listener, NULL, NULL);
	if (read(fd, request, sizeof(request)) < 0 || io_write_full(fd, forwards, strlen(forwards)) < 0)
		_exit(1);
	close(fd);
	if (read(go, &c, 1) != 1 || io_write_full(events, rest, strlen(rest)) < 0)
		_exit(1);
	_exit(0);
}

static struct agent agent_begin(const char *dir, const char *first, const char *rest)
{
	auto_free char *path = path_in(dir, PATH_HA_SOCK);
	struct err e = { 0 };
	int listener = sock_listen_unix(path, 0600, &e), go[2];
	struct agent a;

	assert_true(listener >= 0);
	assert_int_equal(pipe(go), 0);
	io_set_nonblock(listener, false);
	a = (struct agent){ fork(), go[1] };
	if (a.pid == 0) {
		close(go[1]);
		serve(listener, go[0], first, rest);
	}
	close(go[0]);
	close(listener);
	return a;
}

static void agent_end(struct agent *a)
{
	int status;

	close(a->go);
	waitpid(a->pid, &status, 0);
	assert_int_equal(status, 0);
}

static void file_has(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void log_has(const char *dir, const char *text)
{
	auto_free char *path = path_in(dir, PATH_HA_STDOUT);

	file_has(path, text);
}

static void begin(struct watched *w, const char *dir, const char *since)
{
	struct inst i = { xstrdup("a"), xstrdup(dir) };

	buf_drop_front(&told, told.len);
	watched_init(w, &i, note, since);
}

/* log: what it holds when the stream has said first; rest: what the stream says later. */
static const char *log_by_then; /* what the log holds before the rest is said; NULL: the same */

static void check(const char *dir, const char *since, const char *log, const char *first, const char *rest, const char *want)
{
	struct agent a = agent_begin(dir, first, rest);
	struct watched w;

	begin(&w, dir, since);
	log_has(dir, log);
	watched_look(&w);
	assert_true(w.fd >= 0);
	if (log_by_then)
		log_has(dir, log_by_then);
	assert_int_equal(write(a.go, "x", 1), 1);
	while (w.fd >= 0) {
		struct pollfd p = { w.fd, POLLIN, 0 };

		assert_int_equal(poll(&p, 1, 20000), 1);
		watched_read(&w);
	}
	watched_fini(&w);
	agent_end(&a);
	assert_string_equal(told.data, want);
	buf_free(&told);
}

#define A LINE("10:00:00", "a")
#define B LINE("10:00:01", "b")
#define C LINE("10:00:02", "c")
#define BACK LINE("09:00:00", "<")
#define BACK_MORE LINE("09:00:01", "-")

static void test_the_log_then_the_stream(void **state)
{
	check(*state, "", A B, B, C, "abc");
	check(*state, "2026-05-01T10:00:00Z", A B, B, C, "bc");
	check(*state, "2026-05-01T10:00:01Z", A B, B, C, "c");
}

static void test_said_by_both_is_told_once(void **state)
{
	check(*state, "", A B C, A B C, BACK, "abc<");
	check(*state, "", A B C, A B, C BACK, "abc<");
}

/* The host's clock was set back an hour: what comes is told all the same, and once. */
static void test_a_clock_set_back(void **state)
{
	check(*state, "", A B, B, BACK BACK_MORE C, "ab<-c");
	check(*state, "2026-05-01T10:00:01Z", A B, B, BACK BACK_MORE, "<-");
	/* Between the opening of the stream and the look at the log. */
	check(*state, "", A B BACK, B BACK, BACK_MORE, "ab<-");
}

#define GAP "{\"time\":\"2026-05-01T10:00:03Z\",\"status\":{\"eventsDropped\":2}}\n"
#define D LINE("10:00:04", "d")

/* The reader was too slow: what it missed is in the log, or else it is told of it. The newest line about the state follows. */
static void test_a_gap(void **state)
{
	log_by_then = A B C;
	check(*state, "", A, A, GAP A D, "abcd");
	check(*state, "", A, A, GAP C D, "abcd");
	log_by_then = C;
	check(*state, "", A, A, GAP A D, "ac!d");
	log_by_then = NULL;
	check(*state, "", A, A, GAP A D, "a!d");
}

/* The newest line about the state is older than what is asked for, and has left the log. */
static void test_first_line_from_long_ago(void **state)
{
	check(*state, "2026-05-01T10:00:00Z", "", A, B, "b");
	check(*state, "2026-05-01T10:00:00Z", "", BACK, BACK_MORE, "-");
}

static void test_lines_of_no_use(void **state)
{
	check(*state, "", "{\n\n[]\nhello\n{\"time\":1}\n" A, "\n{\n", "[1]\n\n" B "{\"time\":\"9", "ab");
}

/* More in the log than is kept of it: its end is known. */
static void test_long_log(void **state)
{
	auto_buf log = BUF_INIT(WATCH_LOGGED_MAX * 4);

	for (int i = 0; log.len < WATCH_LOGGED_MAX * 3; i++)
		buf_addf(&log, "{\"time\":\"2026-05-01T08:%07d\",\"status\":{\"what\":\"\"}}\n", i);
	buf_adds(&log, A B);
	check(*state, "", log.data, A B, C, "abc");
}

/* A log that became too long: its first part is beside it, and a gap may go back to there. */
static void test_log_in_two_parts(void **state)
{
	auto_free char *path = path_in(*state, PATH_HA_STDOUT), *before = NULL;

	before = xasprintf("%s.1", path);
	file_has(before, A B);
	check(*state, "", C, A, D, "abcd");
	check(*state, "2026-05-01T10:00:00Z", C, A, D, "bcd");
	check(*state, "", "", B, C, "abc");
	/* It was moved away between one look and the other. */
	check(*state, "", A B C, A, D, "abcd");
	file_has(before, A);
	log_by_then = C;
	check(*state, "", "", A, "", "ac");
	file_has(before, A B);
	check(*state, "2026-05-01T10:00:00Z", "", A, GAP A D, "bc!d");
	log_by_then = NULL;
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, tmp_dir_make, tmp_dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_the_log_then_the_stream), T(test_said_by_both_is_told_once), T(test_a_clock_set_back), T(test_a_gap),
		T(test_first_line_from_long_ago), T(test_lines_of_no_use), T(test_long_log), T(test_log_in_two_parts),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
