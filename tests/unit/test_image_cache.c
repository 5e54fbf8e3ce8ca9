/* The cache: import and get from names and files; several at once; what a killed process leaves, what was altered. */
#include "tests/unit/image_server.h"

#include <dirent.h>
#include <pthread.h>

#include "limactl-c/image/cache.h"

static void import_and_get(void **state)
{
	auto_free char *file = put_text("hello", "hello"), *next = put_text("next", "next");
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_non_null(strstr(e.msg, "make image"));
	assert_int_equal(RUN(command_import, out, &e, "hi", file, "--digest", HELLO), 0);
	assert_string_equal(out, HELLO);
	assert_int_equal(RUN(command_get, out, &e, "cache:hi", "--digest", HELLO512), 0);
	assert_object(out, "hello");
	assert_int_equal(RUN(command_get, out, &e, "cache:hi", "--digest", OTHER), -1);
	assert_int_equal(RUN(command_import, out, &e, "hi", next), 0);
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), 0);
	assert_object(out, "next");
	assert_int_equal(count_files("cache/limactl-c/objects"), 2);
	assert_int_equal(RUN(command_import, out, &e, "../hi", next), -1);
}

static void wrong_digest_leaves_nothing(void **state)
{
	auto_free char *file = put_text("hello", "hello"), *from = page("/hello");
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_import, out, &e, "hi", file, "--digest", OTHER), -1);
	assert_non_null(strstr(e.msg, "wrong digest: it is " HELLO ", not " OTHER));
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", OTHER), -1);
	assert_non_null(strstr(e.msg, "wrong digest"));
	assert_int_equal(RUN(command_get, out, &e, file, "--digest", OTHER), -1);
	assert_int_equal(count_files("cache/limactl-c/objects"), 0);
	assert_int_equal(count_files("cache/limactl-c/names"), 0);
	assert_int_equal(count_files("cache/limactl-c/urls"), 0);
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
}

static void local_files(void **state)
{
	auto_free char *file = put_text("hello", "hello"), *uri = xasprintf("file://%s", file);
	auto_free char *gz = put("x.gz", hello_gz, sizeof(hello_gz)), *cut = put("y.gz", hello_gz, 14);
	auto_free char *plain = put_text("z.xz", "not packed"), *tar = put("t.tar.gz", hello_gz, sizeof(hello_gz));
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, file), 0);
	assert_string_equal(out, file);
	assert_int_equal(RUN(command_get, out, &e, uri, "--digest", HELLO), 0);
	assert_string_equal(out, file);
	assert_int_equal(RUN(command_import, out, &e, "kept", file), 0);
	assert_int_equal(RUN(command_get, out, &e, "cache:kept"), 0);
	assert_object(out, "hello");
	assert_int_equal(RUN(command_get, out, &e, gz), 0);
	assert_object(out, "hello");
	assert_int_equal(RUN(command_get, out, &e, cut), -1);
	assert_non_null(strstr(e.msg, "truncated"));
	assert_int_equal(RUN(command_get, out, &e, plain), -1);
	assert_non_null(strstr(e.msg, "is none"));
	assert_int_equal(RUN(command_get, out, &e, tar), -1);
	assert_int_equal(RUN(command_get, out, &e, dir), -1);
	assert_non_null(strstr(e.msg, "no regular file"));
	assert_int_equal(RUN(command_get, out, &e, "/nowhere/x"), -1);
	assert_int_equal(RUN(command_get, out, &e, "ftp://example/x"), -1);
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
}

static void many_at_once(void **state)
{
	auto_free char *file = put_text("hello", "hello"), *from = page("/hello");
	char out[1024];
	struct err e;

	(void)state;
	for (int i = 0; i < 16; i++) {
		struct command_line import = { .arg = { "hi", file } }, get = { .arg = { from } };

		if (fork() == 0)
			_exit(i % 2 ? command_import.run(&import, &e) < 0 : command_get.run(&get, &e) < 0);
	}
	for (int i = 0; i < 16; i++) {
		int status = -1;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(*requests, 1);
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), 0);
	assert_object(out, "hello");
	assert_int_equal(count_files("cache/limactl-c/objects"), 1);
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
}

static void cut_object_is_replaced(void **state)
{
	auto_free char *file = put_text("hello", "hello");
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_import, out, &e, "hi", file), 0);
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), 0);
	assert_int_equal(chmod(out, 0644), 0);
	assert_int_equal(truncate(out, 2), 0);
	assert_int_equal(chmod(out, 0444), 0);
	assert_int_equal(RUN(command_import, out, &e, "hi", file), 0);
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), 0);
	assert_object(out, "hello");
}

/* Same size, same date: what was altered is noticed all the same, and fetched anew. */
static void altered_object_is_not_used(void **state)
{
	auto_free char *file = put_text("hello", "hello"), *from = page("/hello");
	struct timespec times[2];
	char out[1024];
	struct stat st;
	struct err e;
	int fd;

	(void)state;
	assert_int_equal(RUN(command_import, out, &e, "hi", file), 0);
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO), 0);
	assert_int_equal(*requests, 0);
	assert_int_equal(stat(out, &st), 0);
	times[0] = times[1] = st.st_mtim;
	assert_int_equal(chmod(out, 0644), 0);
	fd = open(out, O_WRONLY);
	assert_int_equal(pwrite(fd, "j", 1, 0), 1);
	close(fd);
	assert_int_equal(chmod(out, 0444), 0);
	assert_int_equal(utimensat(AT_FDCWD, out, times, 0), 0);
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), -1);
	assert_non_null(strstr(e.msg, "was altered"));
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO), 0);
	assert_int_equal(*requests, 1);
	assert_object(out, "hello");
	assert_int_equal(RUN(command_get, out, &e, "cache:hi"), 0);
	/* Touched, but the same. */
	assert_int_equal(utimensat(AT_FDCWD, out, NULL, 0), 0);
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO512), 0);
	assert_int_equal(*requests, 2); /* that digest was not known yet */
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO512), 0);
	assert_int_equal(*requests, 2);
}

enum { LARGE = 128 << 20, SEEN = 1 << 20 };

static bool was_read;

/* Alters the first byte of the file as soon as this process, which reads it, is beyond it. */
static void *alter(void *path)
{
	int fd = open(path, O_WRONLY);

	for (bool seen = false; !seen && !__atomic_load_n(&was_read, __ATOMIC_SEQ_CST);) {
		auto_closedir DIR *d = opendir("/proc/self/fd");
		struct dirent *de;

		while (d && (de = readdir(d)) && !seen) {
			auto_free char *link = xasprintf("/proc/self/fd/%s", de->d_name);
			auto_free char *info = xasprintf("/proc/self/fdinfo/%s", de->d_name);
			char target[1024] = "";
			auto_buf text = BUF_INIT(4096);
			struct err e;

			if (readlink(link, target, sizeof(target) - 1) > 0 && !strcmp(target, path) &&
			    io_read_file(info, &text, &e) == 0 && strtol(text.data + strlen("pos:"), NULL, 10) >= SEEN)
				seen = true;
		}
	}
	pwrite(fd, "j", 1, 0);
	close(fd);
	return NULL;
}

/* What is altered while it is read through was right as far as the reader could see, but not from then on. */
static void altered_while_it_is_read(void **state)
{
	auto_free char *file = put_text("large", ""), *object = NULL, *path = NULL, *again = NULL;
	auto_cache c = CACHE_INIT;
	struct digest d;
	pthread_t thread;
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(truncate(file, LARGE), 0);
	assert_int_equal(RUN(command_import, out, &e, "large", file), 0);
	assert_int_equal(digest_parse(out, &d, &e), 0);
	assert_int_equal(cache_open(&c, &e), 0);
	object = xasprintf("%s/objects/sha256-%s", c.root, d.hex);
	assert_int_equal(utimensat(AT_FDCWD, object, NULL, 0), 0); /* so that it is read through */
	assert_int_equal(pthread_create(&thread, NULL, alter, object), 0);
	path = cache_object(&c, &d);
	__atomic_store_n(&was_read, true, __ATOMIC_SEQ_CST);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_non_null(path);
	again = cache_object(&c, &d);
	assert_null(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(import_and_get),
		TEST(wrong_digest_leaves_nothing),
		TEST(local_files),
		TEST(many_at_once),
		TEST(cut_object_is_replaced),
		TEST(altered_object_is_not_used),
		TEST(altered_while_it_is_read),
	};

	return cmocka_run_group_tests_name("image_cache", tests, start_server, stop_server);
}
