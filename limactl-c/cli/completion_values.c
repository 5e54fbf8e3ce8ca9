#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/completion.h"
#include "limactl-c/config/schema.h"
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
	inst_list_free(name, count);
}

static void add_files(struct completion *c)
{
	c->files = true;
}

/* What words in a usage line stand for. */
static const struct {
	const char *word;
	void (*add)(struct completion *c);
} kinds[] = {
	{ "INSTANCE", add_instances },
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
		if (!strcmp(kinds[i].word, word)) {
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
