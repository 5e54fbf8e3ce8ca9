#include "limactl-c/config/schema.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/size.h"
#include "limactl-c/yaml/yscalar.h"

enum { WORD_SIZE = 64, WORDS_MAX = 16 };

const struct key *schema_find(const char *path)
{
	for (size_t i = 0; i < schema_count; i++) {
		if (!strcmp(schema[i].path, path))
			return &schema[i];
	}
	return NULL;
}

/* What follows the group in path, or NULL when path is not below it. */
static const char *below(const char *path, const char *group)
{
	size_t n = strlen(group);

	if (!n)
		return path;
	return !strncmp(path, group, n) && path[n] == '.' ? path + n + 1 : NULL;
}

bool schema_is_group(const char *path)
{
	for (size_t i = 0; i < schema_count; i++) {
		if (below(schema[i].path, path))
			return true;
	}
	return false;
}

size_t schema_children(const char *group, char **names, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < schema_count && count < max; i++) {
		const char *rest = below(schema[i].path, group);
		size_t n = rest ? strcspn(rest, ".[") : 0, seen = 0;

		if (!n)
			continue;
		while (seen < count && (strlen(names[seen]) != n || strncmp(names[seen], rest, n)))
			seen++;
		if (seen == count)
			names[count++] = xstrndup(rest, n);
	}
	return count;
}

bool schema_next_word(const char **p, char *word, size_t size)
{
	size_t n = strcspn(*p, "|");

	if (!n || n >= size)
		return false;
	memcpy(word, *p, n);
	word[n] = '\0';
	*p += n + ((*p)[n] == '|');
	return true;
}

static bool has_word(const char *p, const char *text)
{
	char word[WORD_SIZE];

	while (p && schema_next_word(&p, word, sizeof(word))) {
		if (!strcmp(word, text))
			return true;
	}
	return false;
}

int schema_check_word(const struct key *k, const char *text, struct err *e)
{
	char word[WORDS_MAX][WORD_SIZE], list[300] = "";
	const char *words[WORDS_MAX], *p = k->allowed, *near;
	size_t count = 0, used = 0;

	if (!k->allowed || has_word(k->allowed, text))
		return 0;
	while (count < WORDS_MAX && schema_next_word(&p, word[count], WORD_SIZE)) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", count ? " " : "",
					 word[count]);
		words[count] = word[count];
		count++;
	}
	if (has_word(k->later, text))
		return err_set(
			e, ERR_INVALID,
			"must be one of [%s]; Lima's \"%s\" is not supported by this version yet",
			list, text);
	near = text_nearest(text, words, count);
	return err_set(e, ERR_INVALID, "must be one of [%s]; got \"%.60s\"%s%s%s", list, text,
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int set_string(const struct key *k, void *field, const char *text, struct err *e)
{
	char **s = field;

	if (schema_check_word(k, text, e) < 0)
		return -1;
	free(*s);
	*s = xstrdup(text);
	return 0;
}

static int set_bool(const struct key *k, void *field, const char *text, struct err *e)
{
	(void)k;
	(void)e;
	*(bool *)field = text[0] == 't' || text[0] == 'T';
	return 0;
}

static int set_number(const struct key *k, void *field, const char *text, struct err *e)
{
	uint64_t low = 0, high = k->type == KEY_PORT ? 65535 : UINT32_MAX, v;

	if (k->allowed)
		sscanf(k->allowed, "%" SCNu64 "-%" SCNu64, &low, &high);
	if (!yscalar_uint(text, &v) || v < low || v > high)
		return err_set(e, ERR_INVALID,
			       "must be a whole number from %" PRIu64 " to %" PRIu64 "; got %.40s",
			       low, high, text);
	*(uint32_t *)field = (uint32_t)v;
	return 0;
}

static int set_size(const struct key *k, void *field, const char *text, struct err *e)
{
	const char *dash = k->allowed ? strchr(k->allowed, '-') : NULL;
	auto_free char *least = dash ? xstrndup(k->allowed, (size_t)(dash - k->allowed)) : NULL;
	uint64_t low, high, v;

	if (size_parse(text, &v, e) < 0)
		return -1;
	if (dash && (size_parse(least, &low, e) < 0 || size_parse(dash + 1, &high, e) < 0 ||
		     v < low || v > high))
		return err_set(e, ERR_INVALID, "must be a size from %s to %s; got %.40s", least,
			       dash + 1, text);
	*(uint64_t *)field = v;
	return 0;
}

static int set_seconds(const struct key *k, void *field, const char *text, struct err *e)
{
	(void)k;
	return duration_parse(text, field, e);
}

int schema_set(const struct key *k, void *field, const char *text, struct err *e)
{
	static int (*const set[KEY_TYPES])(const struct key *, void *, const char *,
					   struct err *) = {
		[KEY_STRING] = set_string, [KEY_BOOL] = set_bool, [KEY_COUNT] = set_number,
		[KEY_PORT] = set_number,   [KEY_SIZE] = set_size, [KEY_SECONDS] = set_seconds,
	};

	/* Lists have no default but the empty one, which is what zeroed memory holds. */
	return set[k->type] ? set[k->type](k, field, text, e) : 0;
}

static void clear_pairs(struct cfg_env *pair, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(pair[i].key);
		free(pair[i].value);
	}
	free(pair);
}

static void clear_strings(char **s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(s[i]);
	free(s);
}

/* Every element, by the rows below "PATH[]". */
static void clear_list(const struct key *k, char *array, size_t count)
{
	auto_free char *group = xasprintf("%s[]", k->path);

	for (size_t i = 0; i < schema_count; i++) {
		if (!below(schema[i].path, group))
			continue;
		for (size_t j = 0; j < count; j++)
			schema_clear(&schema[i], array + j * k->size);
	}
	free(array);
}

void schema_clear(const struct key *k, void *base)
{
	void **field = (void **)((char *)base + k->at);
	size_t *count = (size_t *)((char *)base + k->count_at);

	switch (k->type) {
	case KEY_STRING:
		free(*field);
		break;
	case KEY_PAIRS:
		clear_pairs(*field, *count);
		break;
	case KEY_STRINGS:
		clear_strings(*field, *count);
		break;
	case KEY_LIST:
		clear_list(k, *field, *count);
		break;
	default:
		return;
	}
	*field = NULL;
	if (k->type != KEY_STRING)
		*count = 0;
}
