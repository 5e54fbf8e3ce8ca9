#include "limactl-c/image/disk_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

enum { DEPTH_MAX = 8, RAW_STEP = 1 << 20, HEAD_LEN = 512, TAIL_LEN = 512 };

struct disk_image {
	int fd;
	struct byte_source file, view;
	struct qcow2 *q; /* NULL: raw */
	struct disk_image *below;
	unsigned char *cluster; /* the last one that was asked for in part */
	uint64_t cluster_index; /* UINT64_MAX: none */
};

static long read_file(void *arg, uint64_t at, void *buf, size_t n, struct err *e)
{
	const struct disk_image *d = arg;
	size_t done = 0;

	while (done < n) {
		ssize_t k = pread(d->fd, (char *)buf + done, n - done, (off_t)(at + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_errno(e, "read");
		if (k == 0)
			break;
		done += (size_t)k;
	}
	return (long)done;
}

/* The cluster into d->cluster, unless it is there. */
static int load_cluster(struct disk_image *d, uint64_t index, struct err *e)
{
	bool zero;

	if (d->cluster_index == index)
		return 0;
	d->cluster_index = UINT64_MAX;
	if (qcow2_read_cluster(d->q, index, d->cluster, &zero, e) < 0)
		return -1;
	if (zero)
		memset(d->cluster, 0, qcow2_cluster_size(d->q));
	d->cluster_index = index;
	return 0;
}

static long read_qcow2(void *arg, uint64_t at, void *buf, size_t n, struct err *e)
{
	struct disk_image *d = arg;
	size_t size = qcow2_cluster_size(d->q), done = 0;

	if (at >= d->view.size)
		return 0;
	if (n > d->view.size - at)
		n = (size_t)(d->view.size - at);
	while (done < n) {
		uint64_t index = (at + done) / size;
		size_t skip = (size_t)((at + done) % size), part = size - skip < n - done ? size - skip : n - done;

		if (load_cluster(d, index, e) < 0)
			return -1;
		memcpy((char *)buf + done, d->cluster + skip, part);
		done += part;
	}
	return (long)done;
}

const char *disk_image_foreign(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
	static const struct {
		const char *name, *magic;
		size_t len, at;
		bool tail;
	} formats[] = {
		{ "VHD", "conectix", 8, 0, true },     { "VHD", "conectix", 8, 0, false },
		{ "VHDX", "vhdxfile", 8, 0, false },   { "VMDK", "KDMV", 4, 0, false },
		{ "VMDK", "# Disk DescriptorFile", 21, 0, false }, { "VDI", "\x7f\x10\xda\xbe", 4, 64, false },
		{ "Parallels", "WithoutFreeSpace", 16, 0, false }, { "Parallels", "WithouFreSpacExt", 16, 0, false },
		{ "qcow version 1", "QFI\xfb\0\0\0\1", 8, 0, false }, { "Apple sparse (ASIF)", "shdw", 4, 0, false },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		const unsigned char *bytes = formats[i].tail ? tail : head;
		size_t len = formats[i].tail ? tail_len : head_len;

		if (formats[i].at + formats[i].len <= len &&
		    !memcmp(bytes + formats[i].at, formats[i].magic, formats[i].len))
			return formats[i].name;
	}
	return NULL;
}

static struct disk_image *open_image(const char *path, bool backing, unsigned depth, struct err *e);

/* The file below, named as seen from the image's folder. */
static int open_below(struct disk_image *d, const char *path, bool allowed, unsigned depth, struct err *e)
{
	const char *name = qcow2_backing_name(d->q);
	auto_free char *dir = NULL, *full = NULL;

	if (!name)
		return 0;
	if (!allowed)
		return err_set(e, ERR_INVALID, "it refers to another file, which is not allowed for an image");
	if (depth == DEPTH_MAX)
		return err_set(e, ERR_INVALID, "it lies on more than %d other images", DEPTH_MAX);
	dir = fs_parent(path);
	full = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
	d->below = open_image(full, allowed, depth + 1, e);
	if (!d->below)
		return -1;
	qcow2_set_backing(d->q, &d->below->view);
	return 0;
}

/* Opens fd's content as what its first bytes say. */
static int identify(struct disk_image *d, const char *path, bool backing, unsigned depth, struct err *e)
{
	unsigned char head[HEAD_LEN], tail[TAIL_LEN];
	uint64_t tail_at = d->file.size > TAIL_LEN ? d->file.size - TAIL_LEN : 0;
	long head_len = read_file(d, 0, head, sizeof(head), e), tail_len = read_file(d, tail_at, tail, sizeof(tail), e);
	const char *foreign;

	if (head_len < 0 || tail_len < 0)
		return -1;
	foreign = disk_image_foreign(head, (size_t)head_len, tail, (size_t)tail_len);
	if (foreign)
		return err_set(e, ERR_INVALID, "it is a %s image, which is not supported; qemu-img convert -O raw makes "
			       "one that is", foreign);
	d->view = d->file;
	if (head_len < 4 || memcmp(head, "QFI\xfb", 4))
		return 0;
	d->q = qcow2_open(&d->file, e);
	if (!d->q)
		return -1;
	d->cluster = xmalloc(qcow2_cluster_size(d->q));
	d->cluster_index = UINT64_MAX;
	d->view = (struct byte_source){ read_qcow2, d, qcow2_size(d->q) };
	return open_below(d, path, backing, depth, e);
}

static struct disk_image *open_image(const char *path, bool backing, unsigned depth, struct err *e)
{
	struct disk_image *d = xcalloc(1, sizeof(*d));
	struct stat st;
	int rc;

	d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (d->fd < 0 || fstat(d->fd, &st) < 0)
		rc = err_errno(e, "open");
	else if (!S_ISREG(st.st_mode))
		rc = err_set(e, ERR_INVALID, "it is no regular file");
	else {
		d->file = (struct byte_source){ read_file, d, (uint64_t)st.st_size };
		rc = identify(d, path, backing, depth, e);
	}
	if (rc == 0)
		return d;
	err_wrap(e, "%s", path);
	disk_image_close(d);
	return NULL;
}

struct disk_image *disk_image_open(const char *path, bool backing, struct err *e)
{
	return open_image(path, backing, 0, e);
}

void disk_image_close(struct disk_image *d)
{
	if (!d)
		return;
	qcow2_close(d->q);
	disk_image_close(d->below);
	free(d->cluster);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

int disk_image_check(const struct disk_image *d, struct err *e)
{
	if (!d->view.size)
		return err_set(e, ERR_INVALID, "it is empty");
	return d->q ? qcow2_check(d->q, e) : 0;
}

const struct byte_source *disk_image_bytes(const struct disk_image *d)
{
	return &d->view;
}

size_t disk_image_step(const struct disk_image *d)
{
	return d->q ? qcow2_cluster_size(d->q) : RAW_STEP;
}

int disk_image_raw_fd(const struct disk_image *d)
{
	return d->q ? -1 : d->fd;
}
