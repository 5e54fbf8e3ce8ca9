/* image_server.h - a small HTTP server for tests of the image program, and the cache they fill from it. */
#include "tests/unit/image_util.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lib/io.h"

#define HELLO "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define HELLO512                                                                                                     \
	"sha512:9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c46" \
	"63475c2e5c3adef46f73bcdec043"
#define OTHER "sha256:0000000000000000000000000000000000000000000000000000000000000000"

/* printf hello | gzip -n */
__attribute__((unused)) static const unsigned char hello_gz[] = { 0x1f, 0x8b, 0x08, 0,	  0,	0,    0,    0,	  0,	0x03, 0xcb, 0x48, 0xcd,
					  0xc9, 0xc9, 0x07, 0,	  0x86, 0xa6, 0x10, 0x36, 0x05, 0,    0,    0 };

/* A small HTTP server; *requests counts those it answered. */
static pid_t server;
static unsigned *requests;
static char url[64];

/* "/big": half of it, then the connection is cut; a request for the rest that names the same version gets the rest. Later
 * requests for "/changed" name another version, those for "/deaf" know nothing of parts. "/whole" is not cut; asked for more
 * than there is, it says how much that is. */
enum { BIG = 200000, HALF = 90000 };

static inline char big_byte(size_t i)
{
	return (char)('a' + (i * 7 + i / 1000) % 26);
}

static inline void send_big(int fd, const char *status, const char *more, size_t from, size_t to, size_t stop)
{
	auto_free char *body = xmalloc(BIG);

	for (size_t i = 0; i < BIG; i++)
		body[i] = big_byte(i);
	dprintf(fd, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", status, to - from, more);
	io_write_full(fd, body + from, stop - from);
}

static inline void answer_big(int fd, const char *in, unsigned nth)
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

static inline void answer(int fd)
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

static inline int start_server(void **state)
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

static inline int stop_server(void **state)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return remove_dir(state);
}

static inline int fresh_cache(void **state)
{
	auto_free char *cache = at("cache");
	struct err e;

	(void)state;
	*requests = 0;
	return fs_remove_tree(cache, &e);
}

static inline char *page(const char *path)
{
	return xasprintf("%s%s", url, path);
}

static inline void assert_object(const char *path, const char *text)
{
	auto_free char *got = fs_tail(path, 1, 100), *objects = at("cache/limactl-c/objects/sha256-");
	struct stat st;

	assert_string_equal(got, text);
	assert_memory_equal(path, objects, strlen(objects));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0444);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh_cache)
