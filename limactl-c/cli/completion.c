#include "limactl-c/cli/completion.h"

#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"

/* Where in a command line the cursor is. */
struct spot {
	const struct cmd *cmd;     /* NULL: none yet */
	const struct opt *pending; /* the word is this option's value */
	size_t args;               /* operands before it */
	bool no_options;           /* they have ended */
};

void completion_add(struct completion *c, const char *word, const char *help)
{
	if (strncmp(word, c->typed, strlen(c->typed)) != 0)
		return;
	c->item = xrealloc_array(c->item, c->count + 1, sizeof(*c->item));
	c->item[c->count++] = (struct completion_item){
		.word = xasprintf("%.*s%s", (int)c->lead_len, c->lead, word),
		.help = help,
	};
}

void completion_fini(struct completion *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->item[i].word);
	free(c->item);
	*c = (struct completion){ 0 };
}

static bool takes_value(const struct opt *o)
{
	return o->type != OPT_FLAG && o->type != OPT_TRISTATE;
}

/* The tables whose options may stand here. */
static size_t tables(const struct spot *s, const struct opt *table[CMD_TABLES + 1])
{
	size_t n = s->cmd ? cmd_tables(s->cmd, table, NULL) : 0;

	if (!s->cmd)
		table[n++] = cmd_top_opts;
	table[n++] = cmd_global_opts;
	return n;
}

static bool is_option(const struct opt *o, const char *word, size_t len)
{
	if (word[1] != '-')
		return o->letter && word[1] == o->letter && len == 2;
	return strlen(o->name) == len - 2 && !strncmp(o->name, word + 2, len - 2);
}

/* The option that the first len bytes of a word name: "--arch", "-f". */
static const struct opt *find_option(const struct spot *s, const char *word, size_t len)
{
	const struct opt *table[CMD_TABLES + 1];
	size_t n = tables(s, table);

	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = table[i]; o->name; o++)
			if (is_option(o, word, len))
				return o;
	return NULL;
}

static void pass_option(struct spot *s, const char *word)
{
	const struct opt *o = find_option(s, word, strlen(word));

	s->pending = o && takes_value(o) ? o : NULL;
}

static void pass_operand(struct spot *s, const char *word)
{
	struct err unknown = { 0 };

	if (s->cmd && !s->cmd->sub) {
		s->args++;
		s->no_options = s->no_options || s->cmd->in_order;
		return;
	}
	if (!s->cmd && !strcmp(word, "help"))
		return;
	s->cmd = cmd_find(s->cmd, word, &unknown);
	/* Behind a word that is no command nothing is known. */
	s->no_options = !s->cmd;
	s->args = s->cmd ? 0 : 1;
}

static void pass(struct spot *s, const char *word)
{
	if (s->pending)
		s->pending = NULL;
	else if (!s->no_options && !strcmp(word, "--"))
		s->no_options = true;
	else if (!s->no_options && word[0] == '-' && word[1])
		pass_option(s, word);
	else
		pass_operand(s, word);
}

static void add_option_values(const struct opt *o, struct completion *c)
{
	const char *words = takes_value(o) ? opt_words(o) : "true|false";

	completion_add_values(c, words ? words : o->value);
}

static void add_options(const struct spot *s, struct completion *c)
{
	const struct opt *table[CMD_TABLES + 1];
	size_t n = tables(s, table);

	for (size_t i = 0; i < n; i++) {
		for (const struct opt *o = table[i]; o->name; o++) {
			char word[80];

			snprintf(word, sizeof(word), "--%s", o->name);
			completion_add(c, word, o->help);
		}
	}
}

/* Aliases only once something is typed: they would make the list twice as long. */
static void add_commands(const struct cmd *group, struct completion *c)
{
	const size_t aliases = sizeof(group->alias) / sizeof(*group->alias);

	for (const struct cmd *const *at = cmd_all(group); *at; at++) {
		if ((*at)->hidden)
			continue;
		completion_add(c, (*at)->name, (*at)->summary);
		for (size_t i = 0; *c->typed && i < aliases && (*at)->alias[i]; i++)
			completion_add(c, (*at)->alias[i], (*at)->summary);
	}
	if (!group)
		completion_add(c, "help", "Show the help of a command");
}

/* The operand at a position of "SRC [DST]" or "INSTANCE...", the last of which may repeat. */
static void add_operand(const char *args, size_t at, struct completion *c)
{
	char text[200], *save = NULL, *one;

	snprintf(text, sizeof(text), "%s", args);
	for (one = strtok_r(text, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
		bool repeats = strstr(one, "...");

		if (at == 0 || repeats) {
			one += *one == '[';
			one[strcspn(one, ".]")] = '\0';
			completion_add_values(c, one);
			return;
		}
		at--;
	}
}

static void add_for_word(const struct spot *s, const char *word, struct completion *c)
{
	const char *value = strchr(word, '=');
	const struct opt *o = s->pending;

	if (o) {
		add_option_values(o, c);
	} else if (!s->no_options && *word == '-') {
		o = value ? find_option(s, word, (size_t)(value - word)) : NULL;
		if (!value) {
			add_options(s, c);
		} else if (o) {
			c->lead = word;
			c->lead_len = (size_t)(value - word) + 1;
			c->typed = value + 1;
			add_option_values(o, c);
		}
	} else if (s->cmd && !s->cmd->sub) {
		add_operand(s->cmd->args ? s->cmd->args : "", s->args, c);
	} else if (s->cmd || !s->args) {
		add_commands(s->cmd, c);
	}
}

void completion_find(const char *const *word, size_t words, struct completion *out)
{
	struct spot s = { 0 };

	*out = (struct completion){ .lead = "", .typed = words ? word[words - 1] : "" };
	for (size_t i = 0; i + 1 < words; i++)
		pass(&s, word[i]);
	add_for_word(&s, out->typed, out);
}
