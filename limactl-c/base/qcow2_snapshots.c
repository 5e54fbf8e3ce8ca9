#include "limactl-c/base/qcow2_snapshots.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/be.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"

/* Byte offsets, all numbers big-endian: in the header, and in an entry of the table. */
enum {
	AT_SIZE = 24,
	AT_L1_COUNT = 36,
	AT_L1 = 40,
	AT_COUNT = 60,
	AT_TABLE = 64,
	HEADER_LEN = 72,

	AT_ID_LEN = 12,
	AT_TAG_LEN = 14,
	AT_DATE = 16,
	AT_CLOCK = 24,
	AT_MEMORY = 32,
	AT_EXTRA_LEN = 36,
	ENTRY_LEN = 40,

	/* What follows an entry, as far as it is there; id and tag follow that. */
	EXTRA_MEMORY = 0,
	EXTRA_DISK_SIZE = 8,
	EXTRA_ICOUNT = 16,

	ENTRY_ALIGN = 8,

	L1_MAX = 32 << 20, /* bytes; QEMU takes no more */
	L1_ENTRY = 8,
	L1_OWN = 0x80, /* in an entry's first byte: no snapshot uses it too */
};

static uint64_t extra(const unsigned char *p, size_t len, size_t at, uint64_t otherwise)
{
	return len >= at + 8 ? be_get(p + at, 8) : otherwise;
}

/* A text within the table; what is behind a NUL is not looked at. */
static char *text(const unsigned char *p, size_t len)
{
	return xstrndup((const char *)p, len);
}

/* One entry; returns its length, 0: it does not end within len bytes. */
static size_t parse_entry(const unsigned char *p, size_t len, struct qcow2_snapshot *s)
{
	size_t id_len, tag_len, extra_len, all;
	const unsigned char *more = p + ENTRY_LEN;

	if (len < ENTRY_LEN)
		return 0;
	id_len = (size_t)be_get(p + AT_ID_LEN, 2);
	tag_len = (size_t)be_get(p + AT_TAG_LEN, 2);
	extra_len = (size_t)be_get(p + AT_EXTRA_LEN, 4);
	if (extra_len > len)
		return 0;
	all = ENTRY_LEN + extra_len + id_len + tag_len;
	if (all > len)
		return 0;
	*s = (struct qcow2_snapshot){
		.id = text(more + extra_len, id_len),
		.tag = text(more + extra_len + id_len, tag_len),
		.memory = extra(more, extra_len, EXTRA_MEMORY, be_get(p + AT_MEMORY, 4)),
		.disk_size = extra(more, extra_len, EXTRA_DISK_SIZE, 0),
		.date = (uint32_t)be_get(p + AT_DATE, 4),
		.clock = be_get(p + AT_CLOCK, 8),
		.icount = extra(more, extra_len, EXTRA_ICOUNT, QCOW2_NO_ICOUNT),
	};
	return (all + ENTRY_ALIGN - 1) / ENTRY_ALIGN * ENTRY_ALIGN;
}

int qcow2_snapshots_parse(const unsigned char *table, size_t len, size_t count, struct qcow2_snapshots *out, struct err *e)
{
	size_t at = 0;

	*out = (struct qcow2_snapshots)QCOW2_SNAPSHOTS_INIT;
	if (count > QCOW2_SNAPSHOTS_MAX)
		return err_set(e, ERR_INVALID, "it says that it has %zu snapshots, at most %d are possible", count,
			       QCOW2_SNAPSHOTS_MAX);
	if (!count)
		return 0;
	out->one = xcalloc(count, sizeof(*out->one));
	while (out->count < count) {
		size_t n = at <= len ? parse_entry(table + at, len - at, &out->one[out->count]) : 0;

		if (!n) {
			qcow2_snapshots_free(out);
			return err_set(e, ERR_INVALID, "its table of snapshots ends within an entry");
		}
		at += n;
		out->count++;
	}
	return 0;
}

static int read_table(int fd, uint64_t at, size_t count, struct qcow2_snapshots *out, struct err *e)
{
	auto_free unsigned char *table = NULL;
	ssize_t k;

	if (!count)
		return 0;
	table = xmalloc(QCOW2_SNAPSHOT_TABLE_MAX);
	if (at > INT64_MAX || lseek(fd, (off_t)at, SEEK_SET) < 0 || (k = io_read_full(fd, table, QCOW2_SNAPSHOT_TABLE_MAX)) < 0)
		return err_set(e, ERR_INVALID, "its table of snapshots cannot be read");
	return qcow2_snapshots_parse(table, (size_t)k, count, out, e);
}

static int read_header(int fd, unsigned char head[HEADER_LEN], struct err *e)
{
	ssize_t k = io_read_full(fd, head, HEADER_LEN);

	if (k < 0)
		return err_errno(e, "it cannot be read");
	if (k < HEADER_LEN || memcmp(head, "QFI\xfb", 4) != 0)
		return err_set(e, ERR_INVALID, "it is no qcow2 image");
	return 0;
}

static int read_image(int fd, struct qcow2_snapshots *out, struct err *e)
{
	unsigned char head[HEADER_LEN];

	if (read_header(fd, head, e) < 0 ||
	    read_table(fd, be_get(head + AT_TABLE, 8), (size_t)be_get(head + AT_COUNT, 4), out, e) < 0)
		return -1;
	out->size = be_get(head + AT_SIZE, 8);
	return 0;
}

static int open_image(const char *path, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is no regular file", path);
	return steal_fd(&fd);
}

int qcow2_snapshots_read(const char *path, struct qcow2_snapshots *out, struct err *e)
{
	auto_close int fd = -1;

	*out = (struct qcow2_snapshots)QCOW2_SNAPSHOTS_INIT;
	fd = open_image(path, e);
	if (fd < 0)
		return -1;
	return read_image(fd, out, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int digest_root(int fd, char hex[SHA256_HEX + 1], struct err *e)
{
	unsigned char head[HEADER_LEN];
	auto_free unsigned char *table = NULL;
	uint64_t at;
	size_t n;

	if (read_header(fd, head, e) < 0)
		return -1;
	at = be_get(head + AT_L1, 8);
	n = (size_t)be_get(head + AT_L1_COUNT, 4) * L1_ENTRY;
	if (n > L1_MAX || at > INT64_MAX || lseek(fd, (off_t)at, SEEK_SET) < 0)
		return err_set(e, ERR_INVALID, "its L1 table cannot be read");
	table = xmalloc(L1_ENTRY + n);
	memcpy(table, head + AT_SIZE, L1_ENTRY);
	if (io_read_full(fd, table + L1_ENTRY, n) != (ssize_t)n)
		return err_set(e, ERR_INVALID, "it ends within its L1 table");
	for (size_t i = L1_ENTRY; i < L1_ENTRY + n; i += L1_ENTRY)
		table[i] &= (unsigned char)~L1_OWN;
	sha256_hex(table, L1_ENTRY + n, hex);
	return 0;
}

int qcow2_root(const char *path, char hex[SHA256_HEX + 1], struct err *e)
{
	auto_close int fd = open_image(path, e);

	if (fd < 0)
		return -1;
	return digest_root(fd, hex, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

void qcow2_snapshots_free(struct qcow2_snapshots *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->one[i].id);
		free(s->one[i].tag);
	}
	free(s->one);
	*s = (struct qcow2_snapshots)QCOW2_SNAPSHOTS_INIT;
}

const struct qcow2_snapshot *qcow2_snapshot_find(const struct qcow2_snapshots *s, const char *tag)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->one[i].tag, tag))
			return &s->one[i];
	return NULL;
}
