/* image get by HTTP: fetched once, gone on with when it was cut, refused when it is wrong; what Lima has is used. */
#include "tests/unit/image_server.h"

#include <sys/file.h>

static void downloads_once(void **state)
{
	auto_free char *from = page("/moved"), *gz = page("/hello.gz?token=1"), *unpacked = NULL;
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, from), 0);
	assert_object(out, "hello");
	assert_int_equal(*requests, 2); /* with the redirect */
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO), 0);
	assert_int_equal(*requests, 2);
	assert_int_equal(RUN(command_get, out, &e, gz), 0);
	assert_object(out, "hello");
	assert_int_equal(RUN(command_get, out, &e, gz), 0);
	assert_int_equal(*requests, 3);
	unpacked = xstrdup(out);
	assert_int_equal(RUN(command_import, out, &e, "h", unpacked), 0);
	assert_int_equal(RUN(command_get, out, &e, "cache:h"), 0);
	assert_object(out, "hello");
	assert_int_equal(count_files("cache/limactl-c/objects"), 1); /* the packed file is not kept */
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
}

static void other_digests_are_remembered(void **state)
{
	auto_free char *from = page("/hello");
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO512), 0);
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO512), 0);
	assert_object(out, "hello");
	assert_int_equal(*requests, 1);
}

static void failed_downloads(void **state)
{
	static const char *const paths[] = { "/gone", "/short", "/loop", "/file" };
	char out[1024];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		auto_free char *from = page(paths[i]), *expected = xasprintf("cannot download %s: ", from);

		assert_int_equal(RUN(command_get, out, &e, from), -1);
		assert_memory_equal(e.msg, expected, strlen(expected));
	}
	assert_int_equal(RUN(command_get, out, &e, "http://127.0.0.1:1/x"), -1);
	assert_int_equal(count_files("cache/limactl-c/objects"), 0);
	assert_int_equal(count_files("cache/limactl-c/urls"), 0);
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
}

static void assert_big(const char *path)
{
	auto_buf got = BUF_INIT(1 << 20);
	struct err e;

	assert_int_equal(io_read_file(path, &got, &e), 0);
	assert_int_equal(got.len, BIG);
	for (size_t i = 0; i < BIG; i++)
		assert_int_equal(got.data[i], big_byte(i));
}

static void a_cut_download_goes_on(void **state)
{
	static const char *const paths[] = { "/big", "/big/changed", "/big/deaf" };
	char out[1024];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		auto_free char *from = page(paths[i]);
		*requests = 0;
		assert_int_equal(RUN(command_get, out, &e, from), -1);
		assert_int_equal(count_files("cache/limactl-c/partial"), 2);
		if (RUN(command_get, out, &e, from))
			fail_msg("%s: %s", paths[i], e.msg);
		assert_big(out);
		assert_int_equal(*requests, 2);
		assert_int_equal(count_files("cache/limactl-c/partial"), 0);
	}
}

/* The hexadecimal SHA-256 of a URL, malloc'd. */
static char *key_of(const char *from)
{
	auto_free char *text = put_text("url", from);
	char digest[1024];
	struct err e;

	assert_int_equal(RUN(command_digest, digest, &e, text), 0);
	return xstrdup(strchr(digest, ':') + 1);
}

/* What was fetched whole but could not be stored is not fetched again, unless the server has more of it by now. */
static void a_whole_download_is_kept_until_it_is_stored(void **state)
{
	static const struct {
		const char *path;
		unsigned requests; /* altogether */
	} rows[] = { { "/big/whole", 2 }, { "/big/whole/more", 3 } };
	char out[1024];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *from = page(rows[i].path), *key = key_of(from), *in_cache = NULL, *way = NULL;

		*requests = 0;
		in_cache = xasprintf("cache/limactl-c/urls/%s", key);
		way = at(in_cache);
		assert_int_equal(fs_mkdirs(way, 0755, &e), 0);
		assert_int_equal(RUN(command_get, out, &e, from), -1);
		assert_non_null(strstr(e.msg, way));
		assert_int_equal(count_files("cache/limactl-c/partial"), 2);
		assert_int_equal(rmdir(way), 0);
		if (RUN(command_get, out, &e, from))
			fail_msg("%s", e.msg);
		assert_big(out);
		assert_int_equal(*requests, rows[i].requests);
		assert_int_equal(count_files("cache/limactl-c/partial"), 0);
	}
}

/* A server that sends another part than was asked for spoils nothing: what came before is kept. */
static void a_lying_server_is_refused(void **state)
{
	auto_free char *from = page("/big/lying");
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, from), -1);
	assert_int_equal(RUN(command_get, out, &e, from), -1);
	assert_non_null(strstr(e.msg, "another part than was asked for"));
	assert_int_equal(count_files("cache/limactl-c/objects"), 0);
	assert_int_equal(count_files("cache/limactl-c/partial"), 2);
}

/* The partial file of a whole download with the wrong digest is no start for another try. */
static void a_wrong_digest_is_not_gone_on_with(void **state)
{
	auto_free char *from = page("/big");
	char out[1024];
	struct err e;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", OTHER), -1);
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", OTHER), -1);
	assert_non_null(strstr(e.msg, "wrong digest"));
	assert_int_equal(count_files("cache/limactl-c/partial"), 0);
}

/* What comes while a get waits to go on with a part leaves neither the part nor its note. */
static void a_part_of_what_has_come_meanwhile_goes_with_its_note(void **state)
{
	auto_free char *from = page("/hello"), *key = key_of(from), *name = xasprintf("cache/limactl-c/partial/%s", key);
	auto_free char *note = xasprintf("%s.of", name), *part = NULL, *its_note = NULL, *whole = put_text("whole", "hello");
	char out[1024];
	struct err e;
	int fd, status;
	pid_t pid;

	(void)state;
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", OTHER), -1); /* makes the folders */
	assert_int_equal(*requests, 1);
	part = put_text(name, "he");
	its_note = put_text(note, "\"v1\"");
	fd = open(part, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	pid = fork();
	if (pid == 0) {
		close(fd);
		_exit(RUN(command_get, out, &e, from, "--digest", HELLO) == 0 ? 0 : 1);
	}
	assert_waits_for_lock(pid);
	assert_int_equal(RUN(command_import, out, &e, "h", whole), 0);
	close(fd);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(*requests, 1);
	assert_int_equal(count_files("cache/limactl-c/partial"), 0);
}

/* What Lima fetched from the URL, with this content. */
static void put_lima(const char *from, const void *p, size_t n)
{
	auto_free char *key = key_of(from), *name = xasprintf("cache/lima/download/by-url-sha256/%s/data", key);
	auto_free char *data = at(name), *folder = fs_parent(data), *same = NULL;
	struct err e;

	assert_int_equal(fs_mkdirs(folder, 0755, &e), 0);
	same = put(name, p, n);
	assert_string_equal(same, data);
}

static void limas_downloads_are_used(void **state)
{
	auto_free char *from = page("/hello"), *packed = page("/hello.gz"), *other = page("/moved");
	char out[1024];
	struct err e;

	(void)state;
	put_lima(from, "hello", 5);
	put_lima(packed, hello_gz, sizeof(hello_gz));
	put_lima(other, "hell", 4); /* not what is wanted */
	assert_int_equal(RUN(command_get, out, &e, from, "--digest", HELLO512), 0);
	assert_object(out, "hello");
	assert_int_equal(RUN(command_get, out, &e, packed), 0);
	assert_object(out, "hello");
	assert_int_equal(*requests, 0);
	assert_int_equal(count_files("cache/limactl-c/partial"), 0);
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
	assert_int_equal(RUN(command_get, out, &e, other, "--digest", HELLO), 0);
	assert_int_equal(*requests, 0); /* known by its digest */
	assert_int_equal(RUN(command_get, out, &e, other, "--digest", OTHER), -1);
	assert_int_equal(*requests, 2); /* Lima's would not do, so it was asked for, redirected */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(downloads_once),
		TEST(other_digests_are_remembered),
		TEST(failed_downloads),
		TEST(a_cut_download_goes_on),
		TEST(a_whole_download_is_kept_until_it_is_stored),
		TEST(a_lying_server_is_refused),
		TEST(a_wrong_digest_is_not_gone_on_with),
		TEST(a_part_of_what_has_come_meanwhile_goes_with_its_note),
		TEST(limas_downloads_are_used),
	};

	return cmocka_run_group_tests_name("image_get", tests, start_server, stop_server);
}
