/* emit.c - trees as YAML in block style; for patches, what is an unchanged copy of a parsed value by its own lines, moved to
 * the new indentation. */
#include "limactl-c/yaml/emit.h"

#include <string.h>

#include "limactl-c/yaml/emitter.h"
#include "limactl-c/yaml/slice.h"

enum { LINE_MAX_WIDTH = 100 };

void emit_bytes(struct emitter *m, const char *s, size_t n)
{
	if (buf_add(m->out, s, n) < 0)
		m->failed = true;
}

void emit_str(struct emitter *m, const char *s)
{
	emit_bytes(m, s, strlen(s));
}

void emit_pad(struct emitter *m, size_t columns)
{
	static const char blanks[] = "                                ";

	for (size_t n; columns && !m->failed; columns -= n) {
		n = columns < sizeof(blanks) - 1 ? columns : sizeof(blanks) - 1;
		emit_bytes(m, blanks, n);
	}
}

void emit_line_end(struct emitter *m)
{
	emit_str(m, m->eol);
}

/* What a line of a slice keeps when column bytes of indentation are taken away: an offset in it; SIZE_MAX: it has something
 * else there. */
static size_t kept_part(const char *line, size_t len, size_t column)
{
	size_t blanks = strspn(line, " ");

	if (blanks > len)
		blanks = len;
	if (blanks >= column)
		return column;
	/* Less is usual for empty lines and comments only. */
	return blanks == len || line[blanks] == '#' ? blanks : SIZE_MAX;
}

static bool can_move(const struct slice *s)
{
	const char *text = s->source->text;

	for (size_t at = slice_next_line(s->source, s->from); at < s->to; at = slice_next_line(s->source, at)) {
		if (kept_part(text + at, slice_line_end(s->source, at) - at, s->column) == SIZE_MAX)
			return false;
	}
	return true;
}

/* Lines from an offset on, the first of which is indented already; without the last line end. */
static void put_lines(struct emitter *m, const struct slice *s, size_t from, size_t to, size_t column)
{
	const char *text = s->source->text;

	for (size_t at = from; at < to && !m->failed; at = slice_next_line(s->source, at)) {
		size_t end = slice_line_end(s->source, at), kept;

		if (end > to)
			end = to;
		if (at > from) {
			kept = kept_part(text + at, end - at, s->column);
			emit_line_end(m);
			emit_pad(m, at + kept < end ? column : 0);
			at += kept;
		}
		emit_bytes(m, text + at, end - at);
	}
}

static void put_head(struct emitter *m, const struct slice *s, size_t column)
{
	size_t line = slice_line_start(s->source, s->from);

	if (!s->own_line || s->head >= line)
		return;
	emit_pad(m, column);
	put_lines(m, s, s->head + s->column, slice_line_end(s->source, line - 1), column);
	emit_line_end(m);
}

static void put_entry_head(struct emitter *m, const struct ynode *key, unsigned column)
{
	const struct ynode *from = m->copies ? slice_origin(key) : NULL;
	struct slice s;

	if (from && slice_key(from, &s))
		put_head(m, &s, column);
}

/* The lines an unchanged value can be written by. */
static bool entry_lines(const struct emitter *m, const struct ynode *key, const struct ynode *value, struct slice *s)
{
	const struct ynode *k = m->copies ? slice_origin(key) : NULL, *v = k ? slice_origin(value) : NULL;

	return v && !k->linked && !v->linked && slice_entry(k, v, s) && !slice_is_open(v) && can_move(s);
}

static bool item_lines(const struct emitter *m, const struct ynode *item, struct slice *s)
{
	const struct ynode *v = m->copies ? slice_origin(item) : NULL;

	return v && !v->linked && slice_item(v, s) && !slice_is_open(v) && can_move(s);
}

/* Changed items have comments too, and those between the dash and the first key go above the dash. */
static void put_item_head(struct emitter *m, const struct ynode *item, unsigned column)
{
	const struct ynode *from = m->copies ? yn_origin(item) : NULL;
	struct slice s;

	if (from && slice_dash(from, &s))
		put_head(m, &s, column);
	if (item->kind == YN_MAP && item->count && item->style != YN_FLOW && !item_lines(m, item, &s))
		put_entry_head(m, item->key[0], column);
}

void emit_flow_element(struct emitter *m, const struct ynode *n, size_t i)
{
	if (n->key) {
		emit_scalar(m, n->key[i], ROOM_FLOW_KEY, 0);
		emit_str(m, ": ");
	}
	emit_flow(m, n->item[i]);
}

void emit_flow(struct emitter *m, const struct ynode *n)
{
	bool map = n->kind == YN_MAP;

	if (yn_is_scalar(n)) {
		emit_scalar(m, n, ROOM_FLOW, 0);
		return;
	}
	emit_str(m, map ? "{" : "[");
	for (size_t i = 0; i < n->count && !m->failed; i++) {
		if (i)
			emit_str(m, ", ");
		emit_flow_element(m, n, i);
	}
	emit_str(m, map ? "}" : "]");
}

/* All of it written, or wanted, between brackets. */
static bool is_flow(const struct ynode *n)
{
	if (yn_is_scalar(n) || !n->count)
		return true;
	for (size_t i = 0; n->style == YN_FLOW && i < n->count; i++) {
		if (!is_flow(n->item[i]))
			return false;
	}
	return n->style == YN_FLOW;
}

static bool put_short_flow(struct emitter *m, const struct ynode *n, unsigned column, const char *before)
{
	auto_buf line = BUF_INIT(LINE_MAX_WIDTH);
	struct emitter sub = { .out = &line };

	if (!is_flow(n))
		return false;
	emit_flow(&sub, n);
	if (sub.failed || (n->count && column + line.len > LINE_MAX_WIDTH))
		return false;
	emit_str(m, before);
	emit_bytes(m, line.data, line.len);
	return true;
}

/* The comment between a key and the list or map below it. */
static void put_key_comment(struct emitter *m, const struct ynode *key, const struct ynode *value)
{
	const struct ynode *from = yn_origin(value), *name = m->copies ? slice_origin(key) : NULL;
	const char *hash;
	size_t colon, end;

	if (!name || !from || !slice_is_block(from) || !(colon = slice_colon(name, from)))
		return;
	end = slice_line_end(from->source, colon);
	hash = memchr(from->source->text + colon, '#', end - colon);
	if (!hash || end > from->start)
		return;
	emit_str(m, " ");
	emit_bytes(m, hash, (size_t)(from->source->text + end - hash));
}

static bool is_below(const struct ynode *n)
{
	return !yn_is_scalar(n) && n->count;
}

static void put_entry(struct emitter *m, const struct ynode *key, const struct ynode *value, unsigned column)
{
	struct slice s;

	if (entry_lines(m, key, value, &s)) {
		put_lines(m, &s, s.from, s.to, column);
		return;
	}
	emit_scalar(m, key, ROOM_KEY, 0);
	emit_str(m, ":");
	if (is_below(value))
		put_key_comment(m, key, value);
	emit_value(m, value, column, AFTER_KEY);
}

static void put_item(struct emitter *m, const struct ynode *item, unsigned column)
{
	struct slice s;

	if (item_lines(m, item, &s)) {
		put_lines(m, &s, s.from, s.to, column);
		return;
	}
	emit_str(m, "-");
	emit_value(m, item, column, AFTER_DASH);
}

void emit_element(struct emitter *m, const struct ynode *n, size_t i, unsigned column, bool own_line)
{
	if (own_line && n->key)
		put_entry_head(m, n->key[i], column);
	else if (own_line)
		put_item_head(m, n->item[i], column);
	if (own_line)
		emit_pad(m, column);
	if (n->key)
		put_entry(m, n->key[i], n->item[i], column);
	else
		put_item(m, n->item[i], column);
}

/* The first of a document, or behind a dash, stands where we are. */
static void put_block(struct emitter *m, const struct ynode *n, unsigned column, enum emit_after after)
{
	for (size_t i = 0; i < n->count && !m->failed; i++) {
		if (i || after == AFTER_KEY)
			emit_line_end(m);
		emit_element(m, n, i, column, i || after != AFTER_DASH);
	}
}

void emit_value(struct emitter *m, const struct ynode *n, unsigned column, enum emit_after after)
{
	const char *before = after == AFTER_NOTHING ? "" : " ";
	unsigned inner = after == AFTER_NOTHING ? 0 : column + EMIT_INDENT;

	if (yn_is_scalar(n)) {
		emit_str(m, before);
		emit_scalar(m, n, m->quotes ? ROOM_LINE : ROOM_BLOCK, column + EMIT_INDENT);
		return;
	}
	if (put_short_flow(m, n, column, before))
		return;
	/* Lists are not indented below their key. */
	if (n->kind == YN_LIST && after == AFTER_KEY)
		inner = column;
	if (after == AFTER_DASH)
		emit_str(m, " ");
	put_block(m, n, inner, after);
}

int yn_emit(const struct ynode *root, struct buf *out)
{
	struct emitter m = { .out = out, .eol = "\n" };

	emit_value(&m, root, 0, AFTER_NOTHING);
	emit_line_end(&m);
	return m.failed ? -1 : 0;
}
