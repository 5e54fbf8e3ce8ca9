#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "lib/file_hash.h"
#include "lib/io.h"
#include "lib/mux_wire.h"
#include "limactl-c/base/text.h"
#include "lib/file_part.h"
#include "tests/unit/file_copy.h"
#include "tests/unit/tmp_dir.h"

enum { BIG = 5 << 20 };

static struct sender from;
static struct told told;
static struct err e;

static void put(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(fs_write_atomic(path, text, strlen(text), mode, &e), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void is(const char *path, const char *text)
{
	auto_buf b = BUF_INIT(1 << 20);

	assert_int_equal(io_read_file(path, &b, &e), 0);
	assert_string_equal(b.data ? b.data : "", text);
}

static void link_is(const char *path, const char *text)
{
	auto_free char *says = fs_read_link(path);

	assert_non_null(says);
	assert_string_equal(says, text);
}

static struct stat look(const char *path)
{
	struct stat st = { 0 };

	assert_int_equal(lstat(path, &st), 0);
	return st;
}

/* How many names a folder has, those of parts among them. */
static size_t names(const char *path, size_t *parts)
{
	auto_closedir DIR *d = opendir(path);
	struct dirent *de;
	size_t n = 0;

	*parts = 0;
	while ((de = readdir(d))) {
		n += strcmp(de->d_name, ".") && strcmp(de->d_name, "..");
		*parts += text_ends_with(de->d_name, ".part");
	}
	return n;
}

static int copy(const char *path, const char *target)
{
	from = (struct sender){ .path = path };
	return file_copy(&from, target, &told, &e);
}

/* Bytes that do not repeat. */
static void put_big(const char *path, unsigned seed)
{
	static uint32_t word[BIG / 4];
	auto_close int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	for (size_t i = 0; i < BIG / 4; i++)
		word[i] = seed = seed * 1664525 + 1013904223;
	assert_int_equal(io_write_full(fd, word, sizeof(word)), 0);
}

static uint64_t hash_of(const char *path)
{
	auto_close int fd = open(path, O_RDONLY);
	struct stat st = look(path);
	uint64_t h;

	assert_int_equal(file_hash(fd, st.st_size, &h), 0);
	return h;
}

static void test_tree(void **state)
{
	const struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { 981173106, 123456789 } };
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(mkdir("src", 0755) | mkdir("src/empty", 0711) | mkdir("src/closed", 0755), 0);
	put("src/closed/x", "x", 0400);
	put("src/odd\n\xff *?", "odd", 0640);
	put("src/run", "", 04755);
	assert_int_equal(symlink("../no/where", "src/link") | symlink("closed", "src/folder"), 0);
	fd = open("src/sparse", O_CREAT | O_WRONLY, 0600);
	assert_true(ftruncate(fd, 30 << 20) == 0 && pwrite(fd, "mid", 3, 9 << 20) == 3);
	close(fd);
	assert_int_equal(mkfifo("src/fifo", 0600), 0);
	assert_int_equal(utimensat(AT_FDCWD, "src/run", t, 0) | utimensat(AT_FDCWD, "src/link", t, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(chmod("src/closed", 0555) | utimensat(AT_FDCWD, "src/closed", t, 0), 0);

	for (int round = 0; round < 2; round++) { /* the second over what is there */
		assert_int_equal(copy("src", round ? "dst/." : "dst"), 0);
		assert_true(told.problems == 0 && from.told.problems == 0 && from.told.warnings == 1);
		assert_string_equal(from.told.last, "src/fifo: is neither file, folder nor link: left out");
		if (!round)
			continue;
		assert_int_equal(rename("dst/src", "again"), 0);
	}
	is("dst/closed/x", "x");
	is("dst/odd\n\xff *?", "odd");
	link_is("dst/link", "../no/where");
	link_is("dst/folder", "closed");
	st = look("dst/link");
	assert_true(st.st_mtim.tv_sec == 981173106 && st.st_mtim.tv_nsec == 123456789);
	st = look("dst/run");
	assert_true(st.st_mode == (S_IFREG | 0755) && st.st_mtim.tv_nsec == 123456789);
	st = look("dst/closed");
	assert_true(st.st_mode == (S_IFDIR | 0555) && st.st_mtim.tv_nsec == 123456789);
	assert_int_equal(look("dst/empty").st_mode, S_IFDIR | 0711);
	assert_int_equal(look("dst/odd\n\xff *?").st_mode, S_IFREG | 0640);
	st = look("dst/sparse");
	assert_true(st.st_size == 30 << 20 && st.st_blocks < 1000);
	assert_int_equal(hash_of("dst/sparse"), hash_of("src/sparse"));
	is("again/closed/x", "x");
}

/* What the target means: scp's and Lima's rules. */
static void test_target(void **state)
{
	static const struct {
		const char *from, *to, *path, *text;
	} rows[] = {
		{ "f", "d", "d/f", "new" },
		{ "f", "old", "old", "new" },
		{ "f", "to-d/g", "d/g", "new" },
		{ "f", "to-file", "d/real", "new" },
		{ "f", "dangling", "dangling", "new" },
		{ "src", "named", "named/sub/f", "deep" },
		{ "src/", "named", "named/src/sub/f", "deep" },
		{ "src", "slash/", "slash/sub/f", "deep" },
		{ "src/.", "d", "d/sub/f", "deep" },
		{ "src/.", "fresh", "fresh/sub/f", "deep" },
	};
	static const struct {
		const char *to, *why;
	} refused[] = {
		{ "none/", "none/: there is no such folder" },
		{ "none/x", "none: No such file or directory" },
		{ "/dev/null", "/dev/null is neither file nor folder" },
		{ "f/", "f/: there is no such folder" },
	};

	(void)state;
	assert_int_equal(mkdir("d", 0755) | mkdir("src", 0755) | mkdir("src/sub", 0755) | symlink("d", "to-d"), 0);
	put("f", "new", 0644);
	put("src/sub/f", "deep", 0644);
	put("old", "old", 0644);
	put("d/real", "old", 0644);
	assert_int_equal(symlink("d/real", "to-file") | symlink("gone", "dangling"), 0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(copy(rows[i].from, rows[i].to), 0);
		is(rows[i].path, rows[i].text);
	}
	link_is("to-file", "d/real");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_int_equal(copy("f", refused[i].to), -1);
		assert_string_equal(e.msg, refused[i].why);
	}
	assert_int_equal(copy("none", "x"), 0);
	assert_string_equal(from.told.last, "none: No such file or directory");
	assert_int_equal(copy("/proc/self/status", "status"), 0);
	assert_true(look("status").st_size > 100);
}

/* One thing that is in the way is told, the rest is copied. */
static void test_in_the_way(void **state)
{
	size_t parts;

	(void)state;
	assert_int_equal(mkdir("src", 0755) | mkdir("src/d", 0755) | mkdir("src/f", 0755), 0);
	put("src/d/x", "x", 0644);
	put("src/f/y", "y", 0644);
	put("src/z", "z", 0644);
	assert_int_equal(mkdir("dst", 0755) | mkdir("dst/src", 0755) | mkdir("dst/src/z", 0755) | mkdir("out", 0755), 0);
	put("dst/src/f", "a file", 0644);
	assert_int_equal(symlink("../../out", "dst/src/d"), 0);

	assert_int_equal(copy("src", "dst"), 0);
	assert_int_equal(told.problems, 3);
	assert_int_equal(names("out", &parts), 0);
	is("dst/src/f", "a file");
	assert_true(S_ISDIR(look("dst/src/z").st_mode));
	assert_int_equal(names("dst/src", &parts), 3);
	assert_int_equal(parts, 0);
}

static void test_too_deep(void **state)
{
	char name[8] = "d";
	int top;

	(void)state;
	top = open(".", O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdir("src", 0755), 0);
	put("src/f", "f", 0644);
	assert_int_equal(chdir("src"), 0);
	for (int i = 0; i < FP_DEPTH_MAX + 10; i++)
		assert_int_equal(mkdir(name, 0755) | chdir(name), 0);
	assert_int_equal(fchdir(top), 0);
	close(top);
	assert_int_equal(copy("src", "dst"), 0);
	assert_true(from.told.problems == 1 && told.problems == 0);
	is("dst/f", "f");
}

/* What was there stays until all is there; the next copy sends the rest only. */
static void test_resume(void **state)
{
	size_t parts;

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	put_big("big", 1);
	put("d/big", "old", 0644);
	from = (struct sender){ .path = "big", .cut = 3 << 20 };
	assert_int_equal(file_copy(&from, "d", &told, &e), -1);
	assert_string_equal(e.msg, "the connection ended in the middle of the copy");
	is("d/big", "old");
	assert_int_equal(names("d", &parts), 2);
	assert_int_equal(parts, 1);

	assert_int_equal(copy("big", "d"), 0);
	assert_in_range(from.sent, 2 << 20, (2 << 20) + 300000);
	assert_int_equal(told.moved, BIG);
	assert_int_equal(from.told.moved, BIG);
	assert_int_equal(hash_of("d/big"), hash_of("big"));
	assert_int_equal(names("d", &parts), 1);

	/* What is there already is not sent again. */
	assert_int_equal(chmod("big", 0600), 0);
	assert_int_equal(copy("big", "d"), 0);
	assert_in_range(from.sent, 1, 1000);
	assert_int_equal(look("d/big").st_mode, S_IFREG | 0600);
}

/* The same size and time do not make a file the same, nor does its beginning. */
static void test_resume_refused(void **state)
{
	struct timespec t[2];
	size_t parts;

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	put_big("big", 1);
	put_big("d/big", 2);
	t[0] = t[1] = look("big").st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, "d/big", t, 0), 0);
	assert_int_equal(copy("big", "d"), 0);
	assert_true(from.sent > BIG);
	assert_int_equal(hash_of("d/big"), hash_of("big"));

	unlink("d/big");
	from = (struct sender){ .path = "big", .cut = 3 << 20 };
	assert_int_equal(file_copy(&from, "d", &told, &e), -1);
	put_big("big", 3);
	assert_int_equal(copy("big", "d"), 0);
	assert_true(from.sent > BIG);
	assert_int_equal(hash_of("d/big"), hash_of("big"));
	assert_int_equal(names("d", &parts), 1);

	/* A small file that is cut leaves nothing. */
	put("small", "0123456789", 0644);
	from = (struct sender){ .path = "small", .cut = 60 };
	assert_int_equal(file_copy(&from, "d", &told, &e), -1);
	assert_int_equal(names("d", &parts), 1);
}

/* --- a sender that means harm --- */

static struct script s;

/* A record: a folder's or file's name and size, text, or a number. */
struct step {
	enum fp_type type;
	const char *text;
	uint64_t n;
};
#define FOLDER(name) { FP_DIR, name, 0 }
#define FILE_A(size) { FP_FILE, "a", size }
#define NUMBER(type, n) { type, NULL, n }
#define PLAIN(type) { type, NULL, 0 }
#define EVIL { FP_DATA, "evil", 0 }
#define WHOLE(name) { FP_FILE, name, 4 }, EVIL, NUMBER(FP_DONE, 4)
enum { STEPS_MAX = 6 }; /* the last is none */

static void plain(enum fp_type type)
{
	fstream_put(&s.out, type, NULL, 0, &e);
}

static void put_step(const struct step *step)
{
	static const char zeros[FP_TEXT_MAX + 2];

	switch (step->type) {
	case FP_DIR:
	case FP_FILE:
		script_entry(&s, step->type, step->text, "", step->n);
		break;
	case FP_DATA:
		fstream_put(&s.out, FP_DATA, step->text, strlen(step->text), &e);
		break;
	case FP_PROBLEM:
		fstream_put(&s.out, FP_PROBLEM, zeros, step->n, &e);
		break;
	case FP_LEAVE:
	case FP_END:
		plain(step->type);
		break;
	default:
		fstream_put_u64(&s.out, step->type, step->n, &e);
	}
}

static int play(const struct step *step, const char *target)
{
	script_begin(&s);
	for (; step->type; step++)
		put_step(step);
	return script_play(&s, target, &told, &e);
}

static void test_malformed(void **state)
{
	static const struct step harm[][STEPS_MAX] = {
		{ WHOLE("..") },
		{ WHOLE("../out/x") },
		{ WHOLE("/out") },
		{ WHOLE("") },
		{ FOLDER("..") },
		{ PLAIN(FP_LEAVE) },
		{ FOLDER("a"), PLAIN(FP_LEAVE), PLAIN(FP_LEAVE) },
		{ FOLDER("a"), FOLDER("") },
		{ FOLDER("a"), PLAIN(FP_END) },
		{ FILE_A(4), PLAIN(FP_END) },
		{ FILE_A(4), { FP_FILE, "b", 4 } },
		{ EVIL },
		{ NUMBER(FP_FROM, 0) },
		{ FILE_A(FILE_SEND_ASK), NUMBER(FP_FROM, 4096) }, /* was not offered */
		{ FILE_A(FILE_SEND_ASK), NUMBER(FP_FROM, 0), NUMBER(FP_FROM, 0) },
		{ NUMBER(FP_OFFER, 0) },
		{ FILE_A(4), NUMBER(FP_HOLE, (uint64_t)INT64_MAX + 1) },
		{ NUMBER(FP_PROBLEM, FP_TEXT_MAX + 2) },
	};
	size_t parts;

	(void)state;
	assert_int_equal(mkdir("in", 0755) | mkdir("in/d", 0755) | mkdir("in/out", 0755), 0);
	for (size_t i = 0; i < sizeof(harm) / sizeof(*harm); i++) {
		assert_int_equal(play(harm[i], "in/d"), -1);
		if (strcmp(e.msg, "the other side does not keep to the protocol of copying"))
			fail_msg("harm %zu: %s", i, e.msg);
		assert_int_equal(names("in", &parts), 2);
		assert_int_equal(names("in/out", &parts), 0);
	}
}

/* Links of its own making lead nowhere. */
static void test_links(void **state)
{
	char part[64];
	size_t parts;

	(void)state;
	assert_int_equal(mkdir("d", 0755) | mkdir("out", 0755), 0);
	put("out/f", "mine", 0644);
	snprintf(part, sizeof(part), ".limactl-c-%016llx.part", (unsigned long long)wire_hash(0, (const uint8_t *)"x", 1));

	script_begin(&s);
	script_entry(&s, FP_LINK, "a", "../out", 0);
	script_entry(&s, FP_DIR, "a", "", 0); /* refused, with what is in it */
	script_evil(&s, "g");
	script_entry(&s, FP_FILE, "big", "", FILE_SEND_ASK); /* asked for, unwanted */
	plain(FP_LEAVE);
	script_entry(&s, FP_LINK, "f", "../out/f", 0);
	script_evil(&s, "f"); /* takes the place of the link */
	script_entry(&s, FP_LINK, part, "../out/f", 0);
	script_evil(&s, "x"); /* its part is no link to be written through */
	plain(FP_END);
	assert_int_equal(script_play(&s, "d", &told, &e), 0);
	assert_int_equal(told.problems, 1);
	is("out/f", "mine");
	assert_int_equal(names("out", &parts), 1);
	link_is("d/a", "../out");
	is("d/f", "evil");
	is("d/x", "evil");
	assert_int_equal(look("d/f").st_mode, S_IFREG | 01755); /* no setuid from a guest */
}

/* A second thing where the target is one, sizes that are not true, more than there can be. */
static void test_untrue(void **state)
{
	static const struct step two[STEPS_MAX + 1] = { WHOLE("a"), WHOLE("b") };
	static const struct step untrue[][STEPS_MAX] = {
		{ { FP_FILE, "f", 100 }, EVIL, NUMBER(FP_DONE, 100), PLAIN(FP_END) },
		{ { FP_FILE, "f", 100 }, NUMBER(FP_HOLE, INT64_MAX), NUMBER(FP_HOLE, INT64_MAX), NUMBER(FP_DONE, 100),
		  PLAIN(FP_END) },
	};
	size_t parts;

	(void)state;
	put("f", "mine", 0644);
	assert_int_equal(play(two, "new"), -1);
	assert_string_equal(e.msg, "new is no folder: several things can be copied into a folder only");
	is("new", "evil");
	for (size_t i = 0; i < sizeof(untrue) / sizeof(*untrue); i++) {
		assert_int_equal(play(untrue[i], "f"), 0);
		assert_int_equal(told.problems, 1);
		is("f", "mine");
	}
	assert_int_equal(names(".", &parts), 2);
}

/* From its offer on, what an earlier copy left is one copy's: another gets none of it and writes nothing to it. */
static void test_two_at_once(void **state)
{
	const struct fp_entry v = { .mode = 0600, .mtime = 1, .size = 6, .ask = true, .name = "big" };
	struct file_part a = FILE_PART_INIT, b = FILE_PART_INIT;
	uint64_t hash;

	(void)state;
	assert_int_equal(file_part_offer(&a, AT_FDCWD, &v, &hash, &e), 0);
	assert_int_equal(file_part_begin(&a, 0, &e), 0);
	assert_int_equal(file_part_write(&a, "abc", 3, &e), 0);
	file_part_drop(&a, true);
	assert_int_equal(file_part_offer(&a, AT_FDCWD, &v, &hash, &e), 0);
	assert_int_equal(a.offer, 3);
	assert_int_equal(file_part_offer(&b, AT_FDCWD, &v, &hash, &e), 0);
	assert_int_equal(b.offer, 0);
	assert_int_equal(file_part_begin(&b, 0, &e), -1);
	assert_string_equal(e.msg, "another copy is just writing it");
	file_part_drop(&b, false);
	assert_int_equal(file_part_begin(&a, 3, &e), 0);
	assert_int_equal(file_part_write(&a, "def", 3, &e), 0);
	assert_int_equal(file_part_finish(&a, 6, 0600, &e), 0);
	assert_int_equal(file_part_offer(&b, AT_FDCWD, &(struct fp_entry){ .size = 9, .ask = true, .name = "big" }, &hash, &e), 0);
	assert_int_equal(file_part_begin(&b, 0, &e), 0);
	file_part_drop(&b, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tree, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_target, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_in_the_way, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_too_deep, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_resume, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_resume_refused, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_malformed, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_links, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_untrue, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_two_at_once, tmp_dir_enter, tmp_dir_leave),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
