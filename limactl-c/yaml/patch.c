/* patch.c - the smallest edits first; what they do not get right is written anew in larger parts. */
#include "limactl-c/yaml/patch.h"

#include <string.h>

#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patcher.h"

bool patch_value(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot)
{
	size_t edits = p->edits.count;
	bool deeper = was->kind == now->kind && was->count && now->count && !was->aliased && spot->depth < p->depth;

	if (yn_same(was, now) && !(p->expand && was->linked))
		return true;
	if (deeper && (was->style == YN_FLOW ? patch_flow : patch_block)(p, was, now, spot))
		return true;
	p->edits.count = edits;
	/* A whole document written anew would lose every comment between its values. */
	if (deeper && spot->after == AFTER_NOTHING && !spot->flow && was->style != YN_FLOW)
		return false;
	return patch_replace(p, was, now, spot);
}

/* Where lines can be put in: behind the last comment, or line of the document's head, from this line on; line itself when there
 * is none. */
static size_t last_line(const struct yn_source *source, size_t line, const char *head)
{
	size_t end = line;

	for (; line < source->len; line = slice_next_line(source, line)) {
		size_t word = line + strspn(source->text + line, " \t\r");

		if (source->text[word] && strchr(head, source->text[word]))
			end = slice_line_end(source, line);
		else if (source->text[word] != '\n')
			break;
	}
	return end;
}

size_t patch_document_end(const struct yn_source *source, size_t at)
{
	size_t next = slice_next_line(source, at), end = last_line(source, next, "#");

	return end > next ? end : slice_line_end(source, at);
}

/* A text without any value. */
static void patch_nothing(struct patcher *p, const struct ynode *now)
{
	size_t mark = slice_mark(p->source), at = last_line(p->source, mark, "#%-");
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(p, &text);

	if (at > mark)
		emit_line_end(&m);
	emit_value(&m, now, 0, AFTER_NOTHING);
	if (at == mark)
		emit_line_end(&m);
	patch_put(p, at, at, &text);
}

static bool says(const struct buf *text, const struct ynode *now)
{
	auto_pool pool = yn_pool_new();
	struct findings f = { 0 };
	const struct ynode *got = yn_parse(pool, "", text->data ? text->data : "", text->len, &f);
	bool same = got && !f.errors && yn_same(got, now);

	findings_fini(&f);
	return same;
}

/* Of empty lines below a text that ends with some of its own, or may do so where a value is taken away, nothing is left; below
 * others, they are empty. */
static void trim_below(struct patcher *p)
{
	const struct yn_source *s = p->source;

	for (size_t i = 0, count = p->edits.count; i < count; i++) {
		struct edit one = p->edits.item[i];
		size_t line = one.to == slice_line_start(s, one.to) ? one.to : slice_next_line(s, one.to);
		bool whole = !one.len || one.text[one.len - 1] == '\n';

		for (; line < s->len; line = slice_next_line(s, line)) {
			size_t blanks = strspn(s->text + line, " \t");

			if (line + blanks < s->len && !strchr("\r\n", s->text[line + blanks]))
				break;
			yn_edits_add(&p->edits, line, whole ? slice_next_line(s, line) : line + blanks, "", 0);
		}
	}
}

static bool attempt(struct patcher *p, const struct ynode *was, const struct ynode *now, struct buf *result)
{
	struct spot root = { .after = AFTER_NOTHING, .hook = was->start };
	bool ok = true;

	p->edits.count = 0;
	buf_free(result);
	if (was->start == was->end && !yn_same(was, now))
		patch_nothing(p, now);
	else
		ok = patch_value(p, was, now, &root);
	if (p->trims)
		trim_below(p);
	if (!ok || !yn_edits_apply(&p->edits, p->source->text, p->source->len, result))
		return false;
	if (says(result, now))
		return true;
	/* A block scalar at the end may need the line end that the text does not have. */
	return result->len && result->data[result->len - 1] != '\n' && buf_adds(result, p->eol) == 0 && says(result, now);
}

static const char *line_end_of(const struct yn_source *s)
{
	const char *newline = memchr(s->text, '\n', s->len);

	return newline && newline > s->text && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* The path of the first value that differs, and its place in the old text. */
static struct place first_difference(const struct ynode *was, const struct ynode *now, struct buf *path)
{
	struct place at = yn_place(was);
	bool map = was->kind == YN_MAP;

	while (was->kind == now->kind && !yn_is_scalar(was)) {
		size_t i = 0;

		while (i < was->count && i < now->count && yn_same(was->item[i], now->item[i]) &&
		       (!map || yn_same(was->key[i], now->key[i])))
			i++;
		if (i == was->count && i == now->count)
			break;
		if (map)
			buf_addf(path, "%s%s", path->len ? "." : "", (i < now->count ? now : was)->key[i]->text);
		else
			buf_addf(path, "[%zu]", i);
		if (i == was->count || i == now->count || (map && !yn_same(was->key[i], now->key[i])))
			break;
		was = was->item[i];
		now = now->item[i];
		at = yn_place(was);
		map = was->kind == YN_MAP;
	}
	return at;
}

static int refuse(const struct ynode *was, const struct ynode *now, struct err *e)
{
	auto_buf path = BUF_INIT(500);
	struct place at = first_difference(was, now, &path);

	return err_set(e, ERR_INVALID, "%s:%u: `%s` cannot be changed without changing something else; edit the file",
		       at.file, at.line, path.data ? path.data : ".");
}

int yn_patch(const struct ynode *was, const struct ynode *now, struct buf *out, struct err *e)
{
	static const struct {
		bool trims, quotes, expand, copies;
		unsigned depth;
	} attempts[] = {
		{ false, false, false, true, YN_DEPTH_MAX },
		{ true, false, false, true, YN_DEPTH_MAX },
		{ true, true, false, true, YN_DEPTH_MAX },
		{ true, false, true, true, YN_DEPTH_MAX },
		{ true, false, true, false, YN_DEPTH_MAX },
		{ true, false, true, false, 3 },
		{ true, false, true, false, 2 },
		{ true, false, true, false, 1 },
	};
	auto_pool pool = yn_pool_new();
	struct patcher p = { .pool = pool, .source = was->source, .eol = line_end_of(was->source) };
	auto_buf result = BUF_INIT(YN_TEXT_MAX);
	bool done = false;

	for (size_t i = 0; !done && i < sizeof(attempts) / sizeof(*attempts); i++) {
		p.trims = attempts[i].trims;
		p.quotes = attempts[i].quotes;
		p.expand = attempts[i].expand;
		p.copies = attempts[i].copies;
		p.depth = attempts[i].depth;
		done = attempt(&p, was, now, &result);
	}
	yn_edits_free(&p.edits);
	if (!done)
		return refuse(was, now, e);
	if (buf_add(out, result.data, result.len) < 0)
		return err_set(e, ERR_INVALID, "%s: the text would become too large", was->source->name);
	return 0;
}
