#include "limactl-c/image/inflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* QEMU packs with a window of 4 KiB; a reader must not ask for less than the writer used. */
enum { WINDOW_BITS = 15 };

int inflate_raw(const unsigned char *in, size_t n, unsigned char *out, size_t size, struct err *e)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in, .avail_in = (unsigned)n, .next_out = out,
		       .avail_out = (unsigned)size };
	int rc;

	if (inflateInit2(&z, -WINDOW_BITS) != Z_OK)
		abort(); /* memory only */
	rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	/* The writer may leave the end marker in the last sector or drop it: what counts is a full cluster. */
	if ((rc == Z_STREAM_END || rc == Z_BUF_ERROR || rc == Z_OK) && z.avail_out == 0)
		return 0;
	return err_set(e, ERR_INVALID, "a packed cluster is damaged");
}

int inflate_zstd(const unsigned char *in, size_t n, unsigned char *out, size_t size, struct err *e)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer from = { in, n, 0 };
	ZSTD_outBuffer to = { out, size, 0 };
	size_t before, rc = 1;

	if (!z)
		abort(); /* memory only */
	do {
		before = from.pos + to.pos;
		rc = ZSTD_decompressStream(z, &to, &from);
	} while (!ZSTD_isError(rc) && rc && to.pos < size && from.pos + to.pos > before);
	ZSTD_freeDStream(z);
	return to.pos == size ? 0 : err_set(e, ERR_INVALID, "a packed cluster is damaged");
}
