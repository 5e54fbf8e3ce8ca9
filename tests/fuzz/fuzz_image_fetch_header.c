#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/image/fetch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fetch_answer a = { 0 };

	while (len) {
		const uint8_t *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) + 1 : len;

		fetch_header(&a, (const char *)data, n);
		if (strlen(a.validator) > FETCH_VALIDATOR_MAX || a.status < 0 || a.status > 999)
			abort();
		data += n;
		len -= n;
	}
	return 0;
}
