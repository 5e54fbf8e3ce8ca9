#include "limactl-c/cli/list.h"

#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/gotmpl/gotmpl.h"
#include "limactl-c/yq/yq.h"

/* Whether the filter gives anything for the instance. */
static int is_kept(const struct list *l, const struct ynode *tree, struct yn_pool *p, struct err *e)
{
	struct yq_result r;

	if (!l->filter)
		return 1;
	if (yq_run(p, l->filter, tree, &r, e) < 0)
		return err_wrap(e, "--filter");
	return r.count > 0;
}

/* Lima leaves them out of JSON, and those that hold nothing else. */
static void drop_empty_maps(struct ynode *n)
{
	for (size_t i = n->count; i-- > 0;) {
		struct ynode *v = n->item[i];

		drop_empty_maps(v);
		if (v->kind == YN_MAP && !v->count)
			yn_remove(n, i);
	}
}

static int print_results(struct list *l, const struct ynode *tree, struct yn_pool *p, struct err *e)
{
	enum print_form form = l->form == LIST_YAML ? PRINT_YAML : l->pretty ? PRINT_JSON_PRETTY : PRINT_JSON;
	struct yq_result r;

	if (yq_run(p, l->yq ? l->yq : ".", tree, &r, e) < 0)
		return err_wrap(e, "--yq");
	for (size_t i = 0; i < r.count && l->form == LIST_JSON; i++)
		drop_empty_maps(r.node[i]);
	if (l->form == LIST_YAML && l->started)
		puts("---");
	return print_nodes(&r, form, e);
}

static int print_template(const struct list *l, const struct ynode *tree, struct yn_pool *p, struct err *e)
{
	const struct gotmpl_options o = { .fold = true, .open = "config", .also = look_unset(tree, p) };
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	unsigned line;

	if (gotmpl_render(l->template, strlen(l->template), tree, &o, &text, &line, e) < 0)
		return err_wrap(e, "--format");
	puts(text.data ? text.data : "");
	return 0;
}

static void warn(const struct look *look)
{
	for (size_t i = 0; i < look->errors; i++)
		say_warn("instance \"%s\": %s", look->inst.name, look->error[i]);
}

static int write_one(struct list *l, const struct look *look, const struct ynode *tree, struct yn_pool *p, struct err *e)
{
	switch (l->form) {
	case LIST_NAMES:
		puts(look->inst.name);
		return 0;
	case LIST_TABLE:
		list_table_add(&l->table, look);
		warn(look);
		return 0;
	case LIST_JSON:
	case LIST_YAML:
		return print_results(l, tree, p, e);
	case LIST_TEMPLATE:
		return print_template(l, tree, p, e);
	}
	return 0;
}

void list_begin(struct list *l)
{
	list_table_begin(&l->table);
}

int list_instance(struct list *l, const char *name, struct err *e)
{
	bool whole = l->filter || l->form > LIST_NAMES;
	auto_pool pool = whole ? yn_pool_new() : NULL;
	const struct ynode *tree = NULL;
	struct look look;
	int rc = 1;

	if (l->form == LIST_NAMES && !whole) {
		puts(name);
		return 0;
	}
	if (look_at(name, pool, &look, e) < 0)
		return -1;
	if (whole) {
		tree = look_tree(&look, pool);
		rc = is_kept(l, tree, pool, e);
	}
	if (rc > 0) {
		rc = write_one(l, &look, tree, pool, e);
		l->started = true;
	}
	look_free(&look);
	return rc;
}

void list_end(struct list *l)
{
	if (l->table.cells)
		list_table_end(&l->table, l->all_fields);
}
