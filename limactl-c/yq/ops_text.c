/* Scalars: tags, numbers from texts, texts from numbers, case, trim, split. */
#include <ctype.h>
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/number.h"

static struct yq_node *tag(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	static const char *const word[] = {
		[YQ_TAG_NONE] = "", [YQ_STR] = "!!str",   [YQ_INT] = "!!int",      [YQ_FLOAT] = "!!float",
		[YQ_BOOL] = "!!bool", [YQ_NULL] = "!!null", [YQ_TAG_LIST] = "!!seq", [YQ_TAG_MAP] = "!!map",
	};

	(void)c;
	(void)x;
	return yq_at(n, yq_word(r, YQ_STR, word[n->tag]));
}

static struct yq_ctx run_tag(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, tag);
}

static struct yq_node *kind(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	static const char *const word[] = { [YQ_SCALAR] = "scalar", [YQ_LIST] = "seq", [YQ_MAP] = "map" };

	(void)c;
	(void)x;
	return yq_at(n, yq_word(r, YQ_STR, word[n->shape]));
}

static struct yq_ctx run_kind(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, kind);
}

static struct yq_node *to_number(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	int64_t whole;
	double d;

	(void)c;
	(void)x;
	if (n->shape == YQ_SCALAR && (n->tag == YQ_INT || n->tag == YQ_FLOAT))
		return n;
	if (n->shape == YQ_SCALAR && yq_parse_int(n->text, &whole, NULL))
		return yq_at(n, yq_scalar(r, YQ_INT, n->text, n->len));
	if (n->shape == YQ_SCALAR && yq_parse_float(n->text, &d))
		return yq_at(n, yq_scalar(r, YQ_FLOAT, n->text, n->len));
	yq_fail(r, "\"%.60s\" is no number", n->text);
	return NULL;
}

static struct yq_ctx run_to_number(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, to_number);
}

static struct yq_node *to_string(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out;

	(void)c;
	(void)x;
	if (n->shape != YQ_SCALAR) {
		yq_fail(r, "tostring of %s is not supported", yq_tag_word(n->tag));
		return NULL;
	}
	out = yq_at(n, yq_scalar(r, YQ_STR, n->text, n->len));
	if (n->tag != YQ_STR)
		out->style = YN_DOUBLE;
	return out;
}

static struct yq_ctx run_to_string(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, to_string);
}

static bool must_be_text(struct yq_run *r, const struct yq_node *n, const struct yq_exp *x)
{
	if (n->shape == YQ_SCALAR && n->tag == YQ_STR)
		return true;
	yq_fail(r, "%s works on texts, not on %s", x->op->name, yq_tag_word(n->tag));
	return false;
}

/* n with another text; its quotes stay. */
static struct yq_node *rewritten(struct yq_run *r, struct yq_node *n, const char *text, size_t len)
{
	struct yq_node *out = yq_at(n, yq_scalar(r, YQ_STR, text, len));

	out->style = n->style;
	return out;
}

static struct yq_node *change_case(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	char *text;

	(void)c;
	if (!must_be_text(r, n, x))
		return NULL;
	text = yn_strndup(r->pool, n->text, n->len);
	for (size_t i = 0; i < n->len; i++) {
		if ((unsigned char)text[i] >= 0x80)
			yq_fail(r, "%s is supported for ASCII letters only", x->op->name);
		else if (x->flags & YQ_UPPER)
			text[i] = (char)toupper(text[i]);
		else
			text[i] = (char)tolower(text[i]);
	}
	return rewritten(r, n, text, n->len);
}

static struct yq_ctx run_case(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, change_case);
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct yq_node *trim(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	size_t from = 0, to = n->len;

	(void)c;
	if (!must_be_text(r, n, x))
		return NULL;
	while (from < to && is_blank(n->text[from]))
		from++;
	while (from < to && is_blank(n->text[to - 1]))
		to--;
	/* Some of these are spaces for yq. */
	if (from < to && ((unsigned char)n->text[from] >= 0x80 || (unsigned char)n->text[to - 1] >= 0x80))
		yq_fail(r, "trim is supported for texts that begin and end with ASCII only");
	return rewritten(r, n, n->text + from, to - from);
}

static struct yq_ctx run_trim(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, trim);
}

struct yq_node *yq_split(struct yq_run *r, const struct yq_node *n, const char *separator, size_t len)
{
	struct yq_node *out = yq_collection(r, YQ_LIST);
	const char *p = n->text, *end = n->text + n->len;

	while (n->len && !r->failed) {
		const char *next = len ? memmem(p, (size_t)(end - p), separator, len) : p + text_utf8_length(p);

		if (!next || (!len && next == p))
			next = end;
		yq_add_item(r, out, yq_scalar(r, YQ_STR, p, (size_t)(next - p)));
		if (next == end)
			break;
		p = next + len;
	}
	return out;
}

static struct yq_node *split(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_only(r, c), x->right);
	const struct yq_node *by = yq_first_of(&got);

	if (n->tag == YQ_NULL || r->failed || !must_be_text(r, n, x))
		return NULL;
	if (by)
		yq_must_know(r, by, YQ_BY_TEXT);
	return yq_at(n, yq_split(r, n, by ? by->text : "", by ? by->len : 0));
}

static struct yq_ctx run_split(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, split);
}

static struct yq_ctx run_error(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_only(r, c), x->right);
	const struct yq_node *n = yq_first_of(&got);

	yq_fail(r, "error: %.500s", n ? n->text : "aborted");
	return c;
}

const struct yq_op yq_op_tag = { "tag", 0, 50, false, YQ_BY_TYPE, run_tag };
const struct yq_op yq_op_kind = { "kind", 0, 50, false, YQ_BY_TEXT, run_kind };
const struct yq_op yq_op_to_number = { "to_number", 0, 50, false, YQ_BY_TYPE, run_to_number };
const struct yq_op yq_op_to_string = { "tostring", 0, 50, false, YQ_BY_TYPE, run_to_string };
const struct yq_op yq_op_case = { "upcase, downcase", 0, 50, false, YQ_BY_TYPE, run_case };
const struct yq_op yq_op_trim = { "trim", 0, 50, false, YQ_BY_TYPE, run_trim };
const struct yq_op yq_op_split = { "split", 1, 52, true, YQ_BY_TYPE, run_split };
const struct yq_op yq_op_error = { "error", 1, 50, false, 0, run_error };
