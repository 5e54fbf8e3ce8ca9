#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/image/digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *s = malloc(len + 1);
	struct digest d;
	struct err e;

	if (!s)
		return 0;
	memcpy(s, data, len);
	s[len] = '\0';
	digest_parse(s, &d, &e);
	free(s);
	return 0;
}
