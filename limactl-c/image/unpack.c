#include "limactl-c/image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limactl-c/image/gunzip.h"

enum { CHUNK = 64 * 1024 };

DEFINE_CLEANUP(struct archive *, archive_read_free)

static const char *const packed[] = { ".gz", ".xz", ".bz2", ".zst", ".zstd" };

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && strncasecmp(s + n - k, end, k) == 0;
}

/* Length of the location without the query and fragment of a URL. */
static size_t path_len(const char *location)
{
	return strstr(location, "://") ? strcspn(location, "?#") : strlen(location);
}

/* Length of the ending that says how the first n bytes of a location are packed, 0 when none does. */
static size_t packed_ending(const char *location, size_t n)
{
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		if (ends_with(location, n, packed[i]))
			return strlen(packed[i]);
	}
	return 0;
}

bool unpack_is_packed(const char *location)
{
	return packed_ending(location, path_len(location)) > 0;
}

bool unpack_is_archive(const char *location)
{
	size_t n = path_len(location);

	n -= packed_ending(location, n);
	return ends_with(location, n, ".tar") || ends_with(location, n, ".tgz") || ends_with(location, n, ".zip");
}

/* libarchive's own words, without the line ends some of them have. */
static int failed(struct archive *a, const char *name, struct err *e)
{
	const char *why = archive_error_string(a);

	if (!why)
		why = "unknown reason";
	return err_set(e, ERR_INVALID, "cannot unpack %s: %.*s", name, (int)strcspn(why, "\n"), why);
}

/* Copies the entry just read. Gaps of a sparse entry are written as zeros, which the sink makes holes again. */
static int copy_data(struct archive *a, const char *name, struct sink *to, struct err *e)
{
	static const char zeros[CHUNK];
	const void *p;
	size_t n;
	la_int64_t at;
	int r;

	while ((r = archive_read_data_block(a, &p, &n, &at)) == ARCHIVE_OK) {
		while (at > 0 && to->len < (uint64_t)at) {
			uint64_t gap = (uint64_t)at - to->len;

			if (sink_write(to, zeros, gap < CHUNK ? (size_t)gap : CHUNK, e) < 0)
				return -1;
		}
		if (sink_write(to, p, n, e) < 0)
			return -1;
	}
	return r == ARCHIVE_EOF ? 0 : failed(a, name, e);
}

static struct archive *new_reader(void)
{
	struct archive *a = archive_read_new();

	if (!a)
		return NULL;
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_raw(a);
	return a;
}

/* The reader is open. */
static int unpack_all(struct archive *a, const char *name, struct sink *to, struct err *e)
{
	struct archive_entry *entry;
	int r = archive_read_next_header(a, &entry);

	if (r == ARCHIVE_EOF)
		return err_set(e, ERR_INVALID, "%s is empty", name);
	if (r != ARCHIVE_OK)
		return failed(a, name, e);
	if (archive_filter_code(a, 0) == ARCHIVE_FILTER_NONE)
		return err_set(e, ERR_INVALID, "%s is named like a packed file but is none", name);
	return copy_data(a, name, to, e);
}

static int unpack_gzip(struct gunzip_input *in, const char *name, struct sink *to, struct err *e)
{
	if (gunzip(in, to, e) < 0)
		return e->kind == ERR_INVALID ? err_wrap(e, "cannot unpack %s", name) : -1;
	return to->len ? 0 : err_set(e, ERR_INVALID, "%s is empty", name);
}

int unpack_stream(int fd, const char *name, struct sink *to, struct err *e)
{
	CLEANUP(archive_read_freep) struct archive *a = NULL;
	struct gunzip_input in = { .fd = fd };
	unsigned char magic[GUNZIP_MAGIC];

	if (pread(fd, magic, sizeof(magic), lseek(fd, 0, SEEK_CUR)) == (ssize_t)sizeof(magic) &&
	    gunzip_is_gzip(magic, sizeof(magic)))
		return unpack_gzip(&in, name, to, e);
	a = new_reader();
	if (!a)
		return err_set(e, ERR_SYS, "libarchive cannot start");
	return archive_read_open_fd(a, fd, CHUNK) == ARCHIVE_OK ? unpack_all(a, name, to, e) : failed(a, name, e);
}

int unpack_bytes(const void *p, size_t n, const char *name, struct sink *to, struct err *e)
{
	CLEANUP(archive_read_freep) struct archive *a = NULL;
	struct gunzip_input in = { .fd = -1, .p = p, .n = n };

	if (gunzip_is_gzip(p, n))
		return unpack_gzip(&in, name, to, e);
	a = new_reader();
	if (!a)
		return err_set(e, ERR_SYS, "libarchive cannot start");
	return archive_read_open_memory(a, p, n) == ARCHIVE_OK ? unpack_all(a, name, to, e) : failed(a, name, e);
}

static bool is_safe_member(const char *member)
{
	if (!*member || *member == '/')
		return false;
	for (const char *part = member; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
		size_t n = strcspn(part, "/");

		if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
			return false;
	}
	return true;
}

int unpack_member(const char *archive, const char *member, struct sink *to, struct err *e)
{
	CLEANUP(archive_read_freep) struct archive *a = archive_read_new();
	struct archive_entry *entry;
	int r;

	if (!a)
		return err_set(e, ERR_SYS, "libarchive cannot start");
	if (!is_safe_member(member))
		return err_set(e, ERR_INVALID, "member \"%s\" is not a plain relative path", member);
	archive_read_support_format_zip(a);
	archive_read_support_format_iso9660(a);
	if (archive_read_open_filename(a, archive, CHUNK) != ARCHIVE_OK)
		return failed(a, archive, e);
	while ((r = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
		const char *path = archive_entry_pathname(entry);

		if (!path || strcmp(path, member) != 0)
			continue;
		if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
			return err_set(e, ERR_INVALID, "%s: %s is no regular file", archive, member);
		return copy_data(a, archive, to, e);
	}
	if (r != ARCHIVE_EOF)
		return failed(a, archive, e);
	return err_set(e, ERR_NOTFOUND, "%s has no %s", archive, member);
}
