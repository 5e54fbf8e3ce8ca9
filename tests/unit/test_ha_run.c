/* Commands of our own in the guest, which may answer anything. */
#include "tests/unit/ha_peer.h"

#include <fcntl.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/run.h"

static struct peer p;
static struct run r;
static int dones;

static void on_done(struct run *run)
{
	assert_ptr_equal(run, &r);
	assert_false(run->busy);
	dones++;
}

static int begin(void **state)
{
	(void)state;
	peer_begin(&p);
	p.mode = PEER_HOLD;
	dones = 0;
	r = (struct run){ .out_fd = -1, .out = BUF_INIT(1000), .done = on_done };
	r.start = (struct ep_start){ .term = "", .workdir = "", .shell = "", .argc = 1, .argv = { "true" } };
	peer_link(&p);
	return 0;
}

static int end(void **state)
{
	(void)state;
	run_fini(&r);
	peer_end(&p);
	return 0;
}

static bool is_open(struct peer *peer)
{
	return peer->last;
}

static bool is_done(struct peer *peer)
{
	(void)peer;
	return dones;
}

static void start(void)
{
	run_start(p.guest, &r);
	peer_run(&p, is_open);
}

static void answer(const void *bytes, size_t n)
{
	assert_int_equal(mux_write(p.last, bytes, n), n);
}

static void record(enum ep_type type, const void *payload, size_t n)
{
	auto_buf b = BUF_INIT(1 << 16);

	peer_record(&b, type, payload, n);
	answer(b.data, b.len);
}

static void output_and_exit_code(void **state)
{
	static const char err[] = "one\nt\033wo\n";
	uint8_t all[64], *at = all;

	(void)state;
	start();
	record(EP_STDOUT, "he", 2);
	record(EP_STDOUT, "", 0);
	record(EP_STDERR, err, strlen(err));
	/* The last one a byte at a time. */
	ep_header_pack(at, EP_STDOUT, 3);
	memcpy(at + EP_HEADER, "llo", 3);
	at += EP_HEADER + 3;
	ep_header_pack(at, EP_EXIT, 4);
	memcpy(at + EP_HEADER, "\7\0\0\0", 4);
	for (size_t i = 0; i < (size_t)(at - all) + EP_HEADER + 4; i++) {
		answer(all + i, 1);
		peer_run(&p, peer_rounds);
	}
	peer_run(&p, is_done);
	assert_int_equal(r.status, 7);
	assert_string_equal(r.out.data, "hello");
	assert_string_equal(r.err, "one\nt?wo");
	assert_int_equal(dones, 1);
}

static const struct {
	const char *what;
	const char *bytes;
	size_t n;
} bad[] = {
	{ "a record of no type", "\0\0\1\0x", 5 },
	{ "a reserved byte", "\6\1\1\0x", 5 },
	{ "a record too long", "\6\0\xff\xff", 4 },
	{ "a record of the other direction", "\2\0\1\0x", 5 },
	{ "an exit code of three bytes", "\10\0\3\0\0\0\0", 7 },
	{ "an exit code of no bytes", "\10\0\0\0", 4 },
	{ "an exit code of five bytes", "\10\0\5\0\0\0\0\0\0", 9 },
	{ "an exit code that is none", "\10\0\4\0\0\0\1\0", 8 },
	{ "a negative exit code", "\10\0\4\0\xff\xff\xff\xff", 8 },
};

static void what_is_no_answer_is_a_failure(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		dones = 0;
		p.last = NULL;
		start();
		answer(bad[i].bytes, bad[i].n);
		peer_run(&p, is_done);
		if (r.status != RUN_FAILED)
			fail_msg("%s: status %d", bad[i].what, r.status);
		assert_int_equal(dones, 1);
	}
}

static void an_end_without_an_exit_code_is_a_failure(void **state)
{
	(void)state;
	start();
	record(EP_STDOUT, "x", 1);
	mux_finish(p.last);
	peer_run(&p, is_done);
	assert_int_equal(r.status, RUN_FAILED);
	p.last = NULL;
	dones = 0;
	start();
	mux_reset(p.last, MUX_RESET_ABORT);
	p.last = NULL;
	peer_run(&p, is_done);
	assert_int_equal(r.status, RUN_FAILED);
}

static void why_it_could_not_be_started(void **state)
{
	(void)state;
	start();
	record(EP_FAILED, "no shell", 8);
	peer_run(&p, is_done);
	assert_int_equal(r.status, RUN_FAILED);
	assert_string_equal(r.err, "no shell");
}

static void too_much_is_ended(void **state)
{
	char bytes[600];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	start();
	record(EP_STDOUT, bytes, sizeof(bytes));
	record(EP_STDOUT, bytes, sizeof(bytes));
	peer_run(&p, is_done);
	assert_int_equal(r.status, RUN_TOO_LARGE);
	assert_true(r.out.len <= 1000);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.resets, 1);
}

static void of_much_noise_the_end_is_kept(void **state)
{
	char bytes[3000];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	start();
	record(EP_STDERR, bytes, sizeof(bytes));
	record(EP_STDERR, "the end\n", 8);
	record(EP_EXIT, "\1\0\0\0", 4);
	peer_run(&p, is_done);
	assert_int_equal(r.status, 1);
	assert_int_equal(strlen(r.err), RUN_ERR_MAX - 1);
	assert_string_equal(r.err + strlen(r.err) - 8, "xthe end");
}

static bool got_all(struct peer *peer)
{
	return peer->got > r.input_len;
}

static void input_larger_than_the_window_arrives(void **state)
{
	auto_free char *large = xcalloc(1, 3 << 20);

	(void)state;
	p.mode = PEER_COLLECT;
	r.input = large;
	r.input_len = 3 << 20;
	start();
	peer_run(&p, got_all);
	record(EP_EXIT, "\0\0\0\0", 4);
	peer_run(&p, is_done);
	assert_int_equal(r.status, 0);
}

static void a_full_disk_is_told(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	if (full < 0)
		return;
	r.out_fd = full;
	start();
	record(EP_STDOUT, "x", 1);
	peer_run(&p, is_done);
	assert_int_equal(r.status, RUN_WRITE_FAILED);
	assert_int_equal(r.errnum, ENOSPC);
	close(full);
}

static void a_cancelled_one_is_quiet(void **state)
{
	(void)state;
	start();
	run_cancel(&r);
	peer_run(&p, peer_rounds);
	peer_run(&p, peer_rounds);
	assert_int_equal(dones, 0);
	assert_int_equal(p.resets, 1);
	run_cancel(&r);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(output_and_exit_code),
		T(what_is_no_answer_is_a_failure),
		T(an_end_without_an_exit_code_is_a_failure),
		T(why_it_could_not_be_started),
		T(too_much_is_ended),
		T(of_much_noise_the_end_is_kept),
		T(input_larger_than_the_window_arrives),
		T(a_full_disk_is_told),
		T(a_cancelled_one_is_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
