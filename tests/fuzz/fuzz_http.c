/* Requests on the control socket, and the first line of an engine's answer. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/hostagent/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *copy = malloc(len ? len : 1); /* of exactly this size, so that a sanitizer sees each byte too many */
	struct http_request whole, part;
	int r;

	memcpy(copy, data, len);
	r = http_parse(copy, len, &whole);
	if (r == 1) {
		check(whole.used <= len && whole.body >= copy && whole.body + whole.body_len <= copy + len);
		check(strlen(whole.method) <= HTTP_METHOD_MAX && strlen(whole.path) <= HTTP_PATH_MAX);
		/* The same bytes in fewer pieces mean the same; without the last one it is not complete. */
		check(http_parse(copy, whole.used, &part) == 1 && part.used == whole.used);
		check(http_parse(copy, whole.used - 1, &part) == 0);
	} else if (r < 0) {
		check(whole.status >= 400 && whole.why);
	}
	r = http_status(copy, len);
	check(r >= -1 && r <= 999);
	free(copy);
	return 0;
}
