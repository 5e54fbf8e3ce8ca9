/* Event lines: who gets them, in what form, and what who is too slow gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/events.h"

static struct loop *loop;
static int real_stdout, log_fd;

static int begin(void **state)
{
	char path[] = "/tmp/ev.XXXXXX";

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	loop = loop_new();
	log_fd = mkstemp(path);
	unlink(path);
	fflush(stdout);
	real_stdout = dup(STDOUT_FILENO);
	dup2(log_fd, STDOUT_FILENO);
	return 0;
}

static int end(void **state)
{
	(void)state;
	dup2(real_stdout, STDOUT_FILENO);
	close(real_stdout);
	close(log_fd);
	loop_free(loop);
	return 0;
}

static const char *in_log(void)
{
	static char buf[65536];
	ssize_t n = pread(log_fd, buf, sizeof(buf) - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void stop_loop(void *ctx)
{
	loop_stop(ctx);
}

/* What is ready now is handled. */
static void turn(void)
{
	struct deadline *d = deadline_new(loop, stop_loop, loop);

	deadline_in(d, 20);
	loop_run(loop);
	deadline_free(d);
}

/* All that can be read now; "" when there is nothing, "EOF" at the end. */
static const char *read_now(int fd)
{
	static char buf[1 << 20];
	size_t at = 0;
	ssize_t k;

	io_set_nonblock(fd, true);
	while ((k = read(fd, buf + at, sizeof(buf) - 1 - at)) > 0)
		at += (size_t)k;
	buf[at] = '\0';
	return k == 0 && !at ? "EOF" : buf;
}

static void tell(struct events *ev, const char *type, const char *guest, const char *host, const char *error)
{
	events_port(ev, &(struct event_port){ .type = type, .protocol = "tcp", .guest = guest, .host = host, .error = error });
}

static void lines_have_limas_form(void **state)
{
	struct events *ev = events_new(loop, -1, 60022);
	struct jx *errors = jx_new_array();
	const char *line;
	int year, month, day, hour, minute, n = 0;
	double second;

	(void)state;
	events_started(ev);
	line = in_log();
	assert_int_equal(sscanf(line, "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%lfZ\",\"status\":{\"sshLocalPort\":60022}}\n%n", &year,
				&month, &day, &hour, &minute, &second, &n), 6);
	assert_int_equal(n, strlen(line));
	tell(ev, "forwarding", "0.0.0.0:80", "127.0.0.1:80", NULL);
	assert_non_null(strstr(in_log(), "\"status\":{\"sshLocalPort\":60022,\"portForward\":{\"type\":\"forwarding\",\"protocol\":"
					 "\"tcp\",\"guestAddr\":\"0.0.0.0:80\",\"hostAddr\":\"127.0.0.1:80\"}}}\n"));
	tell(ev, "failed", "0.0.0.0:81", "127.0.0.1:81", "Address already in use");
	assert_non_null(strstr(in_log(), "\"hostAddr\":\"127.0.0.1:81\",\"error\":\"Address already in use\"}}}\n"));
	events_running(ev, errors);
	assert_non_null(strstr(in_log(), "\"status\":{\"running\":true,\"sshLocalPort\":60022}}\n"));
	jx_add_string(errors, "line 1\nline \"2\"\x1b");
	events_running(ev, errors);
	assert_non_null(strstr(in_log(), "\"status\":{\"running\":true,\"degraded\":true,\"errors\":[\"line 1\\nline \\\"2\\\"\\u001B\"],"
					 "\"sshLocalPort\":60022}}\n"));
	events_exiting(ev, NULL);
	assert_non_null(strstr(in_log(), "\"status\":{\"exiting\":true,\"sshLocalPort\":60022}}\n"));
	events_free(ev);
	jx_free(errors);
}

static void who_waits_for_readiness_hears_until_then(void **state)
{
	struct events *ev;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	ev = events_new(loop, fd[1], 0);
	events_started(ev);
	assert_non_null(strstr(read_now(fd[0]), "\"status\":{}}\n"));
	tell(ev, "forwarding", "0.0.0.0:80", "127.0.0.1:80", NULL);
	events_running(ev, NULL);
	assert_non_null(strstr(read_now(fd[0]), "\"running\":true"));
	assert_string_equal(read_now(fd[0]), "EOF");
	events_exiting(ev, NULL); /* nobody is there any more */
	events_free(ev);
	close(fd[0]);
}

static void a_waiter_that_is_gone_harms_nobody(void **state)
{
	struct events *ev;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	ev = events_new(loop, fd[1], 0);
	close(fd[0]);
	events_started(ev);
	turn();
	events_running(ev, NULL);
	assert_non_null(strstr(in_log(), "running"));
	events_free(ev);
}

static void readers_get_the_state_and_what_follows(void **state)
{
	struct events *ev = events_new(loop, -1, 0);
	int fd[2];

	(void)state;
	events_running(ev, NULL);
	tell(ev, "forwarding", "0.0.0.0:1", "127.0.0.1:1", NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	events_subscribe(ev, fd[1]);
	assert_non_null(strstr(read_now(fd[0]), "running"));
	tell(ev, "stopping", "0.0.0.0:1", "127.0.0.1:1", NULL);
	turn();
	assert_non_null(strstr(read_now(fd[0]), "stopping"));
	close(fd[0]);
	turn();
	events_exiting(ev, NULL);
	events_free(ev);
}

static void a_reader_that_does_not_read_is_told_what_it_missed(void **state)
{
	struct events *ev = events_new(loop, -1, 0);
	auto_buf got = BUF_INIT(1 << 24);
	unsigned long long dropped = 0;
	size_t lines = 0;
	const char *gap;
	int fd[2];

	(void)state;
	events_running(ev, NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	events_subscribe(ev, fd[1]);
	for (int i = 0; i < 10000; i++)
		tell(ev, "forwarding", "0.0.0.0:1", "127.0.0.1:1", NULL);
	for (int i = 0; i < 100 && !(got.len && strstr(got.data, "eventsDropped")); i++) {
		assert_int_equal(buf_adds(&got, read_now(fd[0])), 0);
		turn();
	}
	/* Every line came whole or is among those that it is told of; and then how things stand, and what happens. */
	assert_int_equal(buf_adds(&got, read_now(fd[0])), 0);
	gap = strstr(got.data, "eventsDropped");
	assert_non_null(gap);
	assert_int_equal(sscanf(gap, "eventsDropped\":%llu}}", &dropped), 1);
	for (const char *p = got.data; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines + dropped, 1 + 10000 + 2);
	assert_non_null(strstr(gap, "running"));
	tell(ev, "stopping", "0.0.0.0:1", "127.0.0.1:1", NULL);
	assert_non_null(strstr(read_now(fd[0]), "stopping"));
	events_free(ev);
	close(fd[0]);
}

static void a_slow_reader_gets_everything(void **state)
{
	struct events *ev = events_new(loop, -1, 0);
	size_t lines = 0;
	int fd[2], small = 4096;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	events_subscribe(ev, fd[1]);
	for (int i = 0; i < 500; i++)
		tell(ev, "forwarding", "0.0.0.0:1", "127.0.0.1:1", NULL);
	for (int i = 0; i < 100 && lines < 500; i++) {
		for (const char *p = read_now(fd[0]); *p; p++)
			lines += *p == '\n';
		turn();
	}
	assert_int_equal(lines, 500);
	events_free(ev);
	close(fd[0]);
}

/* As much as a guest can have us say of scripts that failed: FAILURES_MAX tails of AP_TAIL_MAX, each byte of them escaped. */
static void errors_without_end_are_cut_and_counted(void **state)
{
	struct events *ev = events_new(loop, -1, 0);
	struct jx *errors = jx_new_array();
	auto_buf got = BUF_INIT(1 << 20);
	char tail[2048];
	size_t said;
	int fd[2];

	(void)state;
	memset(tail, 1, sizeof(tail) - 1);
	tail[sizeof(tail) - 1] = '\0';
	for (int i = 0; i < 32; i++)
		jx_add_string(errors, tail);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	events_subscribe(ev, fd[1]);
	events_running(ev, errors);
	events_exiting(ev, errors);
	for (int i = 0; i < 20 && !(got.len && strstr(got.data, "exiting")); i++) {
		assert_int_equal(buf_adds(&got, read_now(fd[0])), 0);
		turn();
	}
	assert_non_null(strstr(got.data, "\"running\":true,\"degraded\":true"));
	for (char *line = got.data, *end; (end = strchr(line, '\n')); line = end + 1) {
		struct err e = { 0 };
		auto_jx *o = jx_parse(line, (size_t)(end - line), "event", &e);
		const struct jx *list = jx_member(jx_member(o, "status"), "errors");
		char rest[64];

		said = jx_count(list) - 1;
		assert_true(said > 0 && said < 32);
		assert_string_equal(jx_as_string(jx_at(list, 0)), tail);
		snprintf(rest, sizeof(rest), "and %zu more", 32 - said);
		assert_string_equal(jx_as_string(jx_at(list, said)), rest);
	}
	events_free(ev);
	jx_free(errors);
	close(fd[0]);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(lines_have_limas_form),
		T(who_waits_for_readiness_hears_until_then),
		T(a_waiter_that_is_gone_harms_nobody),
		T(readers_get_the_state_and_what_follows),
		T(a_reader_that_does_not_read_is_told_what_it_missed),
		T(a_slow_reader_gets_everything),
		T(errors_without_end_are_cut_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
