#include "limactl-c/image/initrd.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

enum {
	FILE_MAX = 64 << 20, /* bytes of one file: it is held in the guest's memory */
	CHUNK = 64 * 1024,
	ALIGN = 4, /* the kernel looks for the next archive's header at multiples of 4 only */
};

DEFINE_CLEANUP(struct archive *, archive_write_free)
DEFINE_CLEANUP(struct archive_entry *, archive_entry_free)

/* One way to move bytes between files inside the kernel: bytes moved, 0 at the end, -1 when it does not work here. */
static ssize_t by_copy_file_range(int from, int to)
{
	return copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
}

static ssize_t by_sendfile(int from, int to)
{
	return sendfile(to, from, NULL, 1 << 30);
}

/* Appends all of `from`: shared blocks where the file system has them, else a copy inside the kernel. */
static int copy_base(int from, const struct newfile *to, struct err *e)
{
	static ssize_t (*const ways[])(int, int) = { by_copy_file_range, by_sendfile };

	if (copy_share_blocks(from, to->fd))
		return 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		ssize_t k;

		do {
			k = ways[i](from, to->fd);
		} while (k > 0 || (k < 0 && errno == EINTR));
		if (k == 0)
			return 0;
		if (fs_is_full(errno))
			break;
	}
	return fs_write_error(to->tmp, e);
}

/* Leaves the descriptor at the end of the file, at a multiple of ALIGN. */
static int pad(const struct newfile *to, struct err *e)
{
	static const char zeros[ALIGN];
	off_t at = lseek(to->fd, 0, SEEK_END);

	if (at < 0)
		return err_errno(e, "seek in %s", to->tmp);
	if (at % ALIGN && io_write_full(to->fd, zeros, (size_t)(ALIGN - at % ALIGN)) < 0)
		return fs_write_error(to->tmp, e);
	return 0;
}

struct writer {
	struct archive *a;
	const struct newfile *to;
	unsigned ino; /* of the last entry */
	const struct manifest *m;
};

/* libarchive writes what it has collected, whatever it was given last. */
static int failed(const struct writer *w, struct err *e)
{
	errno = archive_errno(w->a);
	return errno > 0 ? fs_write_error(w->to->tmp, e) :
			   err_set(e, ERR_SYS, "cannot write %s: %s", w->to->tmp, archive_error_string(w->a));
}

static int add_entry(struct writer *w, const char *path, unsigned mode, off_t size, struct err *e)
{
	CLEANUP(archive_entry_freep) struct archive_entry *entry = archive_entry_new2(w->a);

	if (!entry)
		return err_set(e, ERR_SYS, "libarchive cannot make an entry");
	archive_entry_set_pathname(entry, path);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_size(entry, size);
	archive_entry_set_ino(entry, ++w->ino);
	archive_entry_set_nlink(entry, S_ISDIR(mode) ? 2 : 1);
	archive_entry_set_mtime(entry, 0, 0);
	if (archive_write_header(w->a, entry) != ARCHIVE_OK)
		return failed(w, e);
	return 0;
}

/* True when one of the first n files lies in the folder of that length too: it is in the archive already. */
static bool has_folder(const struct manifest *m, size_t n, const char *path, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(m->file[i].guest_path, path, len + 1) == 0)
			return true;
	}
	return false;
}

/* The kernel makes no folders by itself. */
static int add_folders(struct writer *w, size_t nth, struct err *e)
{
	const char *path = w->m->file[nth].guest_path;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - path);
		auto_free char *dir = xstrndup(path, len);

		if (!has_folder(w->m, nth, path, len) && add_entry(w, dir, S_IFDIR | 0755, 0, e) < 0)
			return -1;
	}
	return 0;
}

static int add_file(struct writer *w, size_t nth, struct err *e)
{
	const struct manifest_file *f = &w->m->file[nth];
	auto_close int fd = open(f->host_path, O_RDONLY | O_CLOEXEC);
	auto_free char *chunk = xmalloc(CHUNK);
	struct stat st;
	ssize_t k;
	off_t left;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "cannot open %s", f->host_path);
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return err_set(e, ERR_INVALID, "%s is no regular file of at most %d MiB", f->host_path, FILE_MAX >> 20);
	if (add_folders(w, nth, e) < 0 || add_entry(w, f->guest_path, S_IFREG | f->mode, st.st_size, e) < 0)
		return -1;
	for (left = st.st_size; left > 0; left -= k) {
		k = io_read_full(fd, chunk, left < CHUNK ? (size_t)left : CHUNK);
		if (k < 0)
			return err_errno(e, "cannot read %s", f->host_path);
		if (k == 0)
			return err_set(e, ERR_INVALID, "%s became shorter while it was read", f->host_path);
		if (archive_write_data(w->a, chunk, (size_t)k) != k)
			return failed(w, e);
	}
	return 0;
}

static int write_archive(const struct newfile *to, const struct manifest *m, struct err *e)
{
	CLEANUP(archive_write_freep) struct archive *a = archive_write_new();
	struct writer w = { .a = a, .to = to, .m = m };

	if (!a || archive_write_set_format_cpio_newc(a) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(a, CHUNK) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(a, 1) != ARCHIVE_OK || archive_write_open_fd(a, to->fd) != ARCHIVE_OK)
		return err_set(e, ERR_SYS, "libarchive cannot start");
	for (size_t i = 0; i < m->files; i++) {
		if (add_file(&w, i, e) < 0)
			return -1;
	}
	if (archive_write_close(a) != ARCHIVE_OK)
		return failed(&w, e);
	return 0;
}

int initrd_write(const struct newfile *to, const char *base, const struct manifest *m, struct err *e)
{
	auto_close int from = open(base, O_RDONLY | O_CLOEXEC);

	if (from < 0)
		return err_errno(e, "cannot open %s", base);
	if (copy_base(from, to, e) < 0 || pad(to, e) < 0)
		return -1;
	return write_archive(to, m, e);
}
