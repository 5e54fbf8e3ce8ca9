/* image disk - an instance's disk: a qcow2 overlay on an image of the cache, or an empty one. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/qcow2.h"
#include "limactl-c/base/qemu_img.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/newfile.h"

enum { OPT_BASE, OPT_SIZE, OPT_OUT };

/* An empty overlay and its first writes need little, but with less than this the guest would not get far. */
#define FREE_MIN (16ULL << 20)

static int parse_size(const char *text, uint64_t *size, struct err *e)
{
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || *size == 0)
		return err_set(e, ERR_USAGE, "disk: --size \"%.40s\" is no number of bytes", text);
	return 0;
}

/* The image itself, not a name of the cache that may mean another image tomorrow: an overlay fits its own base only. */
static char *real_base(const char *path, struct err *e)
{
	char *real = realpath(path, NULL);

	if (!real)
		err_errno(e, "cannot open %s", path);
	return real;
}

static int create(const char *base, const char *format, uint64_t size, const char *out, struct err *e)
{
	auto_free char *bytes = xasprintf("%" PRIu64, size);
	const char *overlay[] = { "qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", format, out, bytes, NULL };
	const char *empty[] = { "qemu-img", "create", "-q", "-f", "qcow2", out, bytes, NULL };

	return qemu_img(base ? overlay : empty, out, e);
}

static int check_space(const char *out, struct err *e)
{
	unsigned long long room;

	if (fs_free_space(out, &room, e) < 0)
		return -1;
	if (room < FREE_MIN)
		return err_set(e, ERR_SYS, "no free disk space for %s: %llu MiB are left", out, room >> 20);
	return 0;
}

static int run(const struct command_line *c, struct err *e)
{
	const char *out = c->opt[OPT_OUT];
	auto_free char *base = NULL;
	auto_newfile f = NEWFILE_INIT;
	struct qcow2_info info = { 0 };
	uint64_t size;

	if (parse_size(c->opt[OPT_SIZE], &size, e) < 0)
		return -1;
	if (c->opt[OPT_BASE] && (!(base = real_base(c->opt[OPT_BASE], e)) || qcow2_inspect(base, &info, e) < 0))
		return -1;
	if (size < info.size)
		return err_set(e, ERR_INVALID, "a disk of %" PRIu64 " MiB is smaller than its image of %" PRIu64 " MiB",
			       size >> 20, info.size >> 20);
	if (check_space(out, e) < 0 || newfile_open(&f, out, e) < 0 ||
	    create(base, info.format, size, f.tmp, e) < 0)
		return -1;
	return newfile_commit(&f, out, 0600, true, e);
}

const struct command command_disk = {
	.name = "disk",
	.args = "",
	.help = "make OUT, a qcow2 disk of so many bytes whose first content is BASE, or nothing",
	.opt = {
		[OPT_BASE] = { "base", "BASE", false },
		[OPT_SIZE] = { "size", "BYTES", true },
		[OPT_OUT] = { "out", "OUT", true },
	},
	.run = run,
};
