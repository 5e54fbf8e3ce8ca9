/* The watcher: what is pending, and what a folder's changes make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "limactl-c/watcher/tree.h"
#include "tests/unit/tmp_dir.h"

static struct pending *pending;
static struct tree *tree;
static const char *dir;

/* --- what is pending --- */

static int begin_pending(void **state)
{
	(void)state;
	pending = pending_new();
	return 0;
}

static int end_pending(void **state)
{
	(void)state;
	pending_free(pending);
	return 0;
}

/* What was taken: "+path" of folders that are there, "-path" that are not, "=path" changed, "~path" gone. */
static char seen[1 << 16];

static const char *take(void)
{
	static const char mark[] = { [FE_HERE] = '+', [FE_LEFT] = '-', [FE_CHANGED] = '=', [FE_GONE] = '~' };
	static uint8_t bytes[4 * FE_RECORD_MAX];
	static struct fe_record r;
	size_t n, at, len = 0;

	seen[0] = '\0';
	while ((n = pending_take(pending, bytes, sizeof(bytes)))) {
		for (at = 0; at < n;) {
			ssize_t k = fe_unpack(&r, bytes + at, n - at);

			assert_true(k > 0);
			at += (size_t)k;
			len += (size_t)snprintf(seen + len, sizeof(seen) - len, "%s%c%s", len ? " " : "", mark[r.kind], r.path);
			assert_true(len < sizeof(seen));
		}
	}
	return seen;
}

static void test_each_path_once_the_latest_last(void **state)
{
	(void)state;
	pending_put(pending, FE_CHANGED, 0, "a", 0);
	pending_put(pending, FE_CHANGED, 0, "b", 0);
	pending_put(pending, FE_GONE, 0, "a", 0);
	pending_put(pending, FE_HERE, 0, "a", 0);
	pending_put(pending, FE_CHANGED, 0, "a", 0);
	assert_string_equal(take(), "=b +a =a");
	assert_string_equal(take(), "");
	pending_put(pending, FE_HERE, 0, "a", 0);
	pending_put(pending, FE_LEFT, 0, "a", 0);
	pending_put(pending, FE_CHANGED, 1, "b", 0);
	pending_put(pending, FE_CHANGED, 2, "b", 0); /* of another mount */
	assert_string_equal(take(), "-a =b =b");
}

static void test_told_when_it_is_quiet_or_takes_too_long(void **state)
{
	(void)state;
	assert_int_equal(pending_wait(pending, 100), -1);
	pending_put(pending, FE_CHANGED, 0, "a", 100);
	assert_int_equal(pending_wait(pending, 100), PENDING_QUIET_MS);
	pending_put(pending, FE_CHANGED, 0, "a", 105);
	assert_int_equal(pending_wait(pending, 110), PENDING_QUIET_MS - 5);
	for (int now = 105; now < 130; now += 5)
		pending_put(pending, FE_CHANGED, 0, "a", now);
	assert_int_equal(pending_wait(pending, 128), PENDING_MOST_MS - 28);
	assert_int_equal(pending_wait(pending, 130), 0);
	assert_int_equal(pending_wait(pending, 500), 0);
	take();
	assert_int_equal(pending_wait(pending, 500), -1);
	pending_put(pending, FE_CHANGED, 0, "a", 600);
	assert_int_equal(pending_wait(pending, 600), PENDING_QUIET_MS);
}

static void test_what_does_not_fit_stays(void **state)
{
	uint8_t bytes[2 * (FE_HEADER + 1)];

	(void)state;
	for (const char *p = "a\0b\0c\0"; *p; p += 2)
		pending_put(pending, FE_CHANGED, 0, p, 0);
	assert_int_equal(pending_take(pending, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(pending_take(pending, bytes, FE_HEADER), 0);
	assert_string_equal(take(), "=c");
}

static void test_too_many_are_dropped_and_said(void **state)
{
	char path[16];

	(void)state;
	for (int i = 0; i < PENDING_MAX + 10; i++) { /* folders that are there have a bound of their own */
		snprintf(path, sizeof(path), "d%d", i);
		pending_put(pending, FE_HERE, 0, path, 0);
	}
	assert_false(pending_dropped(pending));
	for (int i = 0; i < PENDING_MAX; i++) {
		assert_int_equal(pending_room(pending), i < PENDING_MAX / 2);
		snprintf(path, sizeof(path), "f%d", i);
		pending_put(pending, FE_CHANGED, 0, path, 0);
		pending_put(pending, FE_CHANGED, 0, path, 0);
	}
	assert_false(pending_dropped(pending));
	pending_put(pending, FE_GONE, 0, "one more", 0);
	assert_true(pending_empty(pending));
	assert_true(pending_dropped(pending));
	assert_false(pending_dropped(pending));
	pending_put(pending, FE_GONE, 0, "a", 0);
	assert_string_equal(take(), "~a");
}

/* --- a folder --- */

static void make(const char *path)
{
	assert_int_equal(mkdir(path, 0700), 0);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int begin_tree(void **state)
{
	struct err e = { 0 };

	if (tmp_dir_make(state) < 0 || chdir(*state) < 0)
		return -1;
	dir = *state;
	begin_pending(state);
	*state = (void *)(uintptr_t)dir;
	make("a");
	make("a/b");
	put("a/b/f", "old");
	tree = tree_new(pending, 0, dir, &e);
	if (!tree)
		fail_msg("%s", e.msg);
	assert_string_equal(take(), "+ +a +a/b");
	return 0;
}

static int end_tree(void **state)
{
	tree_free(tree);
	pending_free(pending);
	return chdir("/") < 0 ? -1 : tmp_dir_remove(state);
}

/* All that was done has been heard of when this returns: the kernel queues it in the call that does it. */
static const char *news(void)
{
	tree_read(tree);
	return take();
}

static void test_files(void **state)
{
	(void)state;
	put("a/b/f", "more");
	assert_string_equal(news(), "=a/b/f");
	put("new", "");
	put("new", "text");
	assert_string_equal(news(), "=new");
	assert_int_equal(rename("new", "a/new"), 0);
	assert_string_equal(news(), "~new =a/new");
	assert_int_equal(rename("a/new", "a/b/f"), 0);
	assert_string_equal(news(), "~a/new =a/b/f");
	assert_int_equal(symlink("/etc", "link"), 0);
	assert_string_equal(news(), "=link");
	assert_int_equal(unlink("a/b/f"), 0);
	assert_string_equal(news(), "~a/b/f");
	assert_string_equal(news(), "");
}

static void test_what_the_guest_does_to_wake_its_own_is_no_news(void **state)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000 } };
	int fd = open("a/b/f", O_WRONLY);

	(void)state;
	close(fd);
	assert_int_equal(utimensat(AT_FDCWD, "a/b", t, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, ".", t, 0), 0);
	t[0] = t[1];
	assert_int_equal(utimensat(AT_FDCWD, "a/b/f", t, 0), 0);
	assert_int_equal(chmod("a/b/f", 0644), 0);
	assert_string_equal(news(), "");
}

/* A folder that is new is read at once, and those in it are told before anybody is woken for it. */
static void test_folders(void **state)
{
	(void)state;
	make("n");
	make("n/m");
	put("n/m/f", "");
	assert_string_equal(news(), "+n +n/m =n");
	put("n/m/f", "text");
	assert_string_equal(news(), "=n/m/f");
	assert_int_equal(rename("n", "a/n"), 0);
	assert_string_equal(news(), "-n/m -n ~n +a/n +a/n/m =a/n");
	put("a/n/m/f", "text");
	assert_string_equal(news(), "=a/n/m/f");
	assert_int_equal(unlink("a/n/m/f"), 0);
	assert_int_equal(rmdir("a/n/m"), 0);
	assert_string_equal(news(), "~a/n/m/f -a/n/m ~a/n/m");
	make("a/n/m");
	assert_string_equal(news(), "+a/n/m =a/n/m");
}

/* Moved into a folder that is new, so that it is found there before its move is told. */
static void test_a_folder_is_found_before_its_move_is_told(void **state)
{
	(void)state;
	make("n");
	assert_int_equal(rename("a", "n/a"), 0);
	news();
	put("n/a/b/f", "text");
	assert_string_equal(news(), "=n/a/b/f");
	put("n/a/g", "text");
	assert_string_equal(news(), "=n/a/g");
}

/* As somebody does who can write there, in the guest too. */
static void test_a_link_leads_nowhere(void **state)
{
	char other[] = "/tmp/ut.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(other));
	snprintf(path, sizeof(path), "%s/secret", other);
	make("n");
	assert_int_equal(rmdir("n"), 0);
	assert_int_equal(symlink(other, "n"), 0); /* before the folder is read */
	assert_int_equal(rename("a/b", "a/c"), 0);
	assert_int_equal(symlink(other, "a/b"), 0);
	news();
	put(path, "text");
	assert_string_equal(news(), "");
	unlink(path);
	rmdir(other);
}

static void test_a_burst_is_whole(void **state)
{
	char path[32];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "a/b/burst%d", i);
		put(path, "x");
	}
	for (const char *p = news(); (p = strchr(p, '=')); p++)
		n++;
	assert_int_equal(n, 1000);
}

/* What the kernel dropped is found again: files by their time, folders that came and went by looking. */
static void test_what_was_missed_is_found(void **state)
{
	struct timespec until = { .tv_nsec = 50000000 };

	(void)state;
	put("a/old", "");
	news();
	nanosleep(&until, NULL); /* times of files are as coarse as the kernel's tick, and some slack is allowed for */
	assert_string_equal(news(), "");
	put("a/b/f", "text");
	make("a/n");
	put("a/n/f", "text");
	/* As if it had been dropped. */
	tree_lose(tree, clock_real_ns());
	assert_true(tree_lost(tree));
	while (tree_lost(tree))
		tree_catch_up(tree);
	take();
	assert_non_null(strstr(seen, "=a/b/f"));
	assert_non_null(strstr(seen, "+a/n"));
	assert_non_null(strstr(seen, "=a/n/f"));
	assert_non_null(strstr(seen, "=a "));
	assert_null(strstr(seen, "=a/old"));
	news();
	put("a/n/f", "text");
	assert_string_equal(news(), "=a/n/f");
}

static void test_the_kernels_queue_overflows(void **state)
{
	char path[32];
	unsigned max = 16384;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

	(void)state;
	if (f && fscanf(f, "%u", &max) != 1)
		max = 16384;
	if (f)
		fclose(f);
	for (unsigned i = 0; i < max / 2 + 100; i++) { /* two events each */
		snprintf(path, sizeof(path), "a/%u", i);
		put(path, "x");
	}
	make("a/last");
	put("a/last/f", "x");
	tree_read(tree);
	assert_true(tree_lost(tree));
	while (!pending_empty(pending)) {
		uint8_t bytes[8192];

		pending_take(pending, bytes, sizeof(bytes));
	}
	tree_catch_up(tree);
	while (!pending_empty(pending)) {
		static uint8_t bytes[FE_RECORD_MAX];
		static struct fe_record r;
		size_t n = pending_take(pending, bytes, FE_HEADER + 16);

		for (size_t at = 0; at < n; at += FE_HEADER + strlen(r.path)) {
			assert_true(fe_unpack(&r, bytes + at, n - at) > 0);
			if (!strcmp(r.path, "a/last") && r.kind == FE_HERE)
				max = 0;
		}
	}
	assert_int_equal(max, 0);
}

/* Nothing more is heard then, of whatever has its name later, too: it is the old one that is mounted in the guest. */
static void test_the_folder_itself_goes(void **state)
{
	(void)state;
	assert_int_equal(unlink("a/b/f"), 0);
	assert_int_equal(rmdir("a/b"), 0);
	assert_int_equal(rmdir("a"), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_string_equal(news(), "~a/b/f -a/b ~a/b -a ~a");
	make(dir);
	assert_int_equal(chdir(dir), 0);
	put("f", "text");
	assert_string_equal(news(), "");
	assert_false(tree_lost(tree));
}

static void test_what_cannot_be_watched_is_said(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_null(tree_new(pending, 0, "/nowhere", &e));
	assert_string_equal(e.msg, "/nowhere: No such file or directory");
	assert_null(tree_new(pending, 0, "/etc/passwd", &e));
}

#define TREE(test) cmocka_unit_test_setup_teardown(test, begin_tree, end_tree)
#define PENDING(test) cmocka_unit_test_setup_teardown(test, begin_pending, end_pending)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PENDING(test_each_path_once_the_latest_last),
		PENDING(test_told_when_it_is_quiet_or_takes_too_long),
		PENDING(test_what_does_not_fit_stays),
		PENDING(test_too_many_are_dropped_and_said),
		PENDING(test_what_cannot_be_watched_is_said),
		TREE(test_files),
		TREE(test_what_the_guest_does_to_wake_its_own_is_no_news),
		TREE(test_folders),
		TREE(test_a_folder_is_found_before_its_move_is_told),
		TREE(test_a_link_leads_nowhere),
		TREE(test_a_burst_is_whole),
		TREE(test_what_was_missed_is_found),
		TREE(test_the_kernels_queue_overflows),
		TREE(test_the_folder_itself_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
