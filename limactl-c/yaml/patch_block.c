/* patch_block.c - entries and items on lines of their own: changed, taken out and put in, each with its comments. */
#include <string.h>

#include "limactl-c/yaml/align.h"
#include "limactl-c/yaml/patcher.h"

/* One collection being changed. */
struct block {
	struct patcher *p;
	const struct ynode *was, *now;
	const struct spot *spot;
	struct slice *at; /* of each of was's values */
	bool *found;      /* the same; one that does not stand as such in its lines can only stay as it is */
	bool *kept;       /* the same */
};

static void find_slices(struct block *b)
{
	const struct ynode *was = b->was;

	b->at = yn_alloc(b->p->pool, was->count * sizeof(*b->at));
	b->found = yn_alloc(b->p->pool, was->count * sizeof(*b->found));
	b->kept = yn_alloc(b->p->pool, was->count * sizeof(*b->kept));
	for (size_t i = 0; i < was->count; i++) {
		b->found[i] = was->key ? slice_entry(was->key[i], was->item[i], &b->at[i])
				       : slice_item(was->item[i], &b->at[i]);
		/* Only the first may stand behind a dash. */
		b->found[i] &= !i || b->at[i].own_line;
	}
}

static bool patch_kept(struct block *b, size_t i, size_t j)
{
	const struct ynode *was = b->was, *value = was->item[i];
	struct spot inner = { .column = (unsigned)b->at[i].column, .depth = b->spot->depth + 1 };

	if (!b->found[i])
		return yn_same(value, b->now->item[j]) && !b->p->expand;
	inner.after = was->key ? AFTER_KEY : AFTER_DASH;
	inner.hook = was->key ? slice_colon(was->key[i], value) : b->at[i].from + 1;
	return patch_value(b->p, value, b->now->item[j], &inner);
}

/* Before the first of the old ones. */
static bool add_before(struct block *b, size_t j)
{
	const struct slice *first = &b->at[0];
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(b->p, &text);

	if (!b->found[0])
		return false;
	emit_element(&m, b->now, j, (unsigned)first->column, first->own_line);
	emit_line_end(&m);
	if (!first->own_line)
		emit_pad(&m, first->column);
	patch_put(b->p, first->head, first->head, &text);
	return !m.failed;
}

/* A block scalar that ends with the text, without a line end, would gain one. */
static void close_scalar(struct block *b, size_t i, size_t j)
{
	const struct ynode *n = b->was->item[i];
	size_t header;

	if (!slice_is_open(n) || !yn_same(n, b->now->item[j]))
		return;
	header = slice_chomping(slice_last(n));
	yn_edits_add(&b->p->edits, header, header + (b->p->source->text[header] == '+'), "-", 1);
}

/* Behind the old one of index last. */
static bool add_behind(struct block *b, size_t j, size_t last)
{
	const struct slice *s = &b->at[last];
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(b->p, &text);
	size_t at = s->to;

	if (!b->found[last])
		return false;
	if (b->spot->after == AFTER_NOTHING && last + 1 == b->was->count)
		at = patch_document_end(b->p->source, s->to);
	emit_line_end(&m);
	emit_element(&m, b->now, j, (unsigned)s->column, true);
	patch_put(b->p, at, at, &text);
	return !m.failed;
}

static bool is_blank_line(const struct yn_source *s, size_t line)
{
	size_t end = slice_line_end(s, line);

	while (line < end && (s->text[line] == ' ' || s->text[line] == '\t'))
		line++;
	return line == end;
}

/* Whole lines, and one of the gaps around them: not two empty lines where one was before and one behind. */
static void remove_lines(struct block *b, size_t i, bool kept_before)
{
	const struct slice *s = &b->at[i];
	const struct yn_source *source = s->source;
	size_t from = s->head, to = slice_next_line(source, s->to), top = slice_mark(source), above = from, gap = top;

	if (above > top)
		above = slice_line_start(source, above - 1);
	if (above == from || is_blank_line(source, above)) {
		while (to < source->len && is_blank_line(source, to))
			to = slice_next_line(source, to);
	}
	/* At the end of the text the gap before goes too, but for blank lines that are a value's own. */
	if (i && b->found[i - 1])
		gap = slice_next_line(source, b->at[i - 1].to);
	while (kept_before && to == source->len && from > gap &&
	       is_blank_line(source, slice_line_start(source, from - 1)))
		from = slice_line_start(source, from - 1);
	yn_edits_add(&b->p->edits, from, to, "", 0);
}

/* The comments of what moves up behind a dash go above the dash. */
static void lift_comments(struct block *b, const struct slice *first, const struct slice *next)
{
	const struct yn_source *source = first->source;
	size_t line = slice_line_start(source, first->from), end = slice_line_start(source, next->from);
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(b->p, &text);

	for (size_t at = next->head; at < end; at = slice_next_line(source, at)) {
		emit_pad(&m, strspn(source->text + line, " "));
		emit_bytes(&m, source->text + at + next->column, slice_next_line(source, at) - at - next->column);
	}
	patch_put(b->p, line, line, &text);
}

static bool remove_one(struct block *b, size_t i, bool kept_before)
{
	const struct slice *s = &b->at[i], *next = s + 1;

	if (!b->found[i])
		return false;
	if (s->own_line) {
		remove_lines(b, i, kept_before);
		return true;
	}
	/* Behind a dash: the next one moves up to it. */
	if (i + 1 >= b->was->count || !b->kept[i + 1] || !b->found[i + 1])
		return false;
	lift_comments(b, s, next);
	yn_edits_add(&b->p->edits, s->from, next->from, "", 0);
	return true;
}

static bool remove_others(struct block *b)
{
	bool kept_before = false;

	for (size_t i = 0; i < b->was->count; i++) {
		kept_before |= b->kept[i];
		if (!b->kept[i] && !remove_one(b, i, kept_before))
			return false;
	}
	return true;
}

bool patch_block(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot)
{
	struct block b = { .p = p, .was = was, .now = now, .spot = spot };
	size_t *of = align(p->pool, was, now), last = ALIGN_NONE;

	find_slices(&b);
	for (size_t j = 0; j < now->count; j++) {
		if (of[j] == ALIGN_NONE) {
			if (last + 1 == was->count && j && of[j - 1] == last)
				close_scalar(&b, last, j - 1);
			if (!(last == ALIGN_NONE ? add_before(&b, j) : add_behind(&b, j, last)))
				return false;
			continue;
		}
		last = of[j];
		b.kept[last] = true;
		if (!patch_kept(&b, last, j))
			return false;
	}
	return remove_others(&b);
}
