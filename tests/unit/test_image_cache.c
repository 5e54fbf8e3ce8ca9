/* The cache: import and get from names, files and HTTP; several at once; what a killed process leaves. */
#include "tests/unit/image_util.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lib/io.h"
#include "limactl-c/image/cache.h"

#define HELLO "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define HELLO512                                                                                                     \
	"sha512:9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c46" \
	"63475c2e5c3adef46f73bcdec043"
#define OTHER "sha256:0000000000000000000000000000000000000000000000000000000000000000"

/* printf hello | gzip -n */
static const unsigned char hello_gz[] = { 0x1f, 0x8b, 0x08, 0,	  0,	0,    0,    0,	  0,	0x03, 0xcb, 0x48, 0xcd,
					  0xc9, 0xc9, 0x07, 0,	  0x86, 0xa6, 0x10, 0x36, 0x05, 0,    0,    0 };

/* A small HTTP server; *requests counts those it answered. */
static pid_t server;
static unsigned *requests;
static char url[64];

/* "/big": half of it, then the connection is cut; a request for the rest that names the same version gets the rest. Later
 * requests for "/changed" name another version, those for "/deaf" know nothing of parts. "/whole" is not cut; asked for more
 * than there is, it says how much that is. */
enum { BIG = 200000, HALF = 90000 };

static char big_byte(size_t i)
{
	return (char)('a' + (i * 7 + i / 1000) % 26);
}

static void send_big(int fd, const char *status, const char *more, size_t from, size_t to, size_t stop)
{
	auto_free char *body = xmalloc(BIG);

	for (size_t i = 0; i < BIG; i++)
		body[i] = big_byte(i);
	dprintf(fd, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", status, to - from, more);
	io_write_full(fd, body + from, stop - from);
}

static void answer_big(int fd, const char *in, unsigned nth)
{
	const char *range = strstr(in, "Range: bytes="), *only = strstr(in, "If-Range: ");
	size_t from = range ? strtoul(range + 13, NULL, 10) : 0;
	const char *version = strstr(in, "/changed") && nth > 1 ? "\"v2\"" : "\"v1\"";
	auto_free char *etag = xasprintf("ETag: %s\r\n", version);
	auto_free char *more = xasprintf("ETag: %s\r\nContent-Range: bytes %zu-%d/%d\r\n", version, from, BIG - 1, BIG);

	if (from == BIG && strstr(in, "/whole"))
		dprintf(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nConnection: close\r\nContent-Range: bytes */%d\r\n\r\n",
			strstr(in, "/whole/more") ? BIG + 1 : BIG);
	else if (strstr(in, "/lying") && nth > 1)
		send_big(fd, "206 Partial Content", "Content-Range: bytes 5-9/10\r\n", 0, 100, 100);
	else if (nth > 1 && !from && !strstr(in, "/big/"))
		dprintf(fd, "HTTP/1.1 500 Ask for the rest\r\nConnection: close\r\n\r\n");
	else if (nth > 1 && from && only && !strncmp(only + 10, version, 4) && !strstr(in, "/deaf"))
		send_big(fd, "206 Partial Content", more, from, BIG, BIG);
	else
		send_big(fd, "200 OK", etag, 0, BIG, nth > 1 || strstr(in, "/whole") ? BIG : HALF);
}

static void answer(int fd)
{
	static const struct {
		const char *path, *head, *body;
	} pages[] = {
		{ "/hello", "200 OK\r\nContent-Length: 5", "hello" },
		{ "/moved", "302 Found\r\nLocation: /hello\r\nContent-Length: 0", "" },
		{ "/file", "302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0", "" },
		{ "/loop", "302 Found\r\nLocation: /loop\r\nContent-Length: 0", "" },
		{ "/short", "200 OK\r\nContent-Length: 50", "hello" },
		{ "/gone", "404 Not Found\r\nContent-Length: 0", "" },
	};
	char in[2048] = "";
	ssize_t k = read(fd, in, sizeof(in) - 1);

	if (k <= 0)
		return;
	__atomic_add_fetch(requests, 1, __ATOMIC_SEQ_CST);
	if (strstr(in, "/hello.gz")) {
		dprintf(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", sizeof(hello_gz));
		io_write_full(fd, hello_gz, sizeof(hello_gz));
		return;
	}
	if (strstr(in, "/big")) {
		answer_big(fd, in, *requests);
		return;
	}
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (strncmp(in + 4, pages[i].path, strlen(pages[i].path)) == 0)
			dprintf(fd, "HTTP/1.1 %s\r\nConnection: close\r\n\r\n%s", pages[i].head, pages[i].body);
	}
}

static int start_server(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (make_dir(state) < 0 || bind(fd, (void *)&sa, len) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (void *)&sa, &len) < 0)
		return -1;
	setenv("no_proxy", "*", 1);
	requests = mmap(NULL, sizeof(*requests), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(sa.sin_port));
	server = fork();
	while (server == 0) {
		int c = accept(fd, NULL, NULL);

		answer(c);
		close(c);
	}
	close(fd);
	return 0;
}

static int stop_server(void **state)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return remove_dir(state);
}

static int fresh_cache(void **state)
{
	auto_free char *cache = at("cache");
	struct err e;

	(void)state;
	*requests = 0;
	return fs_remove_tree(cache, &e);
}

static char *page(const char *path)
{
	return xasprintf("%s%s", url, path);
}

static void assert_object(const char *path, const char *text)
{
	auto_free char *got = fs_tail(path, 1, 100), *objects = at("cache/limactl-c/objects/sha256-");
	struct stat st;

	assert_string_equal(got, text);
	assert_memory_equal(path, objects, strlen(objects));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0444);
}

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
	assert_int_equal(RUN(command_get, out, &e, file, "--name", "kept"), 0);
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

static void downloads_once(void **state)
{
	auto_free char *from = page("/moved"), *gz = page("/hello.gz?token=1");
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
	assert_int_equal(RUN(command_get, out, &e, gz, "--name", "h"), 0);
	assert_int_equal(*requests, 3);
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

#define TEST(f) cmocka_unit_test_setup(f, fresh_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(import_and_get),		    TEST(wrong_digest_leaves_nothing), TEST(local_files),
		TEST(downloads_once),		    TEST(other_digests_are_remembered), TEST(failed_downloads),
		TEST(a_cut_download_goes_on),	    TEST(a_whole_download_is_kept_until_it_is_stored), TEST(a_lying_server_is_refused),
		TEST(a_wrong_digest_is_not_gone_on_with), TEST(many_at_once),		    TEST(cut_object_is_replaced),
		TEST(altered_object_is_not_used),   TEST(altered_while_it_is_read),    TEST(limas_downloads_are_used),
	};

	return cmocka_run_group_tests_name("image_cache", tests, start_server, stop_server);
}
