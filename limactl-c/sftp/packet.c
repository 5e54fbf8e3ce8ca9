#include "limactl-c/sftp/packet.h"

#include <stdlib.h>
#include <string.h>

#include "lib/be.h"

enum { HAS_EXTENDED = 0x80000000U };

/* --- in --- */

static const uint8_t *get(struct sftp_in *in, size_t n)
{
	static const uint8_t nothing[8];
	const uint8_t *p = in->p;

	if (in->bad || n > in->left) {
		in->bad = true;
		return nothing;
	}
	in->p += n;
	in->left -= n;
	return p;
}

uint8_t sftp_get8(struct sftp_in *in)
{
	return *get(in, 1);
}

uint32_t sftp_get32(struct sftp_in *in)
{
	return (uint32_t)be_get(get(in, 4), 4);
}

uint64_t sftp_get64(struct sftp_in *in)
{
	return be_get(get(in, 8), 8);
}

const uint8_t *sftp_get_bytes(struct sftp_in *in, size_t *n)
{
	const uint8_t *p;

	*n = sftp_get32(in);
	p = get(in, *n);
	if (in->bad)
		*n = 0;
	return p;
}

void sftp_get_text(struct sftp_in *in, char text[SFTP_PATH_MAX])
{
	size_t n;
	const uint8_t *p = sftp_get_bytes(in, &n);

	if (n >= SFTP_PATH_MAX || memchr(p, 0, n)) {
		in->bad = true;
		n = 0;
	}
	memcpy(text, p, n);
	text[n] = '\0';
}

void sftp_get_attrs(struct sftp_in *in, struct sftp_attrs *a)
{
	uint32_t has = sftp_get32(in), extended = 0;

	*a = (struct sftp_attrs){ .has = has };
	if (has & SFTP_HAS_SIZE)
		a->size = sftp_get64(in);
	if (has & SFTP_HAS_OWNER) {
		a->uid = sftp_get32(in);
		a->gid = sftp_get32(in);
	}
	if (has & SFTP_HAS_MODE)
		a->mode = sftp_get32(in);
	if (has & SFTP_HAS_TIMES) {
		a->atime = sftp_get32(in);
		a->mtime = sftp_get32(in);
	}
	if (has & HAS_EXTENDED)
		extended = sftp_get32(in);
	while (extended-- && !in->bad) {
		size_t n;

		sftp_get_bytes(in, &n);
		sftp_get_bytes(in, &n);
	}
}

/* --- out --- */

static void put(struct buf *out, const void *p, size_t n)
{
	if (buf_add(out, p, n) < 0)
		abort(); /* its max is that of memory */
}

void sftp_put32(struct buf *out, uint32_t v)
{
	uint8_t b[4];

	be32_put(b, v);
	put(out, b, sizeof(b));
}

void sftp_put64(struct buf *out, uint64_t v)
{
	sftp_put32(out, (uint32_t)(v >> 32));
	sftp_put32(out, (uint32_t)v);
}

void sftp_put_bytes(struct buf *out, const void *p, size_t n)
{
	sftp_put32(out, (uint32_t)n);
	put(out, p, n);
}

void sftp_put_text(struct buf *out, const char *text)
{
	sftp_put_bytes(out, text, strlen(text));
}

void sftp_put_attrs(struct buf *out, const struct stat *st)
{
	sftp_put32(out, SFTP_HAS_SIZE | SFTP_HAS_OWNER | SFTP_HAS_MODE | SFTP_HAS_TIMES);
	sftp_put64(out, (uint64_t)st->st_size);
	sftp_put32(out, st->st_uid);
	sftp_put32(out, st->st_gid);
	sftp_put32(out, st->st_mode);
	sftp_put32(out, (uint32_t)st->st_atime);
	sftp_put32(out, (uint32_t)st->st_mtime);
}

size_t sftp_begin_packet(struct buf *out, uint8_t type, uint32_t id)
{
	size_t at = out->len;

	sftp_put32(out, 0);
	put(out, &type, 1);
	sftp_put32(out, id);
	return at;
}

void sftp_set32(struct buf *out, size_t at, uint32_t v)
{
	be32_put((uint8_t *)out->data + at, v);
}

void sftp_end_packet(struct buf *out, size_t at)
{
	sftp_set32(out, at, (uint32_t)(out->len - at - 4));
}
