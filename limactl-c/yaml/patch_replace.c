/* patch_replace.c - one value written anew in its place. */
#include <string.h>

#include "limactl-c/yaml/patcher.h"

/* What an emitter wrote, kept in the patcher's pool. */
struct piece {
	const char *text;
	size_t len;
};

static struct piece keep(struct patcher *p, const struct buf *b)
{
	return (struct piece){ yn_strndup(p->pool, b->len ? b->data : "", b->len), b->len };
}

void patch_put(struct patcher *p, size_t from, size_t to, const struct buf *text)
{
	struct piece piece = keep(p, text);

	yn_edits_add(&p->edits, from, to, piece.text, piece.len);
}

/* Quotes that were there stay, and lines of their own; brackets with nothing between them do not ask for brackets. */
static struct ynode restyled(const struct ynode *was, const struct ynode *now, bool flow)
{
	struct ynode n = *now;

	if (was->kind == YN_STRING && now->kind == YN_STRING && now->style == YN_PLAIN &&
	    (was->style == YN_SINGLE || was->style == YN_DOUBLE))
		n.style = was->style;
	if (now->style == YN_FLOW && !flow &&
	    (slice_is_block(was) ? was->kind == now->kind : was->style == YN_FLOW && !was->count && !slice_origin(now)))
		n.style = YN_PLAIN;
	return n;
}

static void replace_in_flow(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot)
{
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(p, &text);
	size_t from = was->start;

	/* Nothing at all stands right behind its colon, or a key without one. */
	if (from == was->end) {
		while (from > spot->hook && strchr(" \t\r\n", p->source->text[from - 1]))
			from--;
		emit_str(&m, p->source->text[from - 1] == ':' ? " " : ": ");
	}
	emit_flow(&m, now);
	patch_put(p, from, was->end, &text);
}

/* The new value can stand where the old one does: in the same line, or below a comment as the whole of its line. */
static bool fits(const struct patcher *p, const struct spot *spot, const struct ynode *was, bool one_line)
{
	size_t from = spot->hook, len = was->start - spot->hook;
	const char *between = p->source->text + from;

	if (memchr(between, '#', len))
		return one_line && was->end > was->start;
	return len && strspn(between, " ") >= len;
}

/* The first line takes the old value's place, the others follow the line it ends in. */
static void replace_inline(struct patcher *p, const struct ynode *was, const struct spot *spot, struct piece new)
{
	size_t end = slice_end(was), line_end = slice_line_end(p->source, end), first;
	const char *eol = strstr(new.text, p->eol);

	first = eol ? (size_t)(eol - new.text) : new.len;
	if (first && new.text[0] == ' ' && fits(p, spot, was, !eol))
		yn_edits_add(&p->edits, was->start, end, new.text + 1, first - 1);
	else
		yn_edits_add(&p->edits, spot->hook, end, new.text, first);
	if (first < new.len)
		yn_edits_add(&p->edits, line_end, line_end, new.text + first, new.len - first);
}

/* Lines below a key: the key's own comment stays. */
static void replace_block(struct patcher *p, const struct ynode *was, const struct spot *spot, struct piece new)
{
	size_t to = slice_line_end(p->source, slice_end(was)), key_end = slice_line_end(p->source, spot->hook), first;
	const char *eol = strstr(new.text, p->eol);

	first = eol ? (size_t)(eol - new.text) : new.len;
	if (spot->after != AFTER_KEY || key_end > was->start) {
		yn_edits_add(&p->edits, spot->hook, to, new.text, new.len);
		return;
	}
	if (first)
		yn_edits_add(&p->edits, spot->hook, spot->hook, new.text, first);
	yn_edits_add(&p->edits, key_end, to, new.text + first, new.len - first);
}

bool patch_replace(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot)
{
	struct ynode n = restyled(was, now, spot->flow);
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(p, &text);
	struct piece new;

	if (spot->flow) {
		replace_in_flow(p, was, &n, spot);
		return true;
	}
	if (spot->after == AFTER_NOTHING && slice_line_start(p->source, was->start) < was->start)
		emit_line_end(&m); /* behind "---" */
	emit_value(&m, &n, spot->column, spot->after);
	new = keep(p, &text);
	if (slice_is_block(was))
		replace_block(p, was, spot, new);
	else
		replace_inline(p, was, spot, new);
	return !m.failed;
}
