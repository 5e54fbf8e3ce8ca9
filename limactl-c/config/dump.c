/* dump.c - a filled configuration as JSON, driven by the table of keys. What is not set is left
 * out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/schema.h"

enum { DUMP_MAX = 64 << 20, CHILDREN_MAX = 64 };

static void put(struct buf *b, const char *s)
{
	if (buf_adds(b, s) < 0)
		abort(); /* memory: a configuration is far smaller than DUMP_MAX */
}

static void put_string(struct buf *b, const char *s)
{
	put(b, "\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		char text[8];

		if (c < 0x20 || c == 0x7f)
			snprintf(text, sizeof(text), "\\u%04x", c);
		else
			snprintf(text, sizeof(text), "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
		put(b, text);
	}
	put(b, "\"");
}

static void put_number(struct buf *b, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	put(b, text);
}

static bool put_range(struct buf *b, const uint32_t range[2])
{
	if (!range[0] && !range[1])
		return false;
	put(b, "[");
	put_number(b, range[0]);
	put(b, ", ");
	put_number(b, range[1]);
	put(b, "]");
	return true;
}

static bool put_flags(struct buf *b, const struct key *k, const bool *flag)
{
	const char *p = k->allowed;
	char word[64];
	bool any = false;

	put(b, "[");
	for (size_t i = 0; schema_next_word(&p, word, sizeof(word)); i++) {
		if (!flag[i])
			continue;
		put(b, any ? ", " : "");
		put_string(b, word);
		any = true;
	}
	put(b, "]");
	return true;
}

static bool put_pairs(struct buf *b, const struct key *k, const char *base)
{
	const struct cfg_env *pair = *(struct cfg_env *const *)(const void *)(base + k->at);
	size_t count = *(const size_t *)(const void *)(base + k->count_at);

	for (size_t i = 0; i < count; i++) {
		put(b, i ? ", " : "{");
		put_string(b, pair[i].key);
		put(b, ": ");
		put_string(b, pair[i].value);
	}
	put(b, count ? "}" : "");
	return count;
}

static bool put_strings(struct buf *b, const struct key *k, const char *base)
{
	char *const *s = *(char *const *const *)(const void *)(base + k->at);
	size_t count = *(const size_t *)(const void *)(base + k->count_at);

	for (size_t i = 0; i < count; i++) {
		put(b, i ? ", " : "[");
		put_string(b, s[i]);
	}
	put(b, count ? "]" : "");
	return count;
}

static bool put_group(struct buf *b, const char *group, const char *base);

static bool put_list(struct buf *b, const struct key *k, const char *base)
{
	const char *array = *(const void *const *)(const void *)(base + k->at);
	size_t count = *(const size_t *)(const void *)(base + k->count_at);
	auto_free char *group = xasprintf("%s[]", k->path);

	for (size_t i = 0; i < count; i++) {
		put(b, i ? ", " : "[");
		if (!put_group(b, group, array + i * k->size))
			put(b, "{}");
	}
	put(b, count ? "]" : "");
	return count;
}

/* Writes the row's value; false when it is not set and nothing was written. */
static bool put_value(struct buf *b, const struct key *k, const char *base)
{
	const void *field = base + k->at;
	const uint32_t *number = field;
	const char *text;
	auto_free char *duration = NULL;

	switch (k->type) {
	case KEY_STRING:
		text = *(const char *const *)field;
		if (text)
			put_string(b, text);
		return text;
	case KEY_BOOL:
		put(b, *(const bool *)field ? "true" : "false");
		return true;
	case KEY_PORT:
		if (*number)
			put_number(b, *number);
		return *number;
	case KEY_COUNT:
		put_number(b, *number);
		return true;
	case KEY_SIZE:
		put_number(b, *(const uint64_t *)field);
		return true;
	case KEY_SECONDS:
		duration = text_duration(*number);
		put_string(b, duration);
		return true;
	case KEY_RANGE:
		return put_range(b, number);
	case KEY_FLAGS:
		return put_flags(b, k, field);
	case KEY_PAIRS:
		return put_pairs(b, k, base);
	case KEY_STRINGS:
		return put_strings(b, k, base);
	case KEY_LIST:
		return put_list(b, k, base);
	default:
		return false;
	}
}

/* "{…}" of what is set below group; nothing and false when nothing is. */
static bool put_group(struct buf *b, const char *group, const char *base)
{
	char *names[CHILDREN_MAX];
	size_t n = schema_children(group, names, CHILDREN_MAX);
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		auto_free char *path = xasprintf("%s%s%s", group, *group ? "." : "", names[i]);
		const struct key *k = schema_find(path);
		size_t before = b->len;

		put(b, any ? ", " : "{");
		put_string(b, names[i]);
		put(b, ": ");
		if (k ? put_value(b, k, base) : put_group(b, path, base)) {
			any = true;
		} else {
			b->len = before;
			b->data[before] = '\0';
		}
		free(names[i]);
	}
	put(b, any ? "}" : "");
	return any;
}

char *cfg_dump(const struct cfg *c)
{
	struct buf b = BUF_INIT(DUMP_MAX);

	put_group(&b, "", (const char *)c);
	return b.data;
}
