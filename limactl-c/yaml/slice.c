#include "limactl-c/yaml/slice.h"

#include <string.h>

size_t slice_mark(const struct yn_source *source)
{
	return source->len >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

size_t slice_line_start(const struct yn_source *source, size_t at)
{
	size_t mark = slice_mark(source);

	while (at > mark && source->text[at - 1] != '\n')
		at--;
	return at;
}

size_t slice_line_end(const struct yn_source *source, size_t at)
{
	const char *p = memchr(source->text + at, '\n', source->len - at);
	size_t end = p ? (size_t)(p - source->text) : source->len;

	return p && end > at && source->text[end - 1] == '\r' ? end - 1 : end;
}

size_t slice_next_line(const struct yn_source *source, size_t at)
{
	const char *p = memchr(source->text + at, '\n', source->len - at);

	return p ? (size_t)(p - source->text) + 1 : source->len;
}

static size_t skip_blanks(const struct yn_source *source, size_t at)
{
	while (at < source->len && (source->text[at] == ' ' || source->text[at] == '\t'))
		at++;
	return at;
}

const struct ynode *slice_origin(const struct ynode *n)
{
	if (n->origin)
		return yn_same(n->origin, n) ? n->origin : NULL;
	return n->source ? n : NULL;
}

/* Behind &x and !!t. */
static size_t skip_properties(const struct ynode *n)
{
	const char *text = n->source->text;
	size_t at = n->start;

	while (at < n->end && (text[at] == '&' || text[at] == '!')) {
		while (at < n->end && !strchr(" \t\r\n", text[at]))
			at++;
		while (at < n->end && strchr(" \t\r\n", text[at]))
			at++;
	}
	return at;
}

static bool is_block_scalar(const struct ynode *n)
{
	size_t at;

	if (n->aliased || !n->source || (n->style != YN_LITERAL && n->style != YN_FOLDED && n->style != YN_BINARY))
		return false;
	at = skip_properties(n);
	return at < n->end && (n->source->text[at] == '|' || n->source->text[at] == '>');
}

bool slice_is_block(const struct ynode *n)
{
	return !yn_is_scalar(n) && n->source && !n->aliased && n->style != YN_FLOW && n->count;
}

size_t slice_chomping(const struct ynode *n)
{
	size_t at = skip_properties(n) + 1;

	if (at + 1 < n->end && strchr("+-", n->source->text[at + 1]) && strchr("123456789", n->source->text[at]))
		at++;
	return at;
}

static bool chomps(const struct ynode *n, char how)
{
	size_t at = slice_chomping(n);

	return at < n->end && n->source->text[at] == how;
}

const struct ynode *slice_last(const struct ynode *n)
{
	while (slice_is_block(n))
		n = n->item[n->count - 1];
	return n;
}

size_t slice_end(const struct ynode *n)
{
	const struct ynode *last = slice_last(n);
	const char *text = last->source->text;
	size_t end = last->end, start = last->start;
	bool keep;

	if (!is_block_scalar(last))
		return end;
	keep = chomps(last, '+');
	while (end > start && text[end - 1] == '\n') {
		end -= end - 1 > start && text[end - 2] == '\r' ? 2 : 1;
		if (keep)
			break;
	}
	return end;
}

bool slice_is_open(const struct ynode *n)
{
	const struct ynode *last = slice_last(n);
	const struct yn_source *s = last->source;

	return is_block_scalar(last) && last->end == s->len && s->text[s->len - 1] != '\n' &&
	       !chomps(last, '-');
}

/* In a block collection only "- " of lists around may stand before a key or a dash. Looks no further back than needed: lines
 * between brackets may be long. */
static bool begins_block(struct slice *s)
{
	const char *text = s->source->text;
	size_t top = slice_mark(s->source), line = s->from;

	for (s->own_line = true; line > top && text[line - 1] != '\n'; line--) {
		if (text[line - 1] == '-' && text[line] == ' ' && (line - 1 == top || strchr(" \n", text[line - 2])))
			s->own_line = false;
		else if (text[line - 1] != ' ')
			return false;
	}
	s->column = s->from - line;
	return true;
}

/* Whether a line of the text is one to YAML too, which knows more line breaks: behind one the comment may have ended. */
static bool is_one_line(const struct yn_source *source, size_t line)
{
	static const char *const breaks[] = { "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
	size_t n = slice_line_end(source, line) - line;

	for (size_t i = 0; i < sizeof(breaks) / sizeof(*breaks); i++)
		if (memmem(source->text + line, n, breaks[i], strlen(breaks[i])))
			return false;
	return true;
}

/* Comment lines right above with the same indentation. Those the text begins with are the document's. */
static void find_head(struct slice *s)
{
	const char *text = s->source->text;
	size_t top = slice_mark(s->source), line = slice_line_start(s->source, s->from), above;

	s->head = s->own_line ? line : s->from;
	for (size_t head = s->head; s->own_line && head > top; head = above) {
		above = slice_line_start(s->source, head - 1);
		if (skip_blanks(s->source, above) != above + s->column || text[above + s->column] != '#' ||
		    !is_one_line(s->source, above))
			return;
		s->head = above > top ? above : line;
	}
}

bool slice_key(const struct ynode *key, struct slice *s)
{
	*s = (struct slice){ .source = key->source, .from = key->start };
	if (!begins_block(s))
		return false;
	find_head(s);
	return true;
}

static bool is_dash(const struct yn_source *source, size_t at)
{
	size_t top = slice_mark(source);

	return source->text[at] == '-' && (at == top || strchr(" \n", source->text[at - 1]));
}

/* Back over blanks. */
static size_t unskip_blanks(const struct yn_source *source, size_t at)
{
	size_t top = slice_mark(source);

	while (at > top && (source->text[at - 1] == ' ' || source->text[at - 1] == '\t'))
		at--;
	return at;
}

/* The end of what a line says before its comment. */
static size_t said(const struct yn_source *source, size_t line)
{
	size_t end = slice_line_end(source, line), at;

	for (at = line; at < end; at++) {
		if (source->text[at] == '#' && (at == line || strchr(" \t", source->text[at - 1])))
			break;
	}
	return at;
}

/* In the item's line, or alone in a line above with nothing but comments and empty lines between; SIZE_MAX: nowhere. */
static size_t find_dash(const struct yn_source *source, size_t at)
{
	size_t top = slice_mark(source), line;

	at = unskip_blanks(source, at);
	if (at > top && source->text[at - 1] != '\n')
		return is_dash(source, at - 1) ? at - 1 : SIZE_MAX;
	for (line = at; line > top;) {
		line = slice_line_start(source, line - 1);
		at = unskip_blanks(source, said(source, line));
		if (at > line)
			return is_dash(source, at - 1) ? at - 1 : SIZE_MAX;
	}
	return SIZE_MAX;
}

bool slice_dash(const struct ynode *item, struct slice *s)
{
	*s = (struct slice){ .source = item->source, .from = find_dash(item->source, item->start) };
	if (s->from == SIZE_MAX || !begins_block(s))
		return false;
	find_head(s);
	return true;
}

/* The rest of the line: nothing, or a comment. */
static bool find_tail(const struct ynode *value, struct slice *s)
{
	size_t at;

	s->end = slice_end(value);
	at = skip_blanks(s->source, s->end);
	s->to = slice_line_end(s->source, s->end);
	if (is_block_scalar(slice_last(value))) {
		s->to = s->end;
		return true;
	}
	return at >= s->to || (s->source->text[at] == '#');
}

bool slice_item(const struct ynode *item, struct slice *s)
{
	return slice_dash(item, s) && find_tail(item, s);
}

size_t slice_colon(const struct ynode *key, const struct ynode *value)
{
	const struct yn_source *source = key->source;
	size_t colon, at;

	if (value->source != source || value->start < key->end)
		return 0;
	colon = skip_blanks(source, key->end) + 1;
	if (colon > source->len || source->text[colon - 1] != ':' || value->start < colon)
		return 0;
	if (colon < source->len && !strchr(" \t\r\n", source->text[colon]))
		return 0;
	for (at = colon; at < value->start; at++) {
		if (source->text[at] == '#' && strchr(" \t\n", source->text[at - 1]))
			at = slice_line_end(source, at) - 1;
		else if (!strchr(" \t\r\n", source->text[at]))
			return 0;
	}
	return at == value->start ? colon : 0;
}

bool slice_entry(const struct ynode *key, const struct ynode *value, struct slice *s)
{
	return slice_colon(key, value) && slice_key(key, s) && find_tail(value, s);
}
