/* A sender's records as a receiver takes them, behind the magic. Whatever they say, nothing outside the target is made or changed;
 * a copy that ends early says why in a sentence. The fuzzer's records have no length fields to guess: u8 type, u8 length. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/file_receive.h"
#include "limactl-c/base/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The records with their true headers. */
struct input {
	uint8_t bytes[1 << 16];
	size_t len, at;
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

static ssize_t read_input(void *ctx, void *p, size_t n, struct err *e)
{
	struct input *in = ctx;

	(void)e;
	n = n < in->len - in->at ? n : in->len - in->at;
	memcpy(p, in->bytes + in->at, n);
	in->at += n;
	return (ssize_t)n;
}

static int drop(void *ctx, const void *p, size_t n, struct err *e)
{
	(void)ctx, (void)p, (void)n, (void)e;
	return 0;
}

static void ignore_number(void *ctx, uint64_t n) { (void)ctx, (void)n; }
static void ignore_name(void *ctx, const char *name) { (void)ctx, (void)name; }
static void one_line(void *ctx, const char *text, bool warning)
{
	(void)ctx, (void)warning;
	must(strlen(text) <= FP_TEXT_MAX);
}

static void unpack_input(struct input *in, const uint8_t *p, size_t n)
{
	in->len = sizeof(FILEPROTO_MAGIC) - 1;
	in->at = 0;
	memcpy(in->bytes, FILEPROTO_MAGIC, in->len);
	while (n >= 2 && in->len + FP_HEADER + 255 < sizeof(in->bytes)) {
		size_t len = p[1] < n - 2 ? p[1] : n - 2;

		fp_header_pack(in->bytes + in->len, p[0], len);
		memcpy(in->bytes + in->len + FP_HEADER, p + 2, len);
		in->len += FP_HEADER + len;
		p += 2 + len;
		n -= 2 + len;
	}
}

static const char *in_world(const char *dir, const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *world;

static void drop_world(void)
{
	struct err e;

	fs_remove_tree(world, &e);
}

/* A folder with a target and something beside it that must stay; made once. */
static const char *make_world(void)
{
	static char dir[] = "/tmp/fuzz.XXXXXX";
	struct err e;

	if (!world) {
		must(mkdtemp(dir) && fs_write_atomic(in_world(dir, "beside"), "mine", 4, 0600, &e) == 0);
		atexit(drop_world);
		world = dir;
	}
	must(mkdir(in_world(dir, "d"), 0700) == 0);
	return dir;
}

static void check_world(const char *dir)
{
	auto_closedir DIR *d = opendir(dir);
	struct dirent *de;
	size_t names = 0;
	struct stat st;
	struct err e;

	must(d != NULL);
	while ((de = readdir(d)))
		names += *de->d_name != '.';
	must(names == 2 && stat(in_world(dir, "beside"), &st) == 0 && st.st_size == 4);
	must(fs_remove_tree(in_world(dir, "d"), &e) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fstream_ops ops = { read_input, drop };
	static const struct file_watch watch = { ignore_number, ignore_name, ignore_number, one_line, NULL };
	static struct input in;
	const char *dir = make_world();
	char target[64];
	struct fstream s;
	struct file_receive fr = { .stream = &s, .watch = &watch, .target = target, .mode_mask = 01777 };
	struct err e = { 0 };

	unpack_input(&in, data, size);
	snprintf(target, sizeof(target), "%s", in_world(dir, "d"));
	must(fstream_init(&s, &ops, &in, &e) == 0);
	must(file_receive(&fr, &e) == 0 || *e.msg);
	fstream_fini(&s);
	check_world(dir);
	return 0;
}
