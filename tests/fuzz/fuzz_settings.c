/* Settings text. What can be read is written again and read as the same. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct settings s, t;
	struct buf b = BUF_INIT(SETTINGS_SIZE_MAX);
	char *text = malloc(size + 1);
	struct err e;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (settings_parse(&s, text, &e) == 0) {
		for (size_t i = 0; i < s.count; i++)
			assert(strlen(s.item[i].value) > 65536 || settings_put(&b, s.item[i].key, s.item[i].value) == 0);
		assert(settings_parse(&t, b.data, &e) == 0);
		assert(t.count == s.count || size > 65536);
		for (size_t i = 0; i < t.count && t.count == s.count; i++)
			assert(!strcmp(t.item[i].key, s.item[i].key) && !strcmp(t.item[i].value, s.item[i].value));
	}
	free(text);
	buf_free(&b);
	return 0;
}
