#include "limactl-c/image/iso_write.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/be.h"
#include "lib/buf.h"
#include "lib/io.h"
#include "lib/le.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/image/iso_tree.h"

enum {
	FIRST_SECTOR = 16, /* those before belong to boot loaders */
	SECTORS_MIN = 32,  /* readers look ahead for more volumes: libarchive takes fewer than 24 for no ISO */
	META_MAX = 16 << 20,
	RECORD_LEN = 33, /* of a directory record before its name */
	CHUNK = 64 * 1024,
};

/* Numbers stand twice, least significant byte first and last. */
static void put16(unsigned char *p, uint16_t v)
{
	le16_put(p, v);
	be16_put(p + 2, v);
}

static void put32(unsigned char *p, uint32_t v)
{
	le32_put(p, v);
	be32_put(p + 4, v);
}

static uint32_t sectors_of(uint64_t bytes)
{
	return (uint32_t)((bytes + ISO_SECTOR - 1) / ISO_SECTOR);
}

/* 1 January 1980, 0:00. */
static const unsigned char date[7] = { 80, 1, 1, 0, 0, 0, 0 };

/* Rock Ridge's entries behind a record's name: sharing protocol and extension (root's own record), mode, name. */
static size_t put_rock_ridge(unsigned char *p, const struct iso_node *n, const char *name, bool root_itself)
{
	static const unsigned char sp[] = { 'S', 'P', 7, 1, 0xbe, 0xef, 0 };
	static const unsigned char er[] = { 'E', 'R', 18, 1, 10, 0, 0, 1, 'R', 'R', 'I', 'P', '_', '1', '9', '9', '1', 'A' };
	unsigned char *start = p;
	size_t len = strlen(name);

	if (root_itself) {
		memcpy(p, sp, sizeof(sp));
		memcpy(p + sizeof(sp), er, sizeof(er));
		p += sizeof(sp) + sizeof(er);
	}
	memcpy(p, "PX\x24\x01", 4);
	put32(p + 4, (n->host_path ? S_IFREG : S_IFDIR) | n->mode);
	put32(p + 12, n->host_path ? 1 : 2);
	memset(p + 20, 0, 16); /* uid, gid */
	p += 36;
	if (len) {
		memcpy(p, "NM", 2);
		p[2] = (unsigned char)(5 + len);
		p[3] = 1;
		p[4] = 0;
		memcpy(p + 5, name, len);
		p += 5 + len;
	}
	return (size_t)(p - start);
}

/* A directory record for node n under a name of plain ISO; real: its Rock Ridge name, "" for the folder itself and its parent. */
static size_t make_record(unsigned char *r, const struct iso_node *n, const char *iso, size_t iso_len, const char *real,
			  bool root_itself)
{
	size_t len = RECORD_LEN + iso_len;

	memset(r, 0, 256);
	put32(r + 2, n->sector);
	put32(r + 10, (uint32_t)n->size);
	memcpy(r + 18, date, sizeof(date));
	r[25] = n->host_path ? 0 : 2;
	put16(r + 28, 1);
	r[32] = (unsigned char)iso_len;
	memcpy(r + 33, iso, iso_len);
	len += len & 1;
	len += put_rock_ridge(r + len, n, real, root_itself);
	len += len & 1;
	r[0] = (unsigned char)len;
	return len;
}

/* A record does not cross a sector's end. */
static int add_record(struct buf *b, const unsigned char *r, size_t len)
{
	static const char zeros[ISO_SECTOR];
	size_t left = ISO_SECTOR - b->len % ISO_SECTOR;

	if (left < len && buf_add(b, zeros, left) < 0)
		return -1;
	return buf_add(b, r, len);
}

/* The records of a folder. Rock Ridge carries the real names; the plain ones are only numbers, in order. */
static int add_folder(struct buf *b, const struct iso_tree *t, size_t folder)
{
	static const char zeros[ISO_SECTOR];
	unsigned char r[256];
	const struct iso_node *me = &t->node[folder];
	size_t len = make_record(r, me, "", 1, "", folder == 0);
	size_t start = b->len;

	if (add_record(b, r, len) < 0)
		return -1;
	len = make_record(r, &t->node[me->parent], "\1", 1, "", false);
	if (add_record(b, r, len) < 0)
		return -1;
	for (size_t i = 1; i < t->nodes; i++) {
		const struct iso_node *n = &t->node[i];
		char iso[16];
		int iso_len = snprintf(iso, sizeof(iso), n->host_path ? "%08zu.;1" : "%08zu", i);

		if (n->parent != folder)
			continue;
		len = make_record(r, n, iso, (size_t)iso_len, n->name, false);
		if (add_record(b, r, len) < 0)
			return -1;
	}
	return buf_add(b, zeros, sectors_of(b->len - start) * ISO_SECTOR - (b->len - start));
}

/* One of the two path tables: big says which byte order. */
static int add_path_table(struct buf *b, const struct iso_tree *t, bool big)
{
	static const char zeros[ISO_SECTOR];
	size_t start = b->len;

	for (size_t i = 0; i < t->folders; i++) {
		unsigned char r[24] = { 0 }, sector[8], parent[4];
		int len = i ? snprintf((char *)r + 8, 12, "%08zu", i) : 1;

		put32(sector, t->node[i].sector);
		put16(parent, (uint16_t)(t->node[i].parent + 1));
		r[0] = (unsigned char)len;
		memcpy(r + 2, sector + (big ? 4 : 0), 4);
		memcpy(r + 6, parent + (big ? 2 : 0), 2);
		if (buf_add(b, r, 8 + (size_t)len + (len & 1)) < 0)
			return -1;
	}
	return buf_add(b, zeros, sectors_of(b->len - start) * ISO_SECTOR - (b->len - start));
}

static size_t path_table_size(const struct iso_tree *t)
{
	return 8 + 2 + (t->folders - 1) * (8 + 8);
}

static void make_volume(unsigned char *v, const struct iso_tree *t, const char *label, uint32_t sectors)
{
	uint32_t table = FIRST_SECTOR + 2, table_sectors = sectors_of(path_table_size(t));
	unsigned char number[8], root[256];

	memset(v, 0, ISO_SECTOR);
	memcpy(v, "\1CD001\1", 7);
	memset(v + 8, ' ', 64); /* system, label */
	memcpy(v + 40, label, strlen(label));
	put32(v + 80, sectors);
	put16(v + 120, 1);
	put16(v + 124, 1);
	put16(v + 128, ISO_SECTOR);
	put32(v + 132, (uint32_t)path_table_size(t));
	put32(number, table);
	memcpy(v + 140, number, 4);
	put32(number, table + table_sectors);
	memcpy(v + 148, number + 4, 4);
	make_record(root, &t->node[0], "", 1, "", false);
	memcpy(v + 156, root, 34);
	v[156] = 34; /* without Rock Ridge's entries */
	memset(v + 190, ' ', 623); /* who made it: nobody says */
	for (size_t at = 813; at < 881; at += 17)
		memset(v + at, '0', 16); /* dates: not specified */
	v[881] = 1;
}

/* Sectors of everything; returns how many there are. */
static int place(struct iso_tree *t, uint32_t *sectors, struct err *e)
{
	uint64_t at = FIRST_SECTOR + 2 + 2 * (uint64_t)sectors_of(path_table_size(t));

	for (size_t i = 0; i < t->folders; i++) {
		auto_buf b = BUF_INIT(META_MAX);

		if (add_folder(&b, t, i) < 0)
			return err_set(e, ERR_INVALID, "too many files for one folder");
		t->node[i].size = b.len;
		t->node[i].sector = (uint32_t)at;
		at += sectors_of(b.len);
	}
	for (size_t i = t->folders; i < t->nodes; i++) {
		t->node[i].sector = (uint32_t)at;
		at += sectors_of(t->node[i].size);
	}
	if (at > UINT32_MAX / ISO_SECTOR)
		return err_set(e, ERR_INVALID, "the files are larger than 4 GiB together");
	*sectors = at < SECTORS_MIN ? SECTORS_MIN : (uint32_t)at;
	return 0;
}

static int make_meta(struct buf *b, const struct iso_tree *t, const char *label, uint32_t sectors)
{
	static const unsigned char zeros[FIRST_SECTOR * ISO_SECTOR];
	unsigned char v[ISO_SECTOR];

	make_volume(v, t, label, sectors);
	if (buf_add(b, zeros, sizeof(zeros)) < 0 || buf_add(b, v, sizeof(v)) < 0)
		return -1;
	memset(v, 0, sizeof(v));
	memcpy(v, "\377CD001\1", 7);
	if (buf_add(b, v, sizeof(v)) < 0 || add_path_table(b, t, false) < 0 || add_path_table(b, t, true) < 0)
		return -1;
	for (size_t i = 0; i < t->folders; i++)
		if (add_folder(b, t, i) < 0)
			return -1;
	return 0;
}

static int copy_file(const struct newfile *to, const struct iso_node *n, struct err *e)
{
	auto_close int fd = open(n->host_path, O_RDONLY | O_CLOEXEC);
	auto_free char *chunk = xcalloc(1, CHUNK);
	uint64_t left = n->size;

	if (fd < 0)
		return err_errno(e, "cannot open %s", n->host_path);
	while (left) {
		size_t part = left < CHUNK ? (size_t)left : CHUNK, whole = sectors_of(part) * ISO_SECTOR;
		ssize_t k = io_read_full(fd, chunk, part);

		if (k < 0)
			return err_errno(e, "cannot read %s", n->host_path);
		if ((size_t)k != part)
			return err_set(e, ERR_INVALID, "%s became shorter while it was read", n->host_path);
		memset(chunk + part, 0, whole - part);
		if (io_write_full(to->fd, chunk, whole) < 0)
			return fs_write_error(to->tmp, e);
		left -= part;
	}
	return 0;
}

int iso_write(const struct newfile *to, const char *label, const struct manifest *m, struct err *e)
{
	auto_iso_tree t = ISO_TREE_INIT;
	auto_buf meta = BUF_INIT(META_MAX);
	uint32_t sectors = 0;

	if (!*label || strlen(label) > ISO_LABEL_MAX)
		return err_set(e, ERR_USAGE, "a label has 1 to %d characters", ISO_LABEL_MAX);
	if (iso_tree_build(&t, m, e) < 0 || place(&t, &sectors, e) < 0)
		return -1;
	if (make_meta(&meta, &t, label, sectors) < 0)
		return err_set(e, ERR_INVALID, "too many files");
	if (io_write_full(to->fd, meta.data, meta.len) < 0)
		return fs_write_error(to->tmp, e);
	for (size_t i = t.folders; i < t.nodes; i++)
		if (copy_file(to, &t.node[i], e) < 0)
			return -1;
	return ftruncate(to->fd, (off_t)sectors * ISO_SECTOR) < 0 ? fs_write_error(to->tmp, e) : 0;
}
