#include <stdint.h>

#include "limactl-c/image/qcow2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct qcow2_info info;
	struct err e;

	qcow2_parse(data, len, len, &info, &e);
	return 0;
}
