#include "limactl-c/gotmpl/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/yaml/yscalar.h"

struct value value_bool(bool b)
{
	return (struct value){ .kind = VALUE_BOOL, .b = b };
}

struct value value_int(int64_t i)
{
	return (struct value){ .kind = VALUE_INT, .i = i };
}

struct value value_string(const char *s, size_t len)
{
	return (struct value){ .kind = VALUE_STRING, .s = s, .len = len };
}

static int parse_int(const struct ynode *n, int64_t *out, struct err *e)
{
	if (!yscalar_int(n->text, out))
		return err_set(e, ERR_INVALID, "%.40s is too large: whole numbers have 64 bits", n->text);
	return 0;
}

static double parse_float(const char *text)
{
	const char *p = text + (*text == '+' || *text == '-');

	if (*p == '.' && (p[1] == 'i' || p[1] == 'I'))
		return *text == '-' ? -INFINITY : INFINITY;
	return *p == '.' && (p[1] == 'n' || p[1] == 'N') ? NAN : strtod(text, NULL);
}

int value_of(const struct ynode *n, struct value *out, struct err *e)
{
	static const enum value_kind kind[] = {
		[YN_NULL] = VALUE_NULL,     [YN_BOOL] = VALUE_BOOL, [YN_INT] = VALUE_INT, [YN_FLOAT] = VALUE_FLOAT,
		[YN_STRING] = VALUE_STRING, [YN_LIST] = VALUE_LIST, [YN_MAP] = VALUE_MAP,
	};

	*out = (struct value){ .kind = kind[n->kind], .node = n };
	switch (n->kind) {
	case YN_BOOL:
		out->b = *n->text == 't' || *n->text == 'T';
		break;
	case YN_INT:
		return parse_int(n, &out->i, e);
	case YN_FLOAT:
		out->f = parse_float(n->text);
		break;
	case YN_STRING:
		out->s = n->text;
		out->len = n->len;
		break;
	default:
		break;
	}
	return 0;
}

bool value_truth(const struct value *v)
{
	switch (v->kind) {
	case VALUE_BOOL:
		return v->b;
	case VALUE_INT:
		return v->i != 0;
	case VALUE_FLOAT:
		return v->f != 0;
	case VALUE_STRING:
		return v->len > 0;
	case VALUE_LIST:
	case VALUE_MAP:
		return v->node->count > 0;
	default:
		return false;
	}
}

const char *value_word(const struct value *v)
{
	static const char *const word[] = {
		[VALUE_NONE] = "nothing",   [VALUE_NULL] = "null", [VALUE_BOOL] = "true or false", [VALUE_INT] = "a whole number",
		[VALUE_FLOAT] = "a number", [VALUE_STRING] = "text", [VALUE_LIST] = "a list",      [VALUE_MAP] = "a mapping",
	};

	return word[v->kind];
}

static int full(int rc, struct err *e)
{
	return rc < 0 ? err_set(e, ERR_INVALID, "the text becomes too long") : 0;
}

int value_print_float(double f, struct buf *out)
{
	char text[32];

	if (isnan(f) || isinf(f))
		return buf_adds(out, isnan(f) ? "NaN" : f > 0 ? "+Inf" : "-Inf");
	yscalar_float(f, text);
	return buf_adds(out, text);
}

struct sorting {
	const struct ynode *key;
	size_t at;
};

static int by_bytes(const void *a, const void *b)
{
	const struct ynode *x = ((const struct sorting *)a)->key, *y = ((const struct sorting *)b)->key;
	int c = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return c ? c : (x->len > y->len) - (x->len < y->len);
}

size_t *value_sorted(struct yn_pool *p, const struct ynode *map)
{
	size_t *out = yn_alloc(p, (map->count + 1) * sizeof(*out));
	struct sorting *s = yn_alloc(p, (map->count + 1) * sizeof(*s));

	for (size_t i = 0; i < map->count; i++)
		s[i] = (struct sorting){ map->key[i], i };
	qsort(s, map->count, sizeof(*s), by_bytes);
	for (size_t i = 0; i < map->count; i++)
		out[i] = s[i].at;
	return out;
}

static int print_node(const struct ynode *n, struct buf *out, struct err *e)
{
	struct value v;

	return value_of(n, &v, e) < 0 ? -1 : value_print(&v, out, e);
}

static int print_list(const struct ynode *list, struct buf *out, struct err *e)
{
	if (full(buf_adds(out, "["), e) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		if ((i && full(buf_adds(out, " "), e) < 0) || print_node(list->item[i], out, e) < 0)
			return -1;
	}
	return full(buf_adds(out, "]"), e);
}

static int print_map(const struct ynode *map, struct buf *out, struct err *e)
{
	auto_pool p = yn_pool_new();
	const size_t *order = value_sorted(p, map);

	if (full(buf_adds(out, "map["), e) < 0)
		return -1;
	for (size_t i = 0; i < map->count; i++) {
		const struct ynode *key = map->key[order[i]];

		if ((i && full(buf_adds(out, " "), e) < 0) || full(buf_add(out, key->text, key->len), e) < 0 ||
		    full(buf_adds(out, ":"), e) < 0 || print_node(map->item[order[i]], out, e) < 0)
			return -1;
	}
	return full(buf_adds(out, "]"), e);
}

int value_print(const struct value *v, struct buf *out, struct err *e)
{
	switch (v->kind) {
	case VALUE_BOOL:
		return full(buf_adds(out, v->b ? "true" : "false"), e);
	case VALUE_INT:
		return full(buf_addf(out, "%" PRId64, v->i), e);
	case VALUE_FLOAT:
		return full(value_print_float(v->f, out), e);
	case VALUE_STRING:
		return full(buf_add(out, v->s, v->len), e);
	case VALUE_LIST:
		return print_list(v->node, out, e);
	case VALUE_MAP:
		return print_map(v->node, out, e);
	default:
		return full(buf_adds(out, "<nil>"), e);
	}
}
