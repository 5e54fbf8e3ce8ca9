/* Changes in the host's folders at the host agent: a program that watches, and a guest that may not take what it says. */
#include "tests/unit/ha_peer.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/file_events.h"
#include "tests/unit/tmp_dir.h"

static struct peer p;
static struct spawner *spawner;
static struct file_events *events;
static struct troubles *troubles;
static struct plan_mount mounts[] = {
	{ .host_path = (char *)"/a b" },
	{ .host_path = (char *)"/w", .writable = true },
	{ .host_path = (char *)"/x=y", .writable = true },
};
static struct plan plan;
static char *dir;
#define STARTED "2:1=/w 2=/x=y" /* with those that can be written to, by their place in the plan */

/* The program that stands in for the watcher; says in a file how it was started, and when it ends. */
static void use_watcher(const char *script)
{
	auto_free char *path = xasprintf("%s/libexec/limactl-c/watcher", dir);
	auto_free char *text = xasprintf("#!/bin/sh\nexec 2>/dev/null\ntrap '' PIPE\necho \"$#:$*\" >>%s/log\n"
					 "%s\necho over >>%s/log\n", dir, script, dir);
	struct err e = { 0 };

	if (fs_write_atomic(path, text, strlen(text), 0700, &e) < 0)
		fail_msg("%s", e.msg);
}

/* How often the program's log has that line. */
static size_t logged(const char *line)
{
	auto_free char *path = xasprintf("%s/log", dir), *whole = xasprintf("%s\n", line);
	auto_buf text = BUF_INIT(4096);
	struct err e;
	size_t n = 0;

	if (io_read_file(path, &text, &e) < 0 || !text.data)
		return 0;
	for (const char *at = text.data; (at = strstr(at, whole)); at++)
		n++;
	return n;
}

static bool are_over(struct peer *peer)
{
	(void)peer;
	return logged("over") == logged(STARTED);
}

static bool has_trouble(struct peer *peer)
{
	struct jx *list = jx_new_array();
	size_t n;

	(void)peer;
	troubles_list(troubles, list);
	n = jx_count(list);
	jx_free(list);
	return n > 0;
}

static bool is_opened(struct peer *peer)
{
	return peer->last != NULL;
}

static void host_up(void *ctx, bool resumed)
{
	(void)ctx;
	if (!resumed)
		file_events_agent(events);
}

static int begin(void **state)
{
	static struct guest_ops ops;
	struct err e = { 0 };
	auto_free char *libexec = NULL;

	assert_int_equal(tmp_dir_make(state), 0);
	dir = *state;
	libexec = xasprintf("%s/libexec/limactl-c", dir);
	assert_int_equal(fs_mkdirs(libexec, 0700, &e), 0);
	setenv("LIMACTL_C_PREFIX", dir, 1);
	use_watcher("printf hello >&3; cat <&3 >/dev/null");
	plan = (struct plan){ .file_events = true, .mount = mounts, .mounts = 3 };
	troubles = troubles_new();
	peer_begin_guest(&p, loop_new());
	p.mode = PEER_HOLD;
	ops = peer_guest_ops;
	ops.up = host_up;
	p.guest = guest_new(p.loop, &ops, &p, &e);
	loop_before_wait(p.loop, peer_before_wait, &p);
	events = file_events_new(p.loop, p.guest, spawner, &plan, troubles);
	return 0;
}

static int end(void **state)
{
	file_events_free(events);
	peer_run(&p, are_over);
	guest_free(p.guest);
	peer_end_guest(&p);
	loop_free(p.loop);
	troubles_free(troubles);
	return tmp_dir_remove(state);
}

static bool has_hello(struct peer *peer)
{
	char text[5];

	return peer->last && mux_copy(peer->last, text, 5) && !memcmp(text, "hello", 5);
}

static void test_what_the_watcher_says_goes_to_the_guest(void **state)
{
	(void)state;
	guest_connect(p.guest);
	peer_run(&p, has_hello);
	assert_int_equal(p.last_open.kind, AP_OPEN_EVENTS);
	assert_int_equal(logged(STARTED), 1);
	assert_false(has_trouble(&p));
}

static void test_nothing_is_there_unless_it_is_wanted(void **state)
{
	(void)state;
	plan.file_events = false;
	peer_link(&p);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.opened, 0);
	plan.file_events = true;
	plan.mounts = 1;
	peer_new_agent(&p);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.opened, 0);
}

/* A guest that takes nothing holds the watcher back, and is sent all of it later. */
static bool is_full(struct peer *peer)
{
	static uint8_t bytes[MUX_WINDOW / 2];

	return peer->last && mux_copy(peer->last, bytes, sizeof(bytes));
}

static bool took_all(struct peer *peer)
{
	return peer->got >= 1000000;
}

static void test_the_guest_holds_it_back(void **state)
{
	size_t n;

	(void)state;
	use_watcher("head -c 1000000 /dev/zero >&3; cat <&3 >/dev/null");
	guest_connect(p.guest);
	peer_run(&p, is_full);
	peer_run(&p, peer_rounds);
	p.mode = PEER_COLLECT;
	while (mux_peek(p.last, &n) && n) {
		p.got += n;
		mux_consume(p.last, n);
	}
	peer_run(&p, took_all);
	assert_int_equal(p.got, 1000000);
}

static void test_a_watcher_that_ends(void **state)
{
	(void)state;
	use_watcher("false");
	guest_connect(p.guest);
	peer_run(&p, has_trouble);
	/* The next agent is a new chance. */
	use_watcher("printf hello >&3; cat <&3 >/dev/null");
	peer_new_agent(&p);
	peer_run(&p, has_hello);
	assert_false(has_trouble(&p));
}

static void test_no_watcher(void **state)
{
	auto_free char *path = xasprintf("%s/libexec/limactl-c/watcher", dir);

	(void)state;
	unlink(path);
	guest_connect(p.guest);
	peer_run(&p, has_trouble);
}

static void test_a_guest_that_does_not_take_them(void **state)
{
	(void)state;
	p.mode = PEER_REFUSE;
	guest_connect(p.guest);
	peer_run(&p, has_trouble);
	p.mode = PEER_HOLD;
	peer_new_agent(&p);
	peer_run(&p, has_hello);
	assert_false(has_trouble(&p));
	/* One that ends it. */
	mux_finish(p.last);
	peer_run(&p, has_trouble);
}

/* Its program ends with the guest agent; the next one has its own. */
static void test_a_new_agent_begins_anew(void **state)
{
	(void)state;
	guest_connect(p.guest);
	peer_run(&p, has_hello);
	peer_new_agent(&p);
	peer_run(&p, is_opened);
	peer_run(&p, has_hello);
	file_events_free(events);
	events = NULL;
	peer_run(&p, are_over);
	assert_int_equal(logged(STARTED), 2);
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_what_the_watcher_says_goes_to_the_guest),
		T(test_nothing_is_there_unless_it_is_wanted),
		T(test_the_guest_holds_it_back),
		T(test_a_watcher_that_ends),
		T(test_no_watcher),
		T(test_a_guest_that_does_not_take_them),
		T(test_a_new_agent_begins_anew),
	};

	struct err e = { 0 };
	int status;

	/* Before the first loop, as in the host agent: libuv takes descriptors back in whatever is forked after it. */
	spawner = spawner_new(&e);
	if (!spawner)
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	spawner_free(spawner);
	return status;
}
