/* The functions of Go's templates, and the table of all. */
#include "limactl-c/gotmpl/functions.h"

#include <string.h>

enum { BYTES_A_STEP = 4096 };

struct buf run_buffer(void)
{
	return (struct buf)BUF_INIT(STRING_MAX);
}

int run_string(struct run *r, const struct buf *b, struct value *out)
{
	if (yn_pool_size(r->pool) + b->len > POOL_MAX)
		return run_no_room(r);
	*out = value_string(yn_strndup(r->pool, b->data ? b->data : "", b->len), b->len);
	return 0;
}

static bool is_nothing(const struct value *v)
{
	return v->kind == VALUE_NONE || v->kind == VALUE_NULL;
}

static int call_not(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	(void)r, (void)f, (void)n;
	*out = value_bool(!value_truth(v));
	return 0;
}

/* Long texts cost steps too. */
static bool same_text(struct run *r, const struct value *a, const struct value *b)
{
	r->steps += a->len / BYTES_A_STEP;
	return a->len == b->len && (!a->len || !memcmp(a->s, b->s, a->len));
}

static int equal(struct run *r, const struct function *f, const struct value *a, const struct value *b, bool *out)
{
	*out = false;
	if (is_nothing(a) || is_nothing(b)) {
		*out = is_nothing(a) && is_nothing(b);
		return 0;
	}
	if (a->kind != b->kind)
		return run_fail(r, "%s cannot compare %s with %s", f->name, value_word(a), value_word(b));
	switch (a->kind) {
	case VALUE_BOOL:
		*out = a->b == b->b;
		return 0;
	case VALUE_INT:
		*out = a->i == b->i;
		return 0;
	case VALUE_FLOAT:
		*out = a->f == b->f;
		return 0;
	case VALUE_STRING:
		*out = same_text(r, a, b);
		return 0;
	default:
		return run_fail(r, "%s cannot compare two values that are %s", f->name, value_word(a));
	}
}

/* The first with each of the others. */
static int call_eq(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	bool same = false;

	for (size_t i = 1; i < n && !same; i++) {
		if (equal(r, f, &v[0], &v[i], &same) < 0)
			return -1;
	}
	*out = value_bool(same != (*f->name == 'n'));
	return 0;
}

static int less(struct run *r, const struct function *f, const struct value *a, const struct value *b, bool *out)
{
	size_t shorter = a->len < b->len ? a->len : b->len;
	int c;

	if (a->kind != b->kind)
		return run_fail(r, "%s cannot compare %s with %s", f->name, value_word(a), value_word(b));
	switch (a->kind) {
	case VALUE_INT:
		*out = a->i < b->i;
		return 0;
	case VALUE_FLOAT:
		*out = a->f < b->f;
		return 0;
	case VALUE_STRING:
		r->steps += shorter / BYTES_A_STEP;
		c = shorter ? memcmp(a->s, b->s, shorter) : 0;
		*out = c < 0 || (!c && a->len < b->len);
		return 0;
	default:
		return run_fail(r, "%s compares numbers and texts, not %s", f->name, value_word(a));
	}
}

/* lt, le, gt, ge, made of "less" and "equal" as Go does, which shows with NaN. */
static int call_order(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	bool greater = f->name[0] == 'g', or_equal = f->name[1] == 'e', truth = false, same = false;

	(void)n;
	if (less(r, f, &v[0], &v[1], &truth) < 0)
		return -1;
	if (!truth && greater != or_equal && equal(r, f, &v[0], &v[1], &same) < 0)
		return -1;
	*out = value_bool((truth || same) != greater);
	return 0;
}

static int call_len(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	(void)f, (void)n;
	if (v->kind != VALUE_STRING && v->kind != VALUE_LIST && v->kind != VALUE_MAP)
		return run_fail(r, "len takes a text, a list or a mapping, not %s", value_word(v));
	*out = value_int((int64_t)(v->kind == VALUE_STRING ? v->len : v->node->count));
	return 0;
}

/* A whole number from 0 to most. */
static int take_index(struct run *r, const struct function *f, const struct value *v, size_t most, size_t *out)
{
	if (v->kind != VALUE_INT)
		return run_fail(r, "%s takes whole numbers as indexes, not %s", f->name, value_word(v));
	if (v->i < 0 || (uint64_t)v->i > most)
		return run_fail(r, "%s: there is no index %lld", f->name, (long long)v->i);
	*out = (size_t)v->i;
	return 0;
}

static int index_map(struct run *r, const struct function *f, const struct value *map, const struct value *key,
		     struct value *out)
{
	size_t i;

	if (key->kind != VALUE_STRING)
		return run_fail(r, "%s takes a text as a mapping's key, not %s", f->name, value_word(key));
	i = yn_find(map->node, key->s, key->len);
	if (i < map->node->count)
		return run_value(r, map->node->item[i], map->open, out);
	*out = map->open ? value_string("", 0) : (struct value){ .kind = VALUE_NULL };
	return 0;
}

static int call_index(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	struct value item = v[0];

	if (is_nothing(&item))
		return run_fail(r, "index of nothing");
	for (size_t i = 1; i < n; i++) {
		struct value of = item;
		size_t at = 0, count = of.kind == VALUE_STRING ? of.len : of.node ? of.node->count : 0;

		if (of.kind == VALUE_MAP) {
			if (index_map(r, f, &of, &v[i], &item) < 0)
				return -1;
			continue;
		}
		if (of.kind != VALUE_LIST && of.kind != VALUE_STRING)
			return run_fail(r, "index takes a list, a mapping or a text, not %s", value_word(&of));
		if (take_index(r, f, &v[i], count, &at) < 0)
			return -1;
		if (at == count)
			return run_fail(r, "index: there is no index %zu", at);
		if (of.kind == VALUE_STRING)
			item = value_int((unsigned char)of.s[at]);
		else if (run_value(r, of.node->item[at], of.open, &item) < 0)
			return -1;
	}
	*out = item;
	return 0;
}

static int call_slice(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	bool text = v->kind == VALUE_STRING;
	size_t count = text ? v->len : v->kind == VALUE_LIST ? v->node->count : 0, at[3] = { 0, count, count };
	struct ynode *list;

	if (!text && v->kind != VALUE_LIST)
		return run_fail(r, "slice takes a list or a text, not %s", value_word(v));
	if (text && n == 4)
		return run_fail(r, "slice of a text takes two indexes, not three");
	for (size_t i = 1; i < n; i++) {
		if (take_index(r, f, &v[i], count, &at[i - 1]) < 0)
			return -1;
	}
	if (at[0] > at[1] || at[1] > at[2])
		return run_fail(r, "slice: %zu, %zu, %zu are not in order", at[0], at[1], at[2]);
	if (text) {
		*out = value_string(v->s + at[0], at[1] - at[0]);
		return 0;
	}
	list = yn_list(r->pool);
	for (size_t i = at[0]; i < at[1]; i++)
		yn_add(r->pool, list, v->node->item[i]);
	return run_value(r, list, v->open, out);
}

/* print, println; html, urlquery: texts are put together as print does. */
static int print_all(struct run *r, const struct value *v, size_t n, bool line, struct buf *b)
{
	for (size_t i = 0; i < n; i++) {
		bool apart = line || (i && v[i].kind != VALUE_STRING && v[i - 1].kind != VALUE_STRING);

		if (i && apart && buf_adds(b, " ") < 0)
			return run_no_room(r);
		if (value_print(&v[i], b, r->e) < 0)
			return -1;
	}
	return line && buf_adds(b, "\n") < 0 ? run_no_room(r) : 0;
}

static int call_print(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	auto_buf b = run_buffer();

	if (print_all(r, v, n, !strcmp(f->name, "println"), &b) < 0)
		return -1;
	return run_string(r, &b, out);
}

static int add_escaped(struct buf *b, unsigned char c, bool html)
{
	static const struct {
		char c;
		const char *text;
	} rows[] = { { '\0', "\xef\xbf\xbd" }, { '"', "&#34;" }, { '\'', "&#39;" },
		     { '&', "&amp;" },	       { '<', "&lt;" },	 { '>', "&gt;" } };

	for (size_t i = 0; html && i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].c == (char)c)
			return buf_adds(b, rows[i].text);
	}
	if (html || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("-_.~", c)))
		return buf_add(b, &c, 1);
	return c == ' ' ? buf_adds(b, "+") : buf_addf(b, "%%%02X", c);
}

static int call_escape(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	auto_buf plain = run_buffer(), escaped = run_buffer();
	struct value shown[ARGUMENTS_MAX];

	for (size_t i = 0; i < n; i++)
		shown[i] = is_nothing(&v[i]) ? value_string("<no value>", 10) : v[i];
	if (print_all(r, shown, n, false, &plain) < 0)
		return -1;
	for (size_t i = 0; i < plain.len; i++) {
		if (add_escaped(&escaped, (unsigned char)plain.data[i], *f->name == 'h') < 0)
			return run_no_room(r);
	}
	return run_string(r, &escaped, out);
}

static int call_refused(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	(void)v, (void)n, (void)out;
	return run_fail(r, "the function %s is not supported", f->name);
}

static const struct function functions[] = {
	{ "and", .takes_none = true, .least = 1, .most = ARGUMENTS_MAX },
	{ "or", .takes_none = true, .least = 1, .most = ARGUMENTS_MAX },
	{ "not", .takes_none = true, .least = 1, .most = 1, .call = call_not },
	{ "eq", .takes_none = true, .least = 2, .most = ARGUMENTS_MAX, .call = call_eq },
	{ "ne", .takes_none = true, .least = 2, .most = 2, .call = call_eq },
	{ "lt", .least = 2, .most = 2, .call = call_order },
	{ "le", .least = 2, .most = 2, .call = call_order },
	{ "gt", .least = 2, .most = 2, .call = call_order },
	{ "ge", .least = 2, .most = 2, .call = call_order },
	{ "len", .least = 1, .most = 1, .call = call_len },
	{ "index", .least = 1, .most = ARGUMENTS_MAX, .call = call_index },
	{ "slice", .least = 1, .most = 4, .call = call_slice },
	{ "print", .most = ARGUMENTS_MAX, .call = call_print },
	{ "println", .most = ARGUMENTS_MAX, .call = call_print },
	{ "printf", .least = 1, .most = ARGUMENTS_MAX, .call = call_printf },
	{ "html", .most = ARGUMENTS_MAX, .call = call_escape },
	{ "urlquery", .most = ARGUMENTS_MAX, .call = call_escape },
	{ "js", .most = ARGUMENTS_MAX, .call = call_refused },
	{ "call", .most = ARGUMENTS_MAX, .call = call_refused },
	{ "json", .lima = true, .least = 1, .most = 1, .call = call_json },
	{ "yaml", .lima = true, .least = 1, .most = 1, .call = call_yaml },
	{ "indent", .lima = true, .least = 1, .most = 2, .call = call_indent },
	{ "missing", .lima = true, .least = 1, .most = 2, .call = call_missing },
};

const struct function *function_find(const struct run *r, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		const struct function *f = &functions[i];

		if (strlen(f->name) == len && !memcmp(f->name, name, len) && !(f->lima && r->go_only))
			return f;
	}
	return NULL;
}
