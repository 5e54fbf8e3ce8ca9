#include "limactl-c/cli/explain.h"

#include <string.h>

#include "limactl-c/yaml/emit.h"

static int value(const struct ynode *n, unsigned depth, struct buf *out);

static int indent(unsigned depth, struct buf *out)
{
	return buf_addf(out, "%*s", (int)depth * 2, "");
}

static int comment(const struct ynode *n, struct buf *out)
{
	struct place at = yn_place(n);

	if (!at.file)
		return buf_adds(out, "  # default\n");
	if (buf_adds(out, "  # ") < 0)
		return -1;
	/* A file may be called anything; the comment must not end early. */
	for (const char *p = at.file; *p; p++)
		if (buf_add(out, (unsigned char)*p < 0x20 || *p == 0x7f ? "?" : p, 1) < 0)
			return -1;
	return buf_addf(out, ":%u\n", at.line);
}

/* Whether the text can stand line by line, as scripts read best; what cannot is quoted in one line. */
static bool is_block(const struct ynode *n)
{
	return n->kind == YN_STRING && yn_literal_possible(n) && strchr(n->text, '\n') && !strchr(" \t\n", *n->text);
}

static const char *chomping(const struct ynode *n)
{
	if (n->text[n->len - 1] != '\n')
		return "-";
	return n->text[n->len - 2] == '\n' ? "+" : "";
}

static int block(const struct ynode *n, unsigned depth, struct buf *out)
{
	if (buf_addf(out, " |%s", chomping(n)) < 0 || comment(n, out) < 0)
		return -1;
	for (const char *line = n->text; *line;) {
		size_t len = strcspn(line, "\n");

		if ((len && indent(depth, out) < 0) || buf_add(out, line, len) < 0 || buf_adds(out, "\n") < 0)
			return -1;
		line += len + (line[len] == '\n');
	}
	return 0;
}

static int scalar(const struct ynode *n, struct buf *out)
{
	if (n->kind == YN_LIST || n->kind == YN_MAP)
		return buf_adds(out, n->kind == YN_LIST ? " []" : " {}");
	return buf_adds(out, " ") < 0 ? -1 : yn_emit_scalar(n, out);
}

/* Members from here on; the first one may stand behind "- ". */
static int members(const struct ynode *n, unsigned depth, bool started, struct buf *out)
{
	for (size_t i = 0; i < n->count; i++) {
		if ((!started && indent(depth, out) < 0) || yn_emit_scalar(n->key[i], out) < 0 || buf_adds(out, ":") < 0)
			return -1;
		started = false;
		if (n->item[i]->count && buf_adds(out, "\n") < 0)
			return -1;
		if (value(n->item[i], depth + 1, out) < 0)
			return -1;
	}
	return 0;
}

static int items(const struct ynode *n, unsigned depth, bool started, struct buf *out)
{
	for (size_t i = 0; i < n->count; i++) {
		const struct ynode *v = n->item[i];

		if ((!started && indent(depth, out) < 0) || buf_adds(out, v->count ? "- " : "-") < 0)
			return -1;
		started = false;
		if ((v->count && v->kind == YN_LIST ? items(v, depth + 1, true, out)
		     : v->count			    ? members(v, depth + 1, true, out)
						    : value(v, depth + 1, out)) < 0)
			return -1;
	}
	return 0;
}

/* Behind "key:" or "-" in the same line, unless it is a collection with something in it. */
static int value(const struct ynode *n, unsigned depth, struct buf *out)
{
	if (n->count)
		return n->kind == YN_LIST ? items(n, depth, false, out) : members(n, depth, false, out);
	if (is_block(n))
		return block(n, depth, out);
	return scalar(n, out) < 0 ? -1 : comment(n, out);
}

int explain(const struct ynode *root, struct buf *out)
{
	if (!root->count)
		return buf_adds(out, "{}\n");
	return value(root, 0, out);
}
