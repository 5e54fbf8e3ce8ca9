#include "limactl-c/gotmpl/gotmpl.h"

#include <stdarg.h>
#include <string.h>

#include "limactl-c/gotmpl/tree.h"

int run_fail(struct run *r, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(r->e, ERR_INVALID, "%s", what);
}

int run_no_room(struct run *r)
{
	return run_fail(r, "the text becomes too long");
}

int run_value(struct run *r, const struct ynode *n, bool open, struct value *out)
{
	if (value_of(n, out, r->e) < 0)
		return -1;
	out->open = open || n == r->open;
	return 0;
}

int run_step(struct run *r)
{
	if (++r->steps > STEPS_MAX)
		return run_fail(r, "the template needs more than %d steps", STEPS_MAX);
	return yn_pool_size(r->pool) > POOL_MAX ? run_no_room(r) : 0;
}

static int render(struct run *r, const char *text, size_t len, const struct ynode *data, struct buf *out)
{
	struct step *steps;
	struct value v;

	if (len > YN_TEXT_MAX)
		return run_fail(r, "a template of more than %d bytes", YN_TEXT_MAX);
	if (template_parse(r, text, len, &steps) < 0)
		return -1;
	r->line = 1;
	return run_value(r, data, false, &v) < 0 ? -1 : template_execute(r, steps, &v, out);
}

int gotmpl_render(const char *text, size_t len, const struct ynode *data, const struct gotmpl_options *o, struct buf *out,
		  unsigned *line, struct err *e)
{
	auto_pool pool = yn_pool_new();
	struct run r = { .pool = pool, .fold = o->fold, .any_missing = o->any_missing, .go_only = o->go_only, .line = 1, .e = e };
	size_t before = out->len;
	int rc;

	r.data = data;
	r.also = o->also;
	r.open = !o->open ? NULL : *o->open ? yn_get(data, o->open) : data;
	rc = render(&r, text, len, data, out);
	if (rc < 0 && out->data) {
		out->len = before;
		out->data[before] = '\0';
	}
	if (rc < 0 && line)
		*line = r.line;
	return rc;
}

bool gotmpl_has_action(const char *text)
{
	return strstr(text, "{{") != NULL;
}
