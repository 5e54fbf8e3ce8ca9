/* image convert IMAGE OUT - any disk image we read as a sparse raw file, which is what VZ takes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/disk_image.h"
#include "limactl-c/image/newfile.h"

enum { OPT_BACKING };
enum { HOLE = 4096 };

static bool all_zero(const unsigned char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* What is zero is left out: the file was made long enough and has holes there. */
static int write_block(const struct newfile *f, const unsigned char *p, size_t n, uint64_t at, struct err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = pwrite(f->fd, p + done, n - done, (off_t)(at + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fs_write_error(f->tmp, e);
		done += (size_t)k;
	}
	return 0;
}

static int write_sparse(const struct newfile *f, const unsigned char *p, size_t n, uint64_t at, struct err *e)
{
	size_t begin = 0; /* of what has not been written */

	for (size_t i = 0; i < n; i += HOLE) {
		size_t part = n - i < HOLE ? n - i : HOLE;

		if (!all_zero(p + i, part))
			continue;
		if (i > begin && write_block(f, p + begin, i - begin, at + begin, e) < 0)
			return -1;
		begin = i + part;
	}
	return begin < n ? write_block(f, p + begin, n - begin, at + begin, e) : 0;
}

static int convert(const struct disk_image *d, const struct newfile *f, struct err *e)
{
	const struct byte_source *from = disk_image_bytes(d);
	size_t step = disk_image_step(d);
	auto_free unsigned char *block = xmalloc(step);

	/* A raw image is a copy of itself: for nothing where the file system can share blocks. */
	if (disk_image_raw_fd(d) >= 0 && copy_share_blocks(disk_image_raw_fd(d), f->fd))
		return 0;
	if (ftruncate(f->fd, (off_t)from->size) < 0)
		return fs_write_error(f->tmp, e);
	for (uint64_t at = 0; at < from->size; at += step) {
		long k = from->read(from->arg, at, block, step, e);

		if (k < 0 || write_sparse(f, block, (size_t)k, at, e) < 0)
			return -1;
	}
	return 0;
}

static int run(const struct command_line *c, struct err *e)
{
	auto_disk_image d = disk_image_open(c->arg[0], c->opt[OPT_BACKING], e);
	auto_newfile f = NEWFILE_INIT;

	if (!d || newfile_open(&f, c->arg[1], e) < 0)
		return -1;
	if (convert(d, &f, e) < 0)
		return err_wrap(e, "%s", c->arg[0]);
	return newfile_commit(&f, c->arg[1], 0600, true, e);
}

const struct command command_convert = {
	.name = "convert",
	.args = "IMAGE OUT",
	.help = "write a disk image as a sparse raw file; with --backing the file it names below itself is read too",
	.nargs = 2,
	.opt = { [OPT_BACKING] = { "backing", NULL, false } },
	.run = run,
};
