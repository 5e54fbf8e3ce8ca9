/* The functions Lima adds: json, yaml, indent, missing. */
#include <string.h>

#include "limactl-c/gotmpl/functions.h"
#include "limactl-c/yaml/emit.h"

enum { INDENT_MAX = 1000 };

/* Forgets how the tree was written: it is written block by block. */
static void forget_style(struct ynode *n)
{
	n->style = YN_PLAIN;
	for (size_t i = 0; i < n->count; i++) {
		forget_style(n->item[i]);
		if (n->key)
			forget_style(n->key[i]);
	}
}

/* The value as a node for the emitters. */
static const struct ynode *to_node(struct run *r, const struct value *v)
{
	auto_buf text = run_buffer();

	switch (v->kind) {
	case VALUE_NONE:
	case VALUE_NULL:
		return yn_null(r->pool);
	case VALUE_BOOL:
		return yn_bool(r->pool, v->b);
	case VALUE_INT:
		return yn_int(r->pool, v->i);
	case VALUE_FLOAT:
		if (v->node)
			return yn_scalar(r->pool, YN_FLOAT, v->node->text, v->node->len);
		value_print_float(v->f, &text);
		return yn_scalar(r->pool, YN_FLOAT, text.data, text.len);
	case VALUE_STRING:
		return yn_scalar(r->pool, YN_STRING, v->s, v->len);
	default:
		return v->node;
	}
}

int call_json(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	auto_buf b = run_buffer();

	(void)f, (void)n;
	return yn_json(to_node(r, v), 0, &b) < 0 ? run_no_room(r) : run_string(r, &b, out);
}

int call_yaml(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	struct ynode *plain = yn_copy(r->pool, to_node(r, v));
	auto_buf b = run_buffer();

	(void)f, (void)n;
	if (plain->kind == YN_LIST || plain->kind == YN_MAP)
		forget_style(plain);
	if (buf_adds(&b, "---\n") < 0 || yn_emit(plain, &b) < 0)
		return run_no_room(r);
	if (b.data[b.len - 1] == '\n')
		b.len--;
	return run_string(r, &b, out);
}

/* The text, which is the last argument, and what stands before it, if anything. */
static int take_text(struct run *r, const struct function *f, const struct value *v, size_t n, enum value_kind first,
		     const struct value **text)
{
	*text = &v[n - 1];
	if (n == 2 && v->kind != first)
		return run_fail(r, "%s takes %s before the text, not %s", f->name,
				first == VALUE_INT ? "a whole number" : "a text", value_word(v));
	if ((*text)->kind != VALUE_STRING)
		return run_fail(r, "%s takes a text, not %s", f->name, value_word(*text));
	return 0;
}

/* Spaces before every line that is not empty. */
int call_indent(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	auto_buf b = run_buffer();
	const struct value *text;
	int64_t size = n == 2 ? v->i : 2;

	if (take_text(r, f, v, n, VALUE_INT, &text) < 0)
		return -1;
	if (size < 0 || size > INDENT_MAX)
		return run_fail(r, "indent takes 0 to %d spaces, not %lld", INDENT_MAX, (long long)size);
	for (size_t at = 0; at < text->len;) {
		const char *line = text->s + at, *end = memchr(line, '\n', text->len - at);
		size_t len = end ? (size_t)(end - line) + 1 : text->len - at;

		if ((*line != '\n' && buf_addf(&b, "%*s", (int)size, "") < 0) || buf_add(&b, line, len) < 0)
			return run_no_room(r);
		at += len;
	}
	return run_string(r, &b, out);
}

/* The text, or what is said instead of an empty one. */
int call_missing(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	const struct value *text;

	if (take_text(r, f, v, n, VALUE_STRING, &text) < 0)
		return -1;
	*out = text->len ? *text : n == 2 ? v[0] : value_string("<missing>", 9);
	return 0;
}
