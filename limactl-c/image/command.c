#include "limactl-c/image/command.h"

#include <string.h>

static const struct command_opt *find(const struct command *cmd, const char *name, size_t len)
{
	for (const struct command_opt *o = cmd->opt; o->name; o++) {
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	}
	return NULL;
}

/* Takes one option at *argv, moving on when its value is the next word. */
static int take_option(const struct command *cmd, char ***argv, struct command_line *c, struct err *e)
{
	const char *word = **argv, *eq = strchr(word, '=');
	size_t len = eq ? (size_t)(eq - word) - 2 : strlen(word) - 2;
	const struct command_opt *o = find(cmd, word + 2, len);
	const char **to;

	if (!o)
		return err_set(e, ERR_USAGE, "%s: unknown option %s", cmd->name, word);
	to = &c->opt[o - cmd->opt];
	if (*to)
		return err_set(e, ERR_USAGE, "%s: --%s given twice", cmd->name, o->name);
	if (!o->value && eq)
		return err_set(e, ERR_USAGE, "%s: --%s takes no value", cmd->name, o->name);
	*to = eq ? eq + 1 : o->value ? *++*argv : "";
	if (!*to || (o->value && !**to))
		return err_set(e, ERR_USAGE, "%s: --%s needs a value", cmd->name, o->name);
	return 0;
}

int command_parse(const struct command *cmd, char **argv, struct command_line *c, struct err *e)
{
	bool options = true;
	size_t n = 0;

	memset(c, 0, sizeof(*c));
	for (; *argv; argv++) {
		if (options && strcmp(*argv, "--") == 0) {
			options = false;
		} else if (options && strncmp(*argv, "--", 2) == 0) {
			if (take_option(cmd, &argv, c, e) < 0)
				return -1;
		} else if (n == cmd->nargs) {
			return err_set(e, ERR_USAGE, "%s: unexpected argument \"%s\"", cmd->name, *argv);
		} else {
			c->arg[n++] = *argv;
		}
	}
	if (n < cmd->nargs)
		return err_set(e, ERR_USAGE, "%s: needs %s", cmd->name, cmd->args);
	for (const struct command_opt *o = cmd->opt; o->name; o++) {
		if (o->required && !c->opt[o - cmd->opt])
			return err_set(e, ERR_USAGE, "%s: needs --%s %s", cmd->name, o->name, o->value);
	}
	return 0;
}
