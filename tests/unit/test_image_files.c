/* Files the image program writes: whole or not at all, unpacked, extracted, the initramfs, the overlay disk. */
#include "tests/unit/image_util.h"

#include <archive.h>
#include <archive_entry.h>
#include <signal.h>

#include "lib/io.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/image/newfile.h"
#include "limactl-c/image/unpack.h"

static void killed_writer_leaves_one_file(void **state)
{
	auto_free char *path = at("new/file"), *folder = at("new"), *text = NULL;
	auto_newfile f = NEWFILE_INIT;
	struct err e;
	int status;

	(void)state;
	assert_int_equal(fs_mkdirs(folder, 0700, &e), 0);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct newfile g = NEWFILE_INIT;

			if (newfile_open(&g, path, &e) == 0 && write(g.fd, "partial bytes", 13) == 13)
				raise(SIGKILL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(count_files("new"), 1);
		assert_false(fs_exists(path));
	}
	assert_int_equal(newfile_open(&f, path, &e), 0);
	assert_int_equal(write(f.fd, "whole", 5), 5);
	newfile_sweep(folder); /* leaves what a living process writes */
	assert_int_equal(newfile_commit(&f, path, 0444, true, &e), 0);
	text = fs_tail(path, 1, 100);
	assert_string_equal(text, "whole");
	assert_int_equal(count_files("new"), 1);
}

static void writers_take_turns(void **state)
{
	auto_free char *path = at("turns"), *text = NULL;
	auto_newfile f = NEWFILE_INIT;
	struct err e;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(newfile_open(&f, path, &e), 0);
	assert_int_equal(write(f.fd, "first", 5), 5);
	pid = fork();
	if (pid == 0) {
		struct newfile g = NEWFILE_INIT;

		close(f.fd);
		/* Opened, but not committed: the first one's file must be as it was. */
		_exit(newfile_open(&g, path, &e) == 0 && fs_exists(g.tmp) ? 0 : 1);
	}
	assert_waits_for_lock(pid);
	assert_int_equal(newfile_commit(&f, path, 0600, false, &e), 0);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	text = fs_tail(path, 1, 100);
	assert_string_equal(text, "first");
}

static void sweep_takes_orphans(void **state)
{
	auto_free char *folder = at("sweep"), *orphan = NULL;
	struct err e;

	(void)state;
	assert_int_equal(fs_mkdirs(folder, 0700, &e), 0);
	orphan = put_text("sweep/url-1", "x");
	newfile_sweep(folder);
	assert_false(fs_exists(orphan));
}

static void signal_removes_it(void **state)
{
	auto_free char *path = at("interrupted"), *tmp = at("interrupted.tmp");
	struct err e;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct newfile g = NEWFILE_INIT;

		newfile_clean_on_signals();
		if (newfile_open(&g, path, &e) == 0)
			raise(SIGTERM);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_false(fs_exists(tmp));
}

static void full_disk_is_named(void **state)
{
	static char bytes[8192] = "x";
	struct newfile full = { .tmp = (char *)(uintptr_t)"/some/disk", .fd = open("/dev/full", O_WRONLY) };
	auto_sink s = SINK_INIT;
	struct err e;

	(void)state;
	assert_int_equal(sink_open(&s, &full, NULL, &e), 0);
	assert_int_equal(sink_write(&s, bytes, sizeof(bytes), &e), -1);
	assert_string_equal(e.msg, "no free disk space for /some/disk");
	close(full.fd);
}

static void zeros_become_holes(void **state)
{
	auto_free char *path = at("sparse"), *zeros = xcalloc(1, 1 << 20);
	auto_newfile f = NEWFILE_INIT;
	auto_sink s = SINK_INIT;
	struct digest got;
	struct stat st;
	struct err e;

	(void)state;
	assert_int_equal(newfile_open(&f, path, &e), 0);
	assert_int_equal(sink_open(&s, &f, NULL, &e), 0);
	assert_int_equal(sink_write(&s, "a", 1, &e), 0);
	assert_int_equal(sink_write(&s, zeros, 1 << 20, &e), 0);
	assert_int_equal(sink_end(&s, &got, &e), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(st.st_size, (1 << 20) + 1);
	assert_true(st.st_blocks * 512 < 1 << 19);
}

/* A zip archive with one folder and the named files. */
static char *make_zip(const char *name, const char *const *members)
{
	char *path = at(name);
	struct archive *a = archive_write_new();

	archive_write_set_format_zip(a);
	assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
	for (; *members; members++) {
		struct archive_entry *entry = archive_entry_new();

		archive_entry_set_pathname(entry, *members);
		archive_entry_set_mode(entry, strchr(*members, '.') ? S_IFREG | 0644 : S_IFDIR | 0755);
		archive_entry_set_size(entry, strchr(*members, '.') ? 5 : 0);
		assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
		archive_write_data(a, "bytes", 5);
		archive_entry_free(entry);
	}
	archive_write_free(a);
	return path;
}

static void extracts_a_member(void **state)
{
	static const char *const members[] = { "images/", "images/a.qcow2", "../evil.txt", NULL };
	auto_free char *zip = make_zip("w.whl", members), *out = at("out/a"), *folder = at("out"), *text = NULL;
	char said[1024];
	struct err e;

	(void)state;
	assert_int_equal(fs_mkdirs(folder, 0700, &e), 0);
	assert_int_equal(RUN(command_extract, said, &e, zip, "images/a.qcow2", out), 0);
	text = fs_tail(out, 1, 100);
	assert_string_equal(text, "bytes");
	unlink(out);
	assert_int_equal(RUN(command_extract, said, &e, zip, "images/b.qcow2", out), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_int_equal(RUN(command_extract, said, &e, zip, "../evil.txt", out), -1);
	assert_non_null(strstr(e.msg, "is not a plain relative path"));
	assert_int_equal(RUN(command_extract, said, &e, zip, "images/", out), -1);
	assert_int_equal(RUN(command_extract, said, &e, "/etc/passwd", "a", out), -1);
	assert_non_null(strstr(e.msg, "cannot unpack /etc/passwd"));
	assert_int_equal(count_files("out"), 0);
}

/* Base of 5 bytes and three files; returns the digest of the result in said. */
static void write_initrd(const char *list, char *said)
{
	auto_free char *base = put_text("base", "BASE5"), *out = at("initrd");
	struct stat st;
	struct err e;

	assert_int_equal(RUN(command_initrd, said, &e, "--base", base, "--out", out, "--list", list), 0);
	assert_int_equal(stat(out, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size % 4, 0);
	assert_int_equal(RUN(command_digest, said, &e, out), 0);
}

static void initrd_appends_an_archive(void **state)
{
	static const char expected[] = "lima 40755 0\nlima/agent 100755 5\nlima/provision 40755 0\n"
				       "lima/provision/00 100700 6\netc 40755 0\netc/x 100644 0\n";
	auto_free char *a = put_text("an agent", "agent"), *b = put_text("script", "script"), *c = put_text("none", "");
	auto_free char *text = xasprintf("755 lima/agent %s\n700 lima/provision/00 %s\n644 /etc/x %s\n", a, b, c);
	auto_free char *list = put_text("list", text), *initrd = at("initrd");
	auto_buf bytes = BUF_INIT(1 << 20), seen = BUF_INIT(4096);
	struct archive *r = archive_read_new();
	struct archive_entry *entry;
	char first[1024], again[1024];
	struct err e;

	(void)state;
	write_initrd(list, first);
	assert_int_equal(utimensat(AT_FDCWD, a, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0), 0);
	write_initrd(list, again);
	assert_string_equal(first, again);
	assert_int_equal(io_read_file(initrd, &bytes, &e), 0);
	assert_memory_equal(bytes.data, "BASE5\0\0\0" "070701", 14);
	archive_read_support_format_cpio(r);
	assert_int_equal(archive_read_open_memory(r, bytes.data + 8, bytes.len - 8), ARCHIVE_OK);
	while (archive_read_next_header(r, &entry) == ARCHIVE_OK) {
		buf_addf(&seen, "%s %o %d\n", archive_entry_pathname(entry), archive_entry_mode(entry),
			 (int)archive_entry_size(entry));
		assert_int_equal(archive_entry_mtime(entry), 0);
		assert_int_equal(archive_entry_uid(entry), 0);
	}
	assert_string_equal(seen.data, expected);
	archive_read_free(r);
}

static void initrd_says_what_is_missing(void **state)
{
	auto_free char *base = put_text("base", "BASE"), *out = at("i/initrd"), *folder = at("i");
	auto_free char *list = put_text("list", "755 lima/agent /nowhere/agent\n"), *bad = put_text("bad", "x\n");
	char said[1024];
	struct err e;

	(void)state;
	assert_int_equal(fs_mkdirs(folder, 0700, &e), 0);
	assert_int_equal(RUN(command_initrd, said, &e, "--base", base, "--out", out, "--list", list), -1);
	assert_string_equal(e.msg, "cannot open /nowhere/agent: No such file or directory");
	assert_int_equal(RUN(command_initrd, said, &e, "--base", "/nowhere", "--out", out, "--list", list), -1);
	assert_int_equal(RUN(command_initrd, said, &e, "--base", base, "--out", out, "--list", bad), -1);
	assert_non_null(strstr(e.msg, "line 1 has no octal mode"));
	assert_int_equal(count_files("i"), 0);
}

static void disk_is_an_overlay(void **state)
{
	auto_free char *base = put_text("base.raw", "boot"), *link = at("name"), *out = at("d/disk"), *folder = at("d"), *path = NULL;
	const char *argv[] = { "qemu-img", "info", "--output=json", out, NULL };
	struct spawn info = { .argv = argv };
	auto_buf json = BUF_INIT(65536);
	char said[1024];
	struct err e;

	(void)state;
	assert_int_equal(truncate(base, 1 << 20), 0);
	assert_int_equal(symlink("base.raw", link), 0);
	assert_int_equal(fs_mkdirs(folder, 0700, &e), 0);
	assert_int_equal(RUN(command_disk, said, &e, "--base", link, "--size", "1024", "--out", out), -1);
	assert_non_null(strstr(e.msg, "smaller than its image"));
	assert_int_equal(RUN(command_disk, said, &e, "--base", link, "--size", "1G", "--out", out), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	path = xstrdup(getenv("PATH"));
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(RUN(command_disk, said, &e, "--base", link, "--size", "4194304", "--out", out), -1);
	setenv("PATH", path, 1);
	assert_non_null(strstr(e.msg, "qemu-img is not installed"));
	assert_int_equal(count_files("d"), 0);
	assert_int_equal(RUN(command_disk, said, &e, "--base", link, "--size", "4194304", "--out", out), 0);
	assert_int_equal(spawn_run(&info, &json, &e), 0);
	assert_non_null(strstr(json.data, base)); /* the file, not the link */
	assert_non_null(strstr(json.data, "\"virtual-size\": 4194304"));
	assert_non_null(strstr(json.data, "\"backing-filename-format\": \"raw\""));
	assert_int_equal(count_files("d"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writer_leaves_one_file), cmocka_unit_test(sweep_takes_orphans),
		cmocka_unit_test(signal_removes_it),		 cmocka_unit_test(full_disk_is_named),
		cmocka_unit_test(zeros_become_holes),		 cmocka_unit_test(extracts_a_member),
		cmocka_unit_test(initrd_appends_an_archive),	 cmocka_unit_test(initrd_says_what_is_missing),
		cmocka_unit_test(disk_is_an_overlay),		 cmocka_unit_test(writers_take_turns),
	};

	return cmocka_run_group_tests_name("image_files", tests, make_dir, remove_dir);
}
