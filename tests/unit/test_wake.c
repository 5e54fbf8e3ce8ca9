/* Waking those who watch files: on a file system of this machine, whose watchers hear what the guest's would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guestagent/wake.h"
#include "guestagent/wake_mounts.h"
#include "lib/cleanup.h"
#include "tests/unit/tmp_dir.h"

static struct wake *wake;
static const char *modified; /* what is heard of f: where this test may not use io_uring, what is heard without */
static int watcher;
static char heard[4096];

static void put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
	close(fd);
}

static int begin_as(void **state, enum wake_kind kind)
{
	if (tmp_dir_make(state) < 0 || chdir(*state) < 0)
		return -1;
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(mkdir("d/e", 0755), 0);
	put("d/f", "text", 0644);
	put("d/x", "text", 0755);
	put("outside", "text", 0644);
	assert_int_equal(symlink("../outside", "d/link"), 0);
	wake = wake_new();
	assert_non_null(wake);
	wake_mount(wake, 3, open("d", O_PATH | O_DIRECTORY), kind);
	watcher = inotify_init1(IN_NONBLOCK);
	assert_true(inotify_add_watch(watcher, "d", IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE) > 0);
	assert_true(inotify_add_watch(watcher, ".", IN_MODIFY | IN_ATTRIB) > 0);
	return 0;
}

static int begin(void **state)
{
	return begin_as(state, WAKE_VIRTIOFS);
}

static int begin_9p(void **state)
{
	return begin_as(state, WAKE_9P);
}

static int end(void **state)
{
	wake_free(wake);
	close(watcher);
	return chdir("/") < 0 ? -1 : tmp_dir_remove(state);
}

/* What watchers of d and of the folder above it heard: "M f" modified, "A f" attributes; M/ and A/ of a folder. */
static const char *hear(void)
{
	char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(watcher, bytes, sizeof(bytes));
	size_t len = 0;

	heard[0] = '\0';
	for (char *p = bytes; n > 0 && p < bytes + n;) {
		const struct inotify_event *ev = (const struct inotify_event *)(void *)p;
		const char *what = ev->mask & IN_MODIFY ? "M" : ev->mask & IN_ATTRIB ? "A" : "?";

		len += (size_t)snprintf(heard + len, sizeof(heard) - len, "%s%s%s%s%s", len ? "," : "", what,
					ev->mask & IN_ISDIR ? "/" : "", ev->len ? " " : "", ev->len ? ev->name : "");
		p += sizeof(*ev) + ev->len;
	}
	return heard;
}

static const char *after(enum fe_kind kind, const char *path)
{
	static uint8_t bytes[FE_RECORD_MAX];
	size_t n = fe_pack(kind, 3, path, bytes);

	hear();
	assert_int_equal(wake_take(wake, bytes, n), n);
	return hear();
}

static void test_a_file_is_modified_and_nothing_of_it_changes(void **state)
{
	struct stat before, st;

	(void)state;
	assert_int_equal(stat("d/f", &before), 0);
	assert_string_equal(after(FE_CHANGED, "f"), modified);
	assert_int_equal(stat("d/f", &st), 0);
	assert_memory_equal(&st.st_mtim, &before.st_mtim, sizeof(st.st_mtim));
	if (*modified == 'M')
		assert_memory_equal(&st.st_ctim, &before.st_ctim, sizeof(st.st_ctim));
	assert_int_equal(st.st_size, 4);
}

static void test_one_that_can_be_executed_is_not_opened_for_writing(void **state)
{
	struct stat before, st;
	struct timespec old[2] = { { .tv_sec = 1000, .tv_nsec = 5 }, { .tv_sec = 2000, .tv_nsec = 7 } };

	(void)state;
	assert_int_equal(utimensat(AT_FDCWD, "d/x", old, 0), 0);
	assert_int_equal(stat("d/x", &before), 0);
	assert_string_equal(after(FE_CHANGED, "x"), "A x");
	assert_int_equal(stat("d/x", &st), 0);
	assert_memory_equal(&st.st_mtim, &before.st_mtim, sizeof(st.st_mtim));
	assert_memory_equal(&st.st_atim, &before.st_atim, sizeof(st.st_atim));
}

static void test_folders_and_what_went(void **state)
{
	struct stat before, st;

	(void)state;
	assert_int_equal(stat("d", &before), 0);
	assert_string_equal(after(FE_CHANGED, "e"), "M/ e");
	assert_string_equal(after(FE_GONE, "was"), "M/ d,M/");
	assert_string_equal(after(FE_CHANGED, "link"), "M/ d,M/");
	assert_string_equal(after(FE_CHANGED, ""), "M/ d,M/");
	assert_string_equal(after(FE_CHANGED, "never/was"), "");
	assert_string_equal(after(FE_GONE, "never/was"), "");
	assert_int_equal(stat("d", &st), 0);
	assert_memory_equal(&st.st_mtim, &before.st_mtim, sizeof(st.st_mtim));
}

static void test_a_run_of_those_that_went_wakes_the_folder_once(void **state)
{
	static uint8_t bytes[4 * FE_RECORD_MAX];
	size_t n = 0;

	(void)state;
	n += fe_pack(FE_GONE, 3, "a", bytes + n);
	n += fe_pack(FE_GONE, 3, "b", bytes + n);
	n += fe_pack(FE_CHANGED, 3, "f", bytes + n);
	n += fe_pack(FE_GONE, 3, "c", bytes + n);
	hear();
	assert_int_equal(wake_take(wake, bytes, n), n);
	assert_true(!strncmp(hear(), "M/ d,M/,", 8) && !strncmp(heard + 8, modified, 3) && !strcmp(heard + 11, ",M/ d,M/"));
}

/* Whatever the host says: through no link, into nothing that is mounted there, of no mount that is not there. */
static void test_nothing_outside_is_touched(void **state)
{
	static uint8_t bytes[FE_RECORD_MAX];
	int other = inotify_init1(IN_NONBLOCK);
	char event[512];
	size_t n;

	(void)state;
	assert_true(inotify_add_watch(other, "outside", IN_ALL_EVENTS) > 0);
	assert_int_equal(symlink("..", "d/up"), 0);
	after(FE_CHANGED, "link");
	assert_string_equal(after(FE_CHANGED, "up/outside"), "");
	assert_string_equal(after(FE_GONE, "up/outside"), "");
	n = fe_pack(FE_CHANGED, 4, "f", bytes);
	assert_int_equal(wake_take(wake, bytes, n), n);
	assert_string_equal(hear(), "");
	if (geteuid() == 0 && mount("none", "d/e", "tmpfs", 0, NULL) == 0) {
		put("d/e/f", "text", 0644);
		assert_true(inotify_add_watch(other, "d/e/f", IN_ALL_EVENTS) > 0);
		assert_string_equal(after(FE_CHANGED, "e/f"), "");
		assert_true(read(other, event, sizeof(event)) < 0);
		assert_int_equal(umount("d/e"), 0);
	}
	close(other);
}

static void test_9p_has_whole_seconds(void **state)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000, .tv_nsec = 5 } };
	struct stat st;

	(void)state;
	/* Nothing that is old gets a new time; its folder is woken. */
	assert_int_equal(utimensat(AT_FDCWD, "d/x", t, 0), 0);
	assert_string_equal(after(FE_CHANGED, "x"), "M/ d,M/");
	assert_int_equal(stat("d/x", &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
	t[1].tv_nsec = UTIME_NOW;
	assert_int_equal(utimensat(AT_FDCWD, "d/x", t, 0), 0);
	assert_string_equal(after(FE_CHANGED, "x"), "A x");
	assert_string_equal(after(FE_CHANGED, "f"), modified);
}

static void test_folders_of_9p_are_held(void **state)
{
	(void)state;
	assert_string_equal(after(FE_HERE, ""), "");
	assert_string_equal(after(FE_HERE, "e"), "");
	assert_int_equal(wake_held(wake), 2);
	assert_string_equal(after(FE_HERE, "e"), ""); /* another one of that name */
	after(FE_HERE, "f");                          /* no folder */
	after(FE_HERE, "nowhere");
	assert_int_equal(wake_held(wake), 2);
	after(FE_LEFT, "e");
	after(FE_LEFT, "nowhere");
	assert_int_equal(wake_held(wake), 1);
}

static void test_folders_of_virtiofs_are_not_held(void **state)
{
	(void)state;
	after(FE_HERE, "e");
	assert_int_equal(wake_held(wake), 0);
}

/* The guest's watchers have heard of it from their kernel; the host's later change is another one. */
static void test_what_was_changed_here_is_told_once(void **state)
{
	struct timespec later = { .tv_nsec = 200000000 };

	(void)state;
	after(FE_HERE, "");
	after(FE_HERE, "e");
	put("d/e/g", "text", 0600);
	assert_string_equal(after(FE_CHANGED, "e/g"), "");
	unlink("d/e/g");
	assert_string_equal(after(FE_GONE, "e/g"), "");
	assert_string_equal(after(FE_CHANGED, "f"), modified); /* nothing was done to it */
	assert_string_equal(after(FE_CHANGED, "f"), modified); /* and what woke its watchers was no change */
	put("d/f", "more", 0644);
	assert_string_equal(after(FE_CHANGED, "f"), "");
	nanosleep(&later, NULL); /* further than clocks of host and guest may be apart */
	assert_int_equal(chmod("d/f", 0640), 0); /* stands for a change of the host's: only the ctime tells of it */
	assert_string_equal(after(FE_CHANGED, "f"), modified);
	/* Folders that are not known any more. */
	after(FE_LEFT, "e");
	put("d/e/h", "text", 0600);
	assert_string_equal(after(FE_GONE, "e/i"), "M/ e");
}

static void test_records_in_pieces_and_what_is_none(void **state)
{
	static uint8_t bytes[2 * FE_RECORD_MAX];
	size_t n = fe_pack(FE_CHANGED, 3, "f", bytes), one = n;

	(void)state;
	n += fe_pack(FE_CHANGED, 3, "e", bytes + n);
	hear();
	assert_int_equal(wake_take(wake, bytes, n - 1), one);
	assert_string_equal(hear(), modified);
	bytes[one + 2] = 9;
	assert_int_equal(wake_take(wake, bytes, n), -1);
}

/* As a whole process does, up to the end of its stream. */
static void test_serves_until_the_end(void **state)
{
	static struct settings none;
	static uint8_t bytes[FE_RECORD_MAX];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, fe_pack(FE_CHANGED, 0, "f", bytes)), FE_HEADER + 1);
	close(ends[1]);
	assert_int_equal(wake_main(ends[0], &none), 0);
	close(ends[0]);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "\0\0\0\0", 4), 4);
	assert_int_equal(wake_main(ends[0], &none), 1);
	close(ends[0]);
	close(ends[1]);
}

/* What is not mounted is a folder of the guest's own, which the host's records are not about. */
static void test_only_what_is_mounted(void **state)
{
	static struct settings settings;
	char text[] = "mount.00.point=d\nmount.00.writable=true\nmount.01.point=d/e\nmount.01.writable=true\n"
		      "mount.01.type=virtiofs\nmount.02.point=d/e\nmount.02.writable=false\n";
	uint8_t bytes[64];
	int ends[2];
	struct err e;

	(void)state;
	if (geteuid() != 0 || mount("none", "d/e", "tmpfs", 0, NULL) < 0)
		return;
	put("d/e/f", "text", 0644);
	assert_int_equal(settings_parse(&settings, text, &e), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[1]); /* nothing is waited for then */
	wake_mounts(wake, &settings, ends[0]);
	close(ends[0]);
	hear();
	for (unsigned i = 0; i < 3; i++)
		assert_true(wake_take(wake, bytes, fe_pack(FE_CHANGED, i, "f", bytes)) > 0);
	assert_string_equal(hear(), "");
	assert_true(inotify_add_watch(watcher, "d/e", IN_MODIFY | IN_ATTRIB) > 0);
	for (unsigned i = 0; i < 3; i++)
		assert_true(wake_take(wake, bytes, fe_pack(FE_CHANGED, i, "f", bytes)) > 0);
	assert_string_equal(hear(), modified);
	assert_int_equal(umount2("d/e", MNT_DETACH), 0);
}

#define EXACT(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define NINEP(test) cmocka_unit_test_setup_teardown(test, begin_9p, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXACT(test_a_file_is_modified_and_nothing_of_it_changes),
		EXACT(test_one_that_can_be_executed_is_not_opened_for_writing),
		EXACT(test_folders_and_what_went),
		EXACT(test_a_run_of_those_that_went_wakes_the_folder_once),
		EXACT(test_nothing_outside_is_touched),
		NINEP(test_9p_has_whole_seconds),
		NINEP(test_folders_of_9p_are_held),
		EXACT(test_folders_of_virtiofs_are_not_held),
		EXACT(test_what_was_changed_here_is_told_once),
		EXACT(test_records_in_pieces_and_what_is_none),
		EXACT(test_serves_until_the_end),
		EXACT(test_only_what_is_mounted),
	};

	uint64_t params[32] = { 0 }; /* more than the kernel wants */
	int ring = (int)syscall(SYS_io_uring_setup, 1, params);

	modified = ring >= 0 ? "M f" : "A f";
	if (ring >= 0)
		close(ring);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
