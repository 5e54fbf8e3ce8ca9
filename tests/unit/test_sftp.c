/* The SFTP server of reverse-sshfs: what a hostile guest may ask, and gets. What a real client does is tests/cli/sshfs.bats. */
#include "limactl-c/sftp/server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/be.h"
#include "limactl-c/sftp/packet.h"
#include "tests/unit/tmp_dir.h"

static char *dir; /* with "share", which is served, and "secret" beside it */
static struct sftp *s;
static struct buf q = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);

static char *in_dir(const char *name)
{
	static char path[2][600];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void serve(bool readonly, bool follow)
{
	sftp_free(s);
	s = sftp_new(open(in_dir("share"), O_RDONLY | O_DIRECTORY), readonly, follow);
}

static int begin(void **state)
{
	if (tmp_dir_make(state) < 0)
		return -1;
	dir = *state;
	mkdir(in_dir("share"), 0755);
	mkdir(in_dir("share/d"), 0755);
	write_file("secret", "secret");
	write_file("share/file", "content");
	if (symlink("../secret", in_dir("share/up")) < 0 || symlink(in_dir("secret"), in_dir("share/abs")) < 0 ||
	    symlink("..", in_dir("share/d/back")) < 0 || symlink("..", in_dir("share/out")) < 0 ||
	    symlink("file", in_dir("share/in")) < 0 || mkfifo(in_dir("share/fifo"), 0600) < 0)
		return -1;
	serve(false, false);
	return 0;
}

static int end(void **state)
{
	sftp_free(s);
	s = NULL;
	buf_free(&q);
	buf_free(&out);
	return tmp_dir_remove(state);
}

static void ask(uint8_t type)
{
	buf_free(&q);
	sftp_begin_packet(&q, type, 77);
}

/* Sends what was put since ask(); the type of the answer, and for STATUS its code with a minus. */
static int answer(void)
{
	const uint8_t *p;

	out.len = 0;
	assert_int_equal(sftp_packet(s, (uint8_t *)q.data + 4, q.len - 4, &out), 0);
	p = (uint8_t *)out.data;
	assert_true(out.len >= 9);
	assert_int_equal(be_get(p, 4), out.len - 4);
	assert_int_equal(be_get(p + 5, 4), 77);
	return p[4] == SFTP_STATUS ? -(int)be_get(p + 9, 4) : p[4];
}

static int with_path(uint8_t type, const char *path)
{
	ask(type);
	sftp_put_text(&q, path);
	return answer();
}

static int with_two(uint8_t type, const char *extension, const char *a, const char *b)
{
	ask(type);
	if (extension)
		sftp_put_text(&q, extension);
	sftp_put_text(&q, a);
	sftp_put_text(&q, b);
	return answer();
}

static int open_as(const char *path, uint32_t flags)
{
	ask(SFTP_OPEN);
	sftp_put_text(&q, path);
	sftp_put32(&q, flags);
	sftp_put32(&q, 0);
	return answer();
}

static int setstat(const char *path, uint32_t has, uint32_t value)
{
	ask(SFTP_SETSTAT);
	sftp_put_text(&q, path);
	sftp_put32(&q, has);
	sftp_put32(&q, value);
	return answer();
}

static int read_from(uint32_t handle, uint64_t from, uint32_t n)
{
	ask(SFTP_READ);
	sftp_put32(&q, 4);
	sftp_put32(&q, handle);
	sftp_put64(&q, from);
	sftp_put32(&q, n);
	return answer();
}

static void nothing_outside_can_be_named(void **state)
{
	static const char *const paths[] = { "/../secret", "../secret", "/d/../../secret", "up/", "/abs", "out/secret", "/out/secret",
					     "d/back/../secret", "//../secret", "/./../secret" };

	(void)state;
	for (int follow = 0; follow < 2; follow++) {
		serve(false, follow);
		for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
			assert_true(with_path(SFTP_STAT, paths[i]) <= 0 || !follow);
			assert_true(open_as(paths[i], SFTP_READS) < 0);
			assert_true(open_as(paths[i], SFTP_WRITES | SFTP_CREATES | SFTP_TRUNCATES) < 0);
			assert_true(setstat(paths[i], SFTP_HAS_MODE, 0777) < 0 || !follow);
		}
		assert_true(with_path(SFTP_OPENDIR, "/..") < 0);
		assert_true(with_path(SFTP_OPENDIR, "out") < 0);
		assert_true(with_path(SFTP_REMOVE, "out/secret") < 0);
		assert_true(with_path(SFTP_REMOVE, "../secret") < 0);
		assert_true(with_path(SFTP_RMDIR, "/") < 0);
		assert_true(with_two(SFTP_RENAME, NULL, "out/secret", "stolen") < 0);
		assert_true(with_two(SFTP_RENAME, NULL, "file", "out/new") < 0);
		assert_true(with_two(SFTP_EXTENDED, "posix-rename@openssh.com", "/file", "/../secret") < 0);
		assert_true(with_two(SFTP_EXTENDED, "hardlink@openssh.com", "/../secret", "/stolen") < 0);
		assert_true(with_two(SFTP_EXTENDED, "hardlink@openssh.com", "out/secret", "/stolen") < 0);
		assert_true(with_two(SFTP_SYMLINK, NULL, "text", "out/link") < 0);
	}
	struct stat st;

	assert_int_equal(stat(in_dir("secret"), &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_not_equal(st.st_mode & 0777, 0777);
	assert_int_equal(access(in_dir("share/stolen"), F_OK), -1);
	assert_int_equal(access(in_dir("new"), F_OK), -1);
}

static void links_inside_are_followed_when_asked_to(void **state)
{
	(void)state;
	assert_true(open_as("in", SFTP_READS) < 0);
	assert_true(with_path(SFTP_STAT, "d/back/file") < 0);
	serve(false, true);
	assert_int_equal(open_as("in", SFTP_READS), SFTP_HANDLE);
	assert_int_equal(with_path(SFTP_STAT, "d/back/file"), SFTP_ATTRS);
}

static void read_only_changes_nothing(void **state)
{
	struct stat st;

	(void)state;
	serve(true, false);
	for (uint32_t flags = 2; flags < 64; flags++)
		assert_int_equal(open_as("file", flags), -SFTP_DENIED);
	assert_int_equal(open_as("file", SFTP_READS), SFTP_HANDLE);
	assert_int_equal(setstat("file", SFTP_HAS_MODE, 0777), -SFTP_DENIED);
	assert_int_equal(with_path(SFTP_REMOVE, "file"), -SFTP_DENIED);
	assert_int_equal(with_path(SFTP_RMDIR, "d"), -SFTP_DENIED);
	assert_int_equal(with_two(SFTP_MKDIR, NULL, "new", ""), -SFTP_DENIED);
	assert_int_equal(with_two(SFTP_RENAME, NULL, "file", "new"), -SFTP_DENIED);
	assert_int_equal(with_two(SFTP_SYMLINK, NULL, "a", "new"), -SFTP_DENIED);
	assert_int_equal(with_two(SFTP_EXTENDED, "posix-rename@openssh.com", "file", "new"), -SFTP_DENIED);
	assert_int_equal(with_two(SFTP_EXTENDED, "hardlink@openssh.com", "file", "new"), -SFTP_DENIED);
	ask(SFTP_WRITE);
	sftp_put32(&q, 4);
	sftp_put32(&q, 0);
	sftp_put64(&q, 0);
	sftp_put_text(&q, "junk");
	assert_int_equal(answer(), -SFTP_DENIED);
	assert_int_equal(stat(in_dir("share/file"), &st), 0);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(access(in_dir("share/new"), F_OK), -1);
}

static void handles_are_only_ours(void **state)
{
	(void)state;
	assert_int_equal(open_as("file", SFTP_READS), SFTP_HANDLE);
	assert_int_equal(read_from(0, 0, 100), SFTP_DATA);
	assert_int_equal(out.len, 4 + 1 + 4 + 4 + 7);
	assert_memory_equal(out.data + 13, "content", 7);
	assert_int_equal(read_from(0, 3, 2), SFTP_DATA);
	assert_memory_equal(out.data + 13, "te", 2);
	assert_int_equal(read_from(0, 7, 1), -SFTP_EOF);
	assert_int_equal(read_from(0, UINT64_MAX, 1), -SFTP_EOF);
	assert_int_equal(read_from(0, 0, UINT32_MAX), SFTP_DATA);
	assert_true(read_from(1, 0, 1) < 0);
	assert_true(read_from(UINT32_MAX, 0, 1) < 0);
	assert_int_equal(with_path(SFTP_OPENDIR, "d"), SFTP_HANDLE);
	assert_true(read_from(1, 0, 1) < 0); /* a folder */
	while (open_as("file", SFTP_READS) == SFTP_HANDLE)
		;
	assert_int_equal(with_path(SFTP_STAT, "file"), SFTP_ATTRS);
}

static void what_is_no_file_is_not_opened(void **state)
{
	(void)state;
	assert_true(open_as("fifo", SFTP_READS) < 0);
	assert_true(open_as("fifo", SFTP_WRITES) < 0);
	assert_true(open_as("d", SFTP_READS) < 0);
}

static void no_file_takes_over_its_owners_rights(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(setstat("file", SFTP_HAS_MODE, 06755), -SFTP_OK);
	assert_int_equal(stat(in_dir("share/file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void what_is_above_is_not_told(void **state)
{
	struct stat st;
	size_t at = 13;

	(void)state;
	assert_int_equal(chmod(dir, 0711), 0);
	assert_int_equal(with_path(SFTP_OPENDIR, "/"), SFTP_HANDLE);
	ask(SFTP_READDIR);
	sftp_put32(&q, 4);
	sftp_put32(&q, 0);
	assert_int_equal(answer(), SFTP_NAME);
	assert_int_equal(be_get((uint8_t *)out.data + 9, 4), 9);
	assert_int_equal(stat(in_dir("share"), &st), 0);
	for (int i = 0; i < 9; i++) {
		const char *name = out.data + at + 4;
		size_t n = (size_t)be_get((uint8_t *)out.data + at, 4);
		const uint8_t *mode = (uint8_t *)out.data + at + 2 * (4 + n) + 20;

		if (n == 2 && !memcmp(name, "..", 2))
			assert_int_equal(be_get(mode, 4), st.st_mode);
		at += 2 * (4 + n) + 32;
	}
	assert_int_equal(at, out.len);
}

static int read_folder(uint32_t handle)
{
	ask(SFTP_READDIR);
	sftp_put32(&q, 4);
	sftp_put32(&q, handle);
	return answer();
}

/* Names that are read with others, and are gone when their turn comes. */
static void what_is_removed_meanwhile_is_no_error(void **state)
{
	bool one = false, two = false;
	char name[30];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "share/d/%d", i);
		write_file(name, "");
	}
	assert_int_equal(with_path(SFTP_OPENDIR, "d"), SFTP_HANDLE);
	/* Every file system has its order: these two stay. */
	while (!one || !two) {
		assert_int_equal(read_folder(0), SFTP_NAME);
		one |= memmem(out.data, out.len, "\0\0\0\1.", 5) != NULL;
		two |= memmem(out.data, out.len, "\0\0\0\2..", 6) != NULL;
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "share/d/%d", i);
		unlink(in_dir(name));
	}
	unlink(in_dir("share/d/back"));
	assert_int_equal(read_folder(0), -SFTP_EOF);
}

static void bad_packets_change_nothing(void **state)
{
	static const uint8_t types[] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 200 };
	char text[SFTP_PATH_MAX + 1];

	(void)state;
	assert_int_equal(sftp_packet(s, NULL, 0, &out), -1);
	assert_int_equal(sftp_packet(s, (const uint8_t *)"\x04\0\0\0", 4, &out), -1);
	for (size_t i = 0; i < sizeof(types); i++) {
		ask(types[i]);
		assert_true(answer() < 0);
		ask(types[i]);
		sftp_put32(&q, UINT32_MAX);
		assert_true(answer() < 0);
	}
	ask(16);
	assert_int_equal(answer(), -SFTP_UNSUPPORTED);
	assert_int_equal(with_two(SFTP_EXTENDED, "copy-data", "a", "b"), -SFTP_UNSUPPORTED);
	ask(SFTP_REMOVE);
	sftp_put_bytes(&q, "file\0x", 6);
	assert_int_equal(answer(), -SFTP_BAD_MESSAGE);
	memset(text, 'a', SFTP_PATH_MAX);
	text[SFTP_PATH_MAX] = '\0';
	assert_int_equal(with_path(SFTP_STAT, text), -SFTP_BAD_MESSAGE);
	assert_int_equal(access(in_dir("share/file"), F_OK), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(nothing_outside_can_be_named), T(links_inside_are_followed_when_asked_to), T(read_only_changes_nothing),
		T(handles_are_only_ours), T(what_is_no_file_is_not_opened), T(no_file_takes_over_its_owners_rights),
		T(what_is_above_is_not_told), T(bad_packets_change_nothing),
		T(what_is_removed_meanwhile_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
