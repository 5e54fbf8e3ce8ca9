/* Making, growing and removing extra disks. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/qemu_img.h"
#include "limactl-c/base/text.h"
#include "limactl-c/store/disk.h"
#include "limactl-c/store/disk_files.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/lock.h"

enum { SECTOR = 512 };

static int run_qemu_img(const char *const *argv, const char *path, struct err *e)
{
	auto_free char *why = NULL;

	if (qemu_img(argv, path, e) == 0)
		return 0;
	if (e->kind != ERR_NOTFOUND)
		return -1;
	why = xstrdup(e->msg);
	return err_set(e, ERR_NOTFOUND, "%s; disks of format raw do without it", why);
}

/* What was written is on the disk before its name is. */
static int sync_file(const char *path, struct err *e)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? fs_write_error(path, e) : 0;
}

struct content {
	uint64_t size;
	const char *format;
	const char *file; /* to copy; NULL: empty */
};

static int set_size(const char *path, int flags, uint64_t size, struct err *e)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || fsync(fd) < 0)
		return fs_write_error(path, e);
	return 0;
}

/* A disk has whole sectors. */
static uint64_t sectors(uint64_t size)
{
	return (size + SECTOR - 1) / SECTOR * SECTOR;
}

static int round_up(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_errno(e, "%s", path);
	return set_size(path, 0, sectors((uint64_t)st.st_size), e);
}

static int fill(const char *dir, const void *arg, struct err *e)
{
	auto_free char *path = xasprintf("%s/" DISK_DATA, dir), *note = xasprintf("%s/" DISK_FORMAT, dir);
	const struct content *c = arg;
	bool raw = !strcmp(c->format, "raw");

	if (raw && fs_write_atomic(note, "raw\n", 4, 0600, e) < 0)
		return -1;
	if (c->file) {
		if (copy_file(c->file, path, e) < 0)
			return -1;
		if (chmod(path, 0600) < 0)
			return fs_write_error(path, e);
		if (raw && round_up(path, e) < 0)
			return -1;
	} else if (raw) {
		return set_size(path, O_CREAT | O_EXCL, sectors(c->size), e);
	} else {
		auto_free char *size = xasprintf("%" PRIu64, c->size);
		const char *argv[] = { "qemu-img", "create", "-q", "-f", c->format, path, size, NULL };

		if (run_qemu_img(argv, path, e) < 0)
			return -1;
	}
	return sync_file(path, e);
}

int disk_check_new(const char *name, struct err *e)
{
	auto_free char *home = disk_home(e), *dir = home ? xasprintf("%s/%s", home, name) : NULL;
	struct stat st;

	if (!dir || folder_check_name(name, "disk", e) < 0)
		return -1;
	return lstat(dir, &st) == 0 ? err_set(e, ERR_EXISTS, "disk \"%s\" exists already (%s)", name, dir) : 0;
}

static int make(const char *name, const struct content *c, struct err *e)
{
	auto_free char *home = disk_home(e);

	if (!home || disk_check_new(name, e) < 0 || fs_mkdirs(home, 0700, e) < 0)
		return -1;
	return folder_make(home, name, "disk", fill, c, e);
}

int disk_create(const char *name, uint64_t size, const char *format, struct err *e)
{
	const struct content c = { .size = size, .format = format };

	return make(name, &c, e);
}

int disk_import(const char *name, const char *file, const char *format, struct err *e)
{
	const struct content c = { .format = format, .file = file };

	return make(name, &c, e);
}

int disk_resize(const struct disk *d, uint64_t size, struct err *e)
{
	auto_free char *lock = disk_file(d->path, DISK_LOCK), *bytes = xasprintf("%" PRIu64, size);
	auto_free char *wanted = text_size(size), *is = NULL;
	/* Held, so that no start gets in between, and looked at only then: another may have made it larger meanwhile. */
	auto_close int held = lock_take(lock, e);
	struct qcow2_info info;

	if (held < 0)
		return e->kind == ERR_EXISTS ? err_set(e, ERR_STATE, "disk \"%s\" is in use", d->name) : -1;
	if (disk_inspect(d->path, &info, e) < 0)
		return err_wrap(e, "disk \"%s\"", d->name);
	is = text_size(info.size);
	if (size < info.size)
		return err_set(e, ERR_INVALID, "disk \"%s\" cannot be made smaller: it has %s, %s are asked for", d->name, is,
			       wanted);
	if (!strcmp(info.format, "raw"))
		return set_size(d->path, 0, sectors(size), e);
	return run_qemu_img((const char *[]){ "qemu-img", "resize", "-q", "-f", info.format, d->path, bytes, NULL },
			    d->path, e);
}

int disk_delete(const struct disk *d, struct err *e)
{
	auto_free char *home = disk_home(e), *lock = disk_file(d->path, DISK_LOCK);
	struct err ignored = { 0 };
	auto_close int held = home ? lock_take(lock, &ignored) : -1;

	(void)held; /* deleted in spite of its user when that was asked for */
	return home ? folder_remove(home, d->name, e) : -1;
}
