#include "limactl-c/image/gunzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "lib/io.h"
#include "limactl-c/base/mem.h"

enum { CHUNK = 64 * 1024, WINDOW_BITS = 15, GZIP_ONLY = 16 };

struct gunzip {
	z_stream z;
	struct gunzip_input *in;
	unsigned char *packed, *plain; /* CHUNK bytes each */
};

bool gunzip_is_gzip(const unsigned char *p, size_t n)
{
	return n >= GUNZIP_MAGIC && p[0] == 0x1f && p[1] == 0x8b;
}

/* 1: there is input; 0: it is at its end. */
static int refill(struct gunzip *g, struct err *e)
{
	ssize_t k;

	if (g->z.avail_in)
		return 1;
	if (g->in->fd < 0) {
		size_t part = g->in->n < CHUNK ? g->in->n : CHUNK;

		g->z.next_in = (unsigned char *)(uintptr_t)g->in->p;
		g->z.avail_in = (unsigned)part;
		g->in->p += part;
		g->in->n -= part;
		return part > 0;
	}
	k = io_read_full(g->in->fd, g->packed, CHUNK);
	if (k < 0)
		return err_errno(e, "read");
	g->z.next_in = g->packed;
	g->z.avail_in = (unsigned)k;
	return k > 0;
}

/* Behind a member's end. 1: another begins; 0: that was the last. */
static int next_member(struct gunzip *g, struct err *e)
{
	int rc = refill(g, e);

	if (rc <= 0)
		return rc;
	if (*g->z.next_in)
		return inflateReset(&g->z) == Z_OK ? 1 : err_set(e, ERR_SYS, "zlib cannot go on");
	for (; rc > 0; rc = refill(g, e)) {
		for (; g->z.avail_in; g->z.next_in++, g->z.avail_in--)
			if (*g->z.next_in)
				return err_set(e, ERR_INVALID, "there is something behind its end");
	}
	return rc;
}

static int run(struct gunzip *g, struct sink *to, struct err *e)
{
	for (;;) {
		int more = refill(g, e), rc;

		if (more < 0)
			return -1;
		g->z.next_out = g->plain;
		g->z.avail_out = CHUNK;
		rc = inflate(&g->z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
			return err_set(e, ERR_INVALID, "damaged gzip data (%s)", g->z.msg ? g->z.msg : zError(rc));
		if (sink_write(to, g->plain, CHUNK - g->z.avail_out, e) < 0)
			return -1;
		if (rc == Z_STREAM_END && (more = next_member(g, e)) <= 0)
			return more;
		if (!more && g->z.avail_out == CHUNK)
			return err_set(e, ERR_INVALID, "truncated gzip data");
	}
}

int gunzip(struct gunzip_input *in, struct sink *to, struct err *e)
{
	auto_free unsigned char *packed = xmalloc(CHUNK), *plain = xmalloc(CHUNK);
	struct gunzip g = { .in = in, .packed = packed, .plain = plain };
	int rc;

	if (inflateInit2(&g.z, WINDOW_BITS + GZIP_ONLY) != Z_OK)
		abort(); /* memory only */
	rc = run(&g, to, e);
	inflateEnd(&g.z);
	return rc;
}
