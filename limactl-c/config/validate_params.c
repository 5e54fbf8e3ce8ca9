/* validate_params.c - rules of param: names, and that each is used somewhere. */
#include <ctype.h>
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

/* Whether what stands before at is within "{{ … }}". */
static bool in_braces(const char *text, const char *at)
{
	while (at-- > text && *at != '}') {
		if (at > text && at[0] == '{' && at[-1] == '{')
			return true;
	}
	return false;
}

/* {{… .Param.NAME …}} or PARAM_NAME, as words of their own. */
static bool text_uses(const char *text, const char *field, const char *variable)
{
	for (const char *p = text; (p = strstr(p, field)); p++) {
		if (!is_word(p[strlen(field)]) && in_braces(text, p))
			return true;
	}
	for (const char *p = text; (p = strstr(p, variable)); p++) {
		if (!is_word(p[strlen(variable)]) && (p == text || !is_word(p[-1])))
			return true;
	}
	return false;
}

static bool tree_uses(const struct ynode *n, const char *field, const char *variable)
{
	if (yn_is_scalar(n))
		return text_uses(n->text, field, variable);
	for (size_t i = 0; i < n->count; i++) {
		if (tree_uses(n->item[i], field, variable))
			return true;
	}
	return false;
}

/* Anywhere but among the parameters themselves. */
static bool is_used(const struct ynode *root, const char *name)
{
	auto_free char *field = xasprintf(".Param.%s", name), *variable = xasprintf("PARAM_%s", name);

	for (size_t i = 0; i < root->count; i++) {
		if (strcmp(root->key[i]->text, "param") && tree_uses(root->item[i], field, variable))
			return true;
	}
	return false;
}

/* Parameters of default.yaml and override.yaml are for some instances, not for each. */
static bool is_of_instance(struct check *k, const char *name)
{
	const struct ynode *param = yn_get(k->c->given, "param");
	size_t at = param ? yn_find(param, name, strlen(name)) : 0;
	const struct yn_source *source = param && at < param->count ? param->key[at]->source : NULL;

	return source && !strcmp(source->name, k->in->instance.name);
}

void check_params(struct check *k)
{
	/* Lima's own, for the guest's network configuration. */
	static const char internal[] = "internal_netplanOptional";

	for (size_t i = 0; i < k->c->params; i++) {
		const struct cfg_env *p = &k->c->param[i];

		if (!name_ok(p->key))
			check_bad_key(k, xasprintf("param.%s", p->key),
				      "is no name of a parameter: a letter, then letters, digits and _");
		else if (!value_ok(p->value))
			check_bad(k, xasprintf("param.%s", p->key), "must not hold line ends or control characters");
		else if (strcmp(p->key, internal) && is_of_instance(k, p->key) && !is_used(k->c->given, p->key))
			check_bad_key(k, xasprintf("param.%s", p->key),
				      "is not used: write {{.Param.%.60s}} or $PARAM_%.60s somewhere, or remove it", p->key,
				      p->key);
	}
}
