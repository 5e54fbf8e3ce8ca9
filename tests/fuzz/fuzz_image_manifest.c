#include <stdint.h>

#include "limactl-c/image/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_manifest m = MANIFEST_INIT;
	struct err e;

	manifest_parse(&m, (const char *)data, len, &e);
	return 0;
}
