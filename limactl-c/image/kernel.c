#include "limactl-c/image/kernel.h"

#include <string.h>

#include "lib/le.h"

enum { AT_ZIMG = 4, AT_PAYLOAD = 8, AT_LEN = 12, AT_PACKING = 24, PACKING_LEN = 32 };

int kernel_zboot(const unsigned char *image, size_t n, struct zboot *z, struct err *e)
{
	static const char *const known[] = { "gzip", "zstd", "zstd22", "xzkern", "lzma" };

	if (n < KERNEL_HEADER || memcmp(image, "MZ", 2) || memcmp(image + AT_ZIMG, "zimg", 4))
		return 0;
	z->payload = le32_get(image + AT_PAYLOAD);
	z->len = le32_get(image + AT_LEN);
	if (z->payload < KERNEL_HEADER || z->payload >= n || z->len > n - z->payload || !z->len)
		return err_set(e, ERR_INVALID, "its packed kernel does not lie inside it");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp((const char *)image + AT_PACKING, known[i], PACKING_LEN))
			return 1;
	return err_set(e, ERR_INVALID, "its kernel is packed in a way this version does not know");
}
