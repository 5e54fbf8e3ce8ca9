/* What a guest says of its /boot, and of its digests. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "limactl-c/store/harvest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char digest[2][SHA256_HEX + 1];
	struct harvest_answer a;
	struct err e = { 0 };

	if (harvest_parse((const char *)data, size, &a, &e) == 0 &&
	    (!strstr(a.args, "root=") || strlen(a.boot) != SHA256_HEX || a.kernel[0] != '/' || a.args[0] == ' '))
		__builtin_trap();
	if (harvest_parse_digests((const char *)data, size, digest, &e) == 0 && strlen(digest[1]) != SHA256_HEX)
		__builtin_trap();
	return 0;
}
