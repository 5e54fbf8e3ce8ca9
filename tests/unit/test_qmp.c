#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/driver/qmp.h"

static const char conversation[] =
	"{\"QMP\": {\"version\": {\"qemu\": {\"micro\": 22, \"minor\": 2, \"major\": 7}}, \"capabilities\": [\"oob\"]}}\r\n"
	"{\"return\": {}, \"id\": 1}\r\n"
	"{\"timestamp\": {\"seconds\": 1, \"microseconds\": 2}, \"event\": \"STOP\"}\r\n"
	"{\"id\": 2, \"error\": {\"class\": \"GenericError\", \"desc\": \"No such thing\"}}\r\n"
	"{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true}}\r\n"
	"{\"return\": {\"status\": \"running\"}, \"id\": 3}\r\n";

static void check_conversation(struct qmp *q, size_t piece)
{
	struct err e = { 0 };
	struct qmp_msg m;
	int got = 0;

	for (size_t at = 0; at < sizeof(conversation) - 1; at += piece) {
		size_t left = sizeof(conversation) - 1 - at;

		assert_int_equal(qmp_feed(q, conversation + at, left < piece ? left : piece), 0);
		while (qmp_next(q, &m, &e) > 0) {
			switch (got++) {
			case 0:
				assert_int_equal(m.kind, QMP_GREETING);
				break;
			case 1:
				assert_int_equal(m.kind, QMP_REPLY);
				assert_int_equal(m.id, 1);
				assert_null(m.error);
				break;
			case 2:
				assert_int_equal(m.kind, QMP_EVENT);
				assert_string_equal(m.name, "STOP");
				assert_null(m.data);
				break;
			case 3:
				assert_int_equal(m.id, 2);
				assert_string_equal(m.error, "No such thing");
				break;
			case 4:
				assert_true(jx_bool_or(m.data, "guest", false));
				break;
			case 5:
				assert_string_equal(jx_string_or(m.data, "status", ""), "running");
				break;
			}
		}
	}
	assert_int_equal(got, 6);
}

static void test_any_cut(void **state)
{
	static const size_t pieces[] = { 1, 2, 7, 64, 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct qmp *q = qmp_new(-1);

		check_conversation(q, pieces[i]);
		qmp_free(q);
	}
}

static void test_refuses(void **state)
{
	static const char *const bad[] = {
		"hello\n", "\n", "[1]\n", "{}\n", "{\"event\": 3}\n", "{\"id\": 1}\n", "{\"QMP\": 1} x\n", "{\"return\": \n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct qmp *q = qmp_new(-1);
		struct qmp_msg m;
		struct err e = { 0 };

		assert_int_equal(qmp_feed(q, bad[i], strlen(bad[i])), 0);
		assert_int_equal(qmp_next(q, &m, &e), -1);
		assert_true(e.msg[0]);
		qmp_free(q);
	}
}

static void test_line_is_bounded(void **state)
{
	struct qmp *q = qmp_new(-1);
	struct qmp_msg m;
	struct err e = { 0 };
	static char chunk[65536];
	size_t fed = 0;
	int r = 0;

	(void)state;
	memset(chunk, 'x', sizeof(chunk));
	while (r == 0 && qmp_feed(q, chunk, sizeof(chunk)) == 0) {
		fed += sizeof(chunk);
		r = qmp_next(q, &m, &e);
	}
	assert_int_equal(r, -1);
	assert_true(fed > QMP_LINE_MAX && fed <= QMP_LINE_MAX + sizeof(chunk));
	assert_non_null(strstr(e.msg, "more than"));
	qmp_free(q);
}

static struct qmp *pair(int *peer)
{
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	io_set_nonblock(s[0], true);
	*peer = s[1];
	return qmp_new(s[0]);
}

static void test_send(void **state)
{
	int peer;
	struct qmp *q = pair(&peer);
	struct jx *args = jx_new_object();
	struct err e = { 0 };
	char got[300] = "";

	(void)state;
	jx_set_string(args, "uri", "fd:\"x\"");
	assert_int_equal(qmp_send(q, "stop", NULL, -1), 1);
	assert_int_equal(qmp_send(q, "migrate", args, -1), 2);
	assert_true(qmp_has_output(q));
	assert_int_equal(qmp_flush(q, &e), 0);
	assert_false(qmp_has_output(q));
	assert_true(read(peer, got, sizeof(got) - 1) > 0);
	assert_string_equal(got, "{\"execute\":\"stop\",\"id\":1}\n"
				 "{\"execute\":\"migrate\",\"id\":2,\"arguments\":{\"uri\":\"fd:\\\"x\\\"\"}}\n");
	assert_int_equal(qmp_fill(q, &e), 0);
	close(peer);
	assert_int_equal(qmp_fill(q, &e), -1);
	assert_int_equal(e.kind, ERR_NONE);
	qmp_free(q);
}

/* The descriptor goes with its command, in a message of its own. */
static void test_descriptor(void **state)
{
	int peer, p[2], fds[4];
	size_t nfds = 4;
	struct qmp *q = pair(&peer);
	struct err e = { 0 };
	char got[300] = "", c = 0;

	(void)state;
	assert_int_equal(pipe(p), 0);
	qmp_send(q, "stop", NULL, -1);
	assert_int_equal(qmp_send(q, "getfd", NULL, p[1]), 2);
	assert_int_equal(qmp_send(q, "getfd", NULL, p[1]), 0); /* one at a time */
	close(p[1]);
	assert_int_equal(qmp_flush(q, &e), 0);
	/* Read no further than the first command: no descriptor comes with it. */
	assert_int_equal(sock_recv_fds(peer, got, 26, fds, &nfds), 26);
	assert_int_equal(nfds, 0);
	assert_string_equal(got, "{\"execute\":\"stop\",\"id\":1}\n");
	nfds = 4;
	memset(got, 0, sizeof(got));
	assert_true(sock_recv_fds(peer, got, sizeof(got) - 1, fds, &nfds) > 0);
	assert_int_equal(nfds, 1);
	assert_string_equal(got, "{\"execute\":\"getfd\",\"id\":2}\n");
	assert_int_equal(write(fds[0], "y", 1), 1);
	close(fds[0]);
	assert_int_equal(read(p[0], &c, 1), 1);
	assert_int_equal(c, 'y');
	assert_int_equal(read(p[0], &c, 1), 0); /* no copy was kept */
	close(p[0]);
	close(peer);
	qmp_free(q);
}

static void test_queue_is_bounded(void **state)
{
	int peer;
	struct qmp *q = pair(&peer);
	struct err e = { 0 };
	uint64_t last = 0, id;

	(void)state;
	while ((id = qmp_send(q, "query-status", NULL, -1)))
		last = id;
	assert_true(last > 1000);
	assert_int_equal(qmp_flush(q, &e), 0);
	assert_true(qmp_has_output(q)); /* nobody reads */
	close(peer);
	assert_int_equal(qmp_flush(q, &e), -1);
	qmp_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_cut),	   cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_line_is_bounded), cmocka_unit_test(test_send),
		cmocka_unit_test(test_descriptor), cmocka_unit_test(test_queue_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
