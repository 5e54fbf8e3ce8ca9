#include "limactl-c/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/fill.h"
#include "limactl-c/config/load.h"
#include "limactl-c/config/merge.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/vars.h"
#include "limactl-c/yaml/parse.h"

void cfg_free(struct cfg *c)
{
	schema_clear("", c);
	free(c->cpu_type);
	yn_pool_free(c->pool);
	*c = (struct cfg){ 0 };
}

/* One text as a tree; NULL when there is none, or when it is wrong, which is a finding then. */
static struct ynode *read_text(struct yn_pool *p, const struct cfg_text *t, const struct ynode *tree, struct findings *f)
{
	struct ynode *out;
	const struct ynode *root = tree;

	if (!root && t->text)
		root = yn_parse(p, t->name, t->text, t->len, f);
	if (!root)
		return NULL;
	if (root->kind != YN_MAP) {
		finding_error(f, yn_place(root), NULL, "a template is a mapping of keys to values, not %s",
			      yn_kind_word(root->kind));
		return NULL;
	}
	out = yn_merge_keys(p, root, f);
	merge_normalise(p, out);
	return out;
}

/* All texts as one tree; NULL when one of them is wrong. */
static struct ynode *read_texts(struct yn_pool *p, const struct cfg_input *in, struct findings *f)
{
	const struct ynode *defaults = read_text(p, &in->defaults, NULL, f);
	const struct ynode *override = read_text(p, &in->override, NULL, f);
	const struct ynode *instance = read_text(p, &in->instance, in->tree, f);

	if (!instance || (in->defaults.text && !defaults) || (in->override.text && !override))
		return NULL;
	return merge_layers(p, defaults, instance, override);
}

bool cfg_read(const struct cfg_input *in, struct cfg *out, struct findings *f)
{
	size_t errors = f->errors;
	struct cfg c = { .pool = yn_pool_new() };

	*out = (struct cfg){ 0 };
	c.given = read_texts(c.pool, in, f);
	if (c.given) {
		load_moved(&c, f);
		load_given(&c, in->instance.name, in->lenient, f);
	}
	if (c.given && !in->partial) {
		fill_defaults(&c, in->host);
		vars_fill(&c, in, f);
		fill_derived(&c, in);
		validate_values(&c, in->instance.name, f);
		validate_rules(&c, in, f);
		fill_plain(&c);
	}
	if (f->errors > errors || !c.given || in->partial) {
		cfg_free(&c);
		return false;
	}
	*out = c;
	return true;
}
