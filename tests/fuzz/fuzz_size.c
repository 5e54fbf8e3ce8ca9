/* Any text as a size or a duration: no crash; what is taken as a duration is written and read back
 * the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char text[256];
	uint64_t bytes;
	uint32_t seconds, again;
	struct err e;

	if (len >= sizeof(text))
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	if (size_parse(text, &bytes, &e) == 0) {
		auto_free char *shown = text_size(bytes);

		/* What is shown is rounded; it stays a size all the same, unless rounding left the
		 * range. */
		if (size_parse(shown, &bytes, &e) < 0 && !strstr(e.msg, "too large"))
			abort();
	}
	if (duration_parse(text, &seconds, &e) == 0) {
		auto_free char *shown = text_duration(seconds);

		if (duration_parse(shown, &again, &e) < 0 || again != seconds)
			abort();
	}
	return 0;
}
