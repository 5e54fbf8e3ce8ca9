#include <string.h>

#include "limactl-c/yaml/yscalar.h"
#include "limactl-c/yq/number.h"
#include "limactl-c/yq/tree.h"

static const enum yq_tag tag_of[] = {
	[YN_NULL] = YQ_NULL,   [YN_BOOL] = YQ_BOOL,  [YN_INT] = YQ_INT,     [YN_FLOAT] = YQ_FLOAT,
	[YN_STRING] = YQ_STR, [YN_LIST] = YQ_TAG_LIST, [YN_MAP] = YQ_TAG_MAP,
};
static const enum yn_kind kind_of[] = {
	[YQ_TAG_NONE] = YN_NULL, [YQ_STR] = YN_STRING, [YQ_INT] = YN_INT,       [YQ_FLOAT] = YN_FLOAT,
	[YQ_BOOL] = YN_BOOL,     [YQ_NULL] = YN_NULL,  [YQ_TAG_LIST] = YN_LIST, [YQ_TAG_MAP] = YN_MAP,
};

static bool has_tag(const struct ynode *n)
{
	const char *p;

	if (!n->source || n->end <= n->start)
		return false;
	p = n->source->text + n->start;
	if (*p == '&') {
		p += strcspn(p, " \t\r\n");
		p += strspn(p, " \t\r\n");
	}
	return *p == '!' && p < n->source->text + n->end;
}

/* YAML 1.1 as yq reads it: _ in numbers, 0b and signed or upper-case 0x and 0o, dates, the merge key. */
static bool other_in_yaml11(const struct ynode *n)
{
	const char *p = n->text;
	int64_t whole;
	double d;

	switch (n->kind) {
	case YN_STRING:
		if (!strcmp(p, "<<"))
			return true;
		if (*p == '-' || *p == '+')
			p++;
		if (*p < '0' || *p > '9')
			return false;
		if (p[0] == '0' && p[1] && strchr("xXoObB", p[1]))
			return strspn(p + 2, "0123456789abcdefABCDEF_") == strlen(p + 2);
		if (strchr(p, '_') && strspn(p, "0123456789_.eE+-") == strlen(p))
			return true;
		return strspn(p, "0123456789") == 4 && p[4] == '-';
	case YN_INT:
		/* 089 is a float there. */
		return !yq_parse_int(p, &whole, NULL) ||
		       (p[0] == '0' && strpbrk(p, "89") && strspn(p, "0123456789") == n->len);
	case YN_FLOAT:
		return *p != '.' && p[1] != '.' && !yq_parse_float(p, &d);
	default:
		return false;
	}
}

struct yq_node *yq_import(struct yq_run *r, const struct ynode *n)
{
	struct yq_node *out = yq_word(r, tag_of[n->kind], "");

	out->from = n;
	out->style = n->style;
	if (n->anchored)
		out->marks |= YQ_ANCHORED;
	if (n->aliased)
		out->marks |= YQ_ALIASED;
	r->linked |= n->anchored || n->aliased;
	if (has_tag(n))
		out->marks |= YQ_TAGGED;
	if (yn_is_scalar(n)) {
		out->text = n->text;
		out->len = n->len;
		if (n->source && n->style == YN_PLAIN && other_in_yaml11(n))
			out->marks |= YQ_UNCLEAR;
		return out;
	}
	out->shape = n->kind == YN_MAP ? YQ_MAP : YQ_LIST;
	for (size_t i = 0; i < n->count && !r->failed; i++) {
		struct yq_node *value = yq_import(r, n->item[i]);

		value->parent = out;
		if (n->kind == YN_MAP) {
			value->key = yq_import(r, n->key[i]);
			value->key->parent = out;
			value->key->is_key = true;
			yq_push_child(r, out, value->key);
		} else {
			value->has_index = true;
			value->index = i;
		}
		yq_push_child(r, out, value);
	}
	return out;
}

/* A scalar's kind has to fit its text: 4 / 2 is a float for yq, and written 2. */
static enum yn_kind scalar_kind(struct yq_run *r, const struct yq_node *n)
{
	enum yn_kind kind = kind_of[n->tag], plain = YN_STRING;

	if (kind == YN_STRING)
		return kind;
	(void)yscalar_kind(NULL, true, n->text, n->len, &plain);
	if (plain != kind && !(plain == YN_INT && kind == YN_FLOAT))
		yq_fail(r, "the result \"%.60s\" cannot be written as %s", n->text, yn_kind_word(kind));
	return plain;
}

struct output {
	struct yq_run *r;
	struct yn_pool *pool;
	size_t nodes;
};

static struct ynode *export(struct output *o, const struct yq_node *n, unsigned depth)
{
	struct ynode *out = yn_alloc(o->pool, sizeof(*out));

	if (n->from) {
		*out = *n->from;
		out->origin = yn_origin(n->from);
	} else {
		out->weight = 1;
	}
	out->style = n->style;
	out->item = out->key = NULL;
	out->count = out->room = 0;
	out->kind = n->shape == YQ_MAP ? YN_MAP : n->shape == YQ_LIST ? YN_LIST : scalar_kind(o->r, n);
	if (depth > YN_DEPTH_MAX)
		yq_fail(o->r, "the result is nested more than %d deep", YN_DEPTH_MAX);
	if (++o->nodes > YN_NODES_MAX)
		yq_fail(o->r, "the result holds more than %d values", YN_NODES_MAX);
	if (n->shape == YQ_SCALAR) {
		out->text = yn_strndup(o->pool, n->text, n->len);
		out->len = n->len;
	} else {
		out->text = NULL;
		out->len = 0;
	}
	for (size_t i = 0; i < n->count && !o->r->failed; i++) {
		if (n->shape == YQ_LIST) {
			yn_add(o->pool, out, export(o, n->child[i], depth + 1));
			continue;
		}
		yn_put(o->pool, out, export(o, n->child[i], depth + 1), export(o, n->child[i + 1], depth + 1));
		if (n->child[i]->len > YN_KEY_MAX || memchr(n->child[i]->text, '\0', n->child[i]->len))
			yq_fail(o->r, "a key must be at most %d characters without NUL", YN_KEY_MAX);
		if (2 * out->count != i + 2)
			yq_fail(o->r, "the result has the key \"%.60s\" twice", n->child[i]->text);
		i++;
	}
	return out;
}

struct ynode *yq_export(struct yq_run *r, struct yn_pool *pool, const struct yq_node *n)
{
	struct output o = { r, pool, 0 };

	return export(&o, n, 0);
}
