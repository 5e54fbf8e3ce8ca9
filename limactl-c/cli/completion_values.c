#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/completion.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/store/disk.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/inst.h"

enum { WORD_MAX = 100 };

static void add_instances(struct completion *c)
{
	struct err ignored = { 0 };
	char **name;
	size_t count;

	if (inst_list(&name, &count, &ignored) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		completion_add(c, name[i], "instance");
	folder_list_free(name, count);
}

static void add_disks(struct completion *c)
{
	struct err ignored = { 0 };
	char **name;
	size_t count;

	if (disk_list(&name, &count, &ignored) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		completion_add(c, name[i], "disk");
	folder_list_free(name, count);
}

/* Parts that templates are made of ("_images/debian") only once that much is typed. */
static void add_templates(struct completion *c)
{
	struct locator_template *t;
	size_t n = locator_list(&t);

	for (size_t i = 0; i < n; i++) {
		auto_free char *word = xasprintf("template:%s", t[i].name);

		if (*t[i].name != '_' || strchr(c->typed, '_'))
			completion_add(c, word, "template");
	}
	locator_list_free(t, n);
}

static void add_files(struct completion *c)
{
	c->files = true;
}

/* Whether an expression may set the key as ".KEY=": it is a value, and not one of a list's elements. */
static bool is_value(const struct key *k)
{
	return k->type != KEY_LIST && k->type != KEY_PAIRS && k->type != KEY_STRINGS && k->type != KEY_MOVED &&
	       !strstr(k->path, "[]");
}

/* Expressions that set a key: all keys; behind the "=" what may be written without quotes. */
static void add_expressions(struct completion *c)
{
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		const bool is_bool = k->type == KEY_BOOL || k->type == KEY_TRI;
		char word[WORD_MAX];

		if (!is_value(k))
			continue;
		snprintf(word, sizeof(word), ".%s=", k->path);
		if (strncmp(c->typed, word, strlen(word)) != 0) {
			completion_add(c, word, k->help);
			continue;
		}
		for (int on = 0; on < 2 && is_bool; on++) {
			snprintf(word, sizeof(word), ".%s=%s", k->path, on ? "true" : "false");
			completion_add(c, word, k->help);
		}
	}
}

/* What words in a usage line stand for. */
static const struct {
	const char *word;
	void (*add)(struct completion *c);
} kinds[] = {
	{ "INSTANCE", add_instances },
	{ "DISK", add_disks },
	{ "template:NAME", add_templates },
	{ "EXPRESSION", add_expressions },
	{ "FILE", add_files },
	{ "DIR", add_files },
};

/* A word to be typed as it stands, rather than the name of something. */
static bool is_literal(const char *word)
{
	for (const char *p = word; *p; p++)
		if (isupper((unsigned char)*p) || !isprint((unsigned char)*p))
			return false;
	return isalnum((unsigned char)*word);
}

static void add_value(struct completion *c, const char *word)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i].word);

		/* "DIR[:w]" is a folder too. */
		if (!strncmp(kinds[i].word, word, n) && (!word[n] || word[n] == '[')) {
			kinds[i].add(c);
			return;
		}
	}
	if (is_literal(word))
		completion_add(c, word, "");
}

void completion_add_values(struct completion *c, const char *operand)
{
	char word[WORD_MAX];

	while (schema_next_word(&operand, word, sizeof(word)))
		add_value(c, word);
}
