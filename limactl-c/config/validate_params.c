/* validate_params.c - rules of param: names, and that each is used somewhere. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool name_ok(const char *name)
{
	if (!isalpha((unsigned char)*name))
		return false;
	while (is_word(*name))
		name++;
	return !*name;
}

static bool value_ok(const char *value)
{
	for (; *value; value++) {
		if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f)
			return false;
	}
	return true;
}

struct param {
	const char *name;
	bool used;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct param *)a)->name, ((const struct param *)b)->name);
}

struct params {
	struct param *item; /* sorted */
	size_t count;
};

static void mark(struct params *all, const char *word)
{
	size_t n = 0;
	auto_free char *name = NULL;
	struct param key, *found;

	while (is_word(word[n]))
		n++;
	name = xstrndup(word, n);
	key = (struct param){ .name = name };
	found = bsearch(&key, all->item, all->count, sizeof(key), by_name);
	if (found)
		found->used = true;
}

/* {{… .Param.NAME …}} or PARAM_NAME, as words of their own. */
static void mark_text(struct params *all, const char *text)
{
	static const char field[] = ".Param.", variable[] = "PARAM_";
	bool in_braces = false;

	for (const char *p = text; *p; p++) {
		in_braces = (in_braces && *p != '}') || (p[0] == '{' && p[1] == '{');
		if (in_braces && !strncmp(p, field, strlen(field)))
			mark(all, p + strlen(field));
		else if (!strncmp(p, variable, strlen(variable)) && (p == text || !is_word(p[-1])))
			mark(all, p + strlen(variable));
	}
}

static void mark_tree(struct params *all, const struct ynode *n)
{
	if (yn_is_scalar(n))
		mark_text(all, n->text);
	for (size_t i = 0; i < n->count; i++)
		mark_tree(all, n->item[i]);
}

/* Which are used anywhere but among the parameters themselves: one walk for all. */
static void find_used(struct params *all, const struct cfg *c)
{
	all->count = c->params;
	all->item = xcalloc(c->params, sizeof(*all->item));
	for (size_t i = 0; i < c->params; i++)
		all->item[i].name = c->param[i].key;
	qsort(all->item, all->count, sizeof(*all->item), by_name);
	for (size_t i = 0; i < c->given->count; i++) {
		if (strcmp(c->given->key[i]->text, "param"))
			mark_tree(all, c->given->item[i]);
	}
}

static bool is_used(const struct params *all, const char *name)
{
	const struct param key = { .name = name };
	const struct param *found = bsearch(&key, all->item, all->count, sizeof(key), by_name);

	return found && found->used;
}

/* Parameters of default.yaml and override.yaml are for some instances, not for each. */
static bool is_of_instance(struct check *k, const char *name)
{
	const struct ynode *param = yn_get(k->c->given, "param");
	size_t at = param ? yn_find(param, name, strlen(name)) : 0;
	const struct yn_source *source = param && at < param->count ? param->key[at]->source : NULL;

	return source && !strcmp(source->name, k->in->instance.name);
}

static void check_param(struct check *k, const struct params *all, const struct cfg_env *p)
{
	/* Lima's own, for the guest's network configuration. */
	static const char internal[] = "internal_netplanOptional";

	if (!name_ok(p->key))
		check_bad_key(k, xasprintf("param.%s", p->key),
			      "is no name of a parameter: a letter, then letters, digits and _");
	else if (!value_ok(p->value))
		check_bad(k, xasprintf("param.%s", p->key), "must not hold line ends or control characters");
	else if (strcmp(p->key, internal) && is_of_instance(k, p->key) && !is_used(all, p->key))
		/* Lima refuses it; but where templates were filled already it is right that nothing uses it any more. */
		check_warn(k, xasprintf("param.%s", p->key),
			   "is not used: write {{.Param.%.60s}} or $PARAM_%.60s somewhere, or remove it", p->key, p->key);
}

void check_params(struct check *k)
{
	struct params all = { 0 };

	if (k->c->params)
		find_used(&all, k->c);
	for (size_t i = 0; i < k->c->params; i++)
		check_param(k, &all, &k->c->param[i]);
	free(all.item);
}
