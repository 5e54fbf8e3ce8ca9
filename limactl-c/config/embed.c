#include "limactl-c/config/embed.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/config/merge.h"
#include "limactl-c/yaml/parse.h"

enum { BASES_MAX = 256, DEPTH_MAX = 32, LONG_LINE = 65000 };

struct seen {
	char *locator, *by; /* by whom it was named */
};
struct work {
	struct yn_pool *p;
	const struct embed *how;
	struct seen seen[BASES_MAX];
	size_t count;
	size_t bytes, nodes; /* read so far */
};

/* A template on the way from the one that is embedded to the base that is read. */
struct level {
	const char *locator;
	const struct level *up;
	unsigned depth;
};

static void work_fini(struct work *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->seen[i].locator);
		free(w->seen[i].by);
	}
}

/* Says where the locator at n stands. */
static int wrap(const struct ynode *n, const char *key, struct err *e)
{
	struct place at = yn_place(n);

	return at.file ? err_wrap(e, "%.300s:%u:%u: %s", at.file, at.line, at.column, key) : err_wrap(e, "%s", key);
}

static int bad(const struct ynode *n, const char *key, const char *what, struct err *e)
{
	err_set(e, ERR_INVALID, "%s", what);
	return wrap(n, key, e);
}

/* The word of a locator: itself, or url of a map, whose digest is given too (NULL: none). */
static struct ynode *locator_word(struct ynode *n, const char *key, const char **digest, struct err *e)
{
	struct ynode *url = n->kind == YN_MAP ? yn_get(n, "url") : n;
	const struct ynode *d = n->kind == YN_MAP ? yn_get(n, "digest") : NULL;
	bool has_digest = d && d->kind != YN_NULL;

	if (!url || url->kind != YN_STRING || strlen(url->text) != url->len || (has_digest && d->kind != YN_STRING)) {
		bad(n, key, "must be a locator, or a mapping with url and, where wanted, digest", e);
		return NULL;
	}
	*digest = has_digest ? d->text : NULL;
	return url;
}

static int make_absolute(struct yn_pool *p, struct ynode *n, const char *key, const char *locator, struct err *e)
{
	const char *digest;
	struct ynode *word = locator_word(n, key, &digest, e);
	auto_free char *whole = word ? locator_resolve(locator, word->text, e) : NULL;

	if (!whole)
		return word ? wrap(n, key, e) : -1;
	if (!strcmp(whole, word->text))
		return 0;
	word->len = strlen(whole);
	word->text = yn_strndup(p, whole, word->len);
	word->style = YN_PLAIN;
	return 0;
}

static int files_absolute(struct yn_pool *p, const struct ynode *list, const char *key, const char *locator,
			  struct err *e)
{
	for (size_t i = 0; list && list->kind == YN_LIST && i < list->count; i++) {
		struct ynode *file = yn_get(list->item[i], "file");

		if (file && file->kind != YN_NULL && make_absolute(p, file, key, locator, e) < 0)
			return -1;
	}
	return 0;
}

int embed_absolute(struct yn_pool *p, struct ynode *root, const char *locator, struct err *e)
{
	struct ynode *base = yn_get(root, "base");
	bool list = base && base->kind == YN_LIST;
	size_t n = list ? base->count : base && base->kind != YN_NULL;

	for (size_t i = 0; i < n; i++) {
		if (make_absolute(p, list ? base->item[i] : base, "base", locator, e) < 0)
			return -1;
	}
	if (files_absolute(p, yn_get(root, "provision"), "provision[].file", locator, e) < 0)
		return -1;
	return files_absolute(p, yn_get(root, "probes"), "probes[].file", locator, e);
}

static void drop(struct ynode *map, const char *key)
{
	size_t at = yn_find(map, key, strlen(key));

	if (at < map->count)
		yn_remove(map, at);
}

/* base: as a list; NULL when there is none left. A lone one becomes a list when it must. */
static struct ynode *base_list(struct work *w, struct ynode *root)
{
	struct ynode *base = yn_get(root, "base"), *list;

	if (!base || base->kind == YN_NULL || (base->kind == YN_LIST && !base->count)) {
		drop(root, "base");
		return NULL;
	}
	if (base->kind == YN_LIST)
		return base;
	list = yn_list(w->p);
	yn_add(w->p, list, base);
	yn_stand_for(list, base);
	yn_set(w->p, root, "base", list);
	return list;
}

/* Once a template: stays named, those after it must: they win less. */
static int check_rest(const struct ynode *list, struct err *e)
{
	const char *digest;

	for (size_t i = 1; list->kind == YN_LIST && i < list->count; i++) {
		struct ynode *word = locator_word(list->item[i], "base", &digest, e);

		if (!word)
			return -1;
		if (locator_kind(word->text) != LOCATOR_TEMPLATE)
			return bad(list->item[i], "base", "cannot be embedded behind a template: that is not; "
				   "embed all (--embed-all)", e);
	}
	return 0;
}

/* "A -> B -> A" */
static void add_chain(struct buf *b, const struct level *at)
{
	if (at->up)
		add_chain(b, at->up);
	buf_addf(b, "%.200s -> ", at->locator);
}

static int note_seen(struct work *w, const struct level *here, const char *locator, struct err *e)
{
	for (const struct level *l = here; l; l = l->up) {
		auto_buf chain = BUF_INIT(600);

		if (strcmp(l->locator, locator))
			continue;
		add_chain(&chain, here);
		return err_set(e, ERR_INVALID, "is a base of itself: %s%.200s", chain.data ? chain.data : "... ", locator);
	}
	for (size_t i = 0; i < w->count; i++) {
		if (!strcmp(w->seen[i].locator, locator))
			return err_set(e, ERR_INVALID, "%.200s is included twice, first by %.200s; name it once", locator,
				       w->seen[i].by);
	}
	if (w->count == BASES_MAX || here->depth == DEPTH_MAX)
		return err_set(e, ERR_INVALID, "more than %d bases, or %d one in the other", BASES_MAX, DEPTH_MAX);
	w->seen[w->count++] = (struct seen){ xstrdup(locator), xstrdup(here->locator) };
	return 0;
}

/* All texts together are bounded as one is. */
static int count_bytes(struct work *w, const struct buf *text, struct err *e)
{
	w->bytes += text->len;
	return w->bytes <= YN_TEXT_MAX ? 0
				       : err_set(e, ERR_INVALID, "with its bases and files it is larger than %d MiB",
						 YN_TEXT_MAX >> 20);
}

static const struct ynode *read_base(struct work *w, const char *locator, const char *digest, struct err *e)
{
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	auto_free char *label = NULL;
	const struct ynode *base;

	if (locator_read(locator, digest, w->how->reader, &text, e) < 0 || count_bytes(w, &text, e) < 0)
		return NULL;
	label = locator_path(locator, e);
	base = label ? yn_parse_one(w->p, label, text.data ? text.data : "", text.len, e) : NULL;
	if (!base)
		return NULL;
	w->nodes += base->weight;
	if (w->nodes > YN_NODES_MAX)
		return err_set(e, ERR_INVALID, "all bases together have more than %d values", YN_NODES_MAX), NULL;
	if (base->kind != YN_MAP)
		return err_set(e, ERR_INVALID, "%.200s is no template: it must be a mapping, not %s", label,
			       yn_kind_word(base->kind)), NULL;
	return base;
}

static struct ynode *merge_keys(struct work *w, const struct ynode *root, const char *name, struct err *e)
{
	struct findings f = { 0 };
	struct ynode *out = yn_merge_keys(w->p, root, &f);

	if (f.errors) {
		err_set(e, ERR_INVALID, "%.300s:%u:%u: %s", name, f.item[0].at.line, f.item[0].at.column, f.item[0].text);
		out = NULL;
	}
	findings_fini(&f);
	return out;
}

static int embed(struct work *w, struct ynode *root, const struct level *here, struct err *e);

/* base[0] is taken out, and what it gives merged in. */
static int embed_first(struct work *w, struct ynode *root, struct ynode *list, const struct level *here, struct err *e)
{
	const char *digest;
	struct ynode *entry = list->item[0], *word = locator_word(entry, "base", &digest, e), *whole;
	struct level below = { word ? word->text : NULL, here, here->depth + 1 };
	const struct ynode *base;

	if (!word)
		return -1;
	if (note_seen(w, here, word->text, e) < 0)
		return wrap(entry, "base", e);
	base = read_base(w, word->text, digest, e);
	if (!base)
		return wrap(entry, "base", e);
	whole = merge_keys(w, base, below.locator, e);
	if (!whole || embed(w, whole, &below, e) < 0)
		return -1;
	yn_remove(list, 0);
	base_list(w, root);
	base_list(w, whole);
	merge_base(w->p, root, whole);
	return 0;
}

/* The key a file's text goes to; NULL when something is there already, which the check will say. */
static const char *script_key(const struct ynode *entry, bool probe)
{
	static const char *const modes[][2] = { { "data", "content" }, { "yq", "expression" } };
	const struct ynode *mode = yn_get(entry, "mode"), *there;
	const char *key = "script";

	for (size_t i = 0; !probe && mode && mode->text && i < sizeof(modes) / sizeof(*modes); i++) {
		if (!strcmp(mode->text, modes[i][0]))
			key = modes[i][1];
	}
	there = yn_get(entry, key);
	return !there || there->kind == YN_NULL || (!strcmp(key, "script") && there->kind == YN_STRING && !there->len)
		       ? key : NULL;
}

/* Whether YAML can show it as text that people, and Lima, can read back. */
static bool is_shown(const char *text, size_t len)
{
	size_t line = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f || ++line > LONG_LINE)
			return false;
		if (c == '\n')
			line = 0;
	}
	return text_is_utf8(text);
}

static int embed_file(struct work *w, struct ynode *entry, bool probe, struct err *e)
{
	static const char *const names[] = { "provision[].file", "probes[].file" };
	size_t at = yn_find(entry, "file", 4);
	const char *key = script_key(entry, probe), *digest;
	struct ynode *file = entry->item[at], *word, *script;
	auto_buf text = BUF_INIT(YN_TEXT_MAX);

	if (!key || !(word = locator_word(file, names[probe], &digest, e)))
		return key ? -1 : 0;
	if (!w->how->all && locator_kind(word->text) == LOCATOR_TEMPLATE)
		return 0;
	if (locator_read_raw(word->text, digest, w->how->reader, &text, e) < 0 || count_bytes(w, &text, e) < 0)
		return wrap(file, names[probe], e);
	script = yn_scalar(w->p, YN_STRING, text.data ? text.data : "", text.len);
	script->style = !text.len || is_shown(text.data, text.len) ? YN_LITERAL : YN_BINARY;
	yn_stand_for(script, file);
	drop(entry, key);
	at = yn_find(entry, "file", 4);
	word = yn_string(w->p, key);
	yn_stand_for(word, entry->key[at]);
	entry->key[at] = word;
	entry->item[at] = script;
	return 0;
}

static int embed_files(struct work *w, const struct ynode *list, bool probes, struct err *e)
{
	for (size_t i = 0; list && list->kind == YN_LIST && i < list->count; i++) {
		const struct ynode *file = yn_get(list->item[i], "file");

		if (file && file->kind != YN_NULL && embed_file(w, list->item[i], probes, e) < 0)
			return -1;
	}
	return 0;
}

static int first_base(struct ynode *root, struct ynode **word, struct err *e)
{
	struct ynode *base = yn_get(root, "base");
	const char *digest;

	*word = NULL;
	if (!base || base->kind == YN_NULL || (base->kind == YN_LIST && !base->count))
		return 0;
	*word = locator_word(base->kind == YN_LIST ? base->item[0] : base, "base", &digest, e);
	return *word ? 0 : -1;
}

static int embed_bases(struct work *w, struct ynode *root, const struct level *here, struct err *e)
{
	struct ynode *word;

	for (;;) {
		if (first_base(root, &word, e) < 0)
			return -1;
		if (!word) {
			drop(root, "base");
			return 0;
		}
		if (!w->how->all && locator_kind(word->text) == LOCATOR_TEMPLATE)
			return check_rest(yn_get(root, "base"), e);
		if (embed_first(w, root, base_list(w, root), here, e) < 0)
			return -1;
	}
}

/* Makes root stand alone; here is the template it was read from. */
static int embed(struct work *w, struct ynode *root, const struct level *here, struct err *e)
{
	struct ynode *list;

	if (embed_absolute(w->p, root, here->locator, e) < 0)
		return -1;
	if (!here->up && w->how->first) {
		list = base_list(w, root);
		if (!list)
			yn_set(w->p, root, "base", list = yn_list(w->p));
		yn_insert(w->p, list, 0, yn_string(w->p, w->how->first));
	}
	if (embed_bases(w, root, here, e) < 0 || embed_files(w, yn_get(root, "provision"), false, e) < 0)
		return -1;
	return embed_files(w, yn_get(root, "probes"), true, e);
}

static bool names_files(const struct ynode *list)
{
	for (size_t i = 0; list && list->kind == YN_LIST && i < list->count; i++) {
		if (yn_get(list->item[i], "file"))
			return true;
	}
	return false;
}

struct ynode *embed_template(struct yn_pool *p, const struct ynode *root, const char *locator, const struct embed *how,
			     struct err *e)
{
	const char *slash = strrchr(locator, '/');
	struct err ignored;
	/* As a base would name it, so that a loop is seen at once. */
	auto_free char *self = locator_resolve(locator, slash ? slash + 1 : locator, &ignored);
	CLEANUP(work_fini) struct work w = { .p = p, .how = how, .nodes = root->weight };
	struct level top = { self ? self : locator, NULL, 0 };
	struct ynode *out;

	if (root->kind != YN_MAP)
		return err_set(e, ERR_INVALID, "%.200s is no template: it must be a mapping, not %s", locator,
			       yn_kind_word(root->kind)), NULL;
	out = merge_keys(&w, root, top.locator, e);
	if (!out)
		return NULL;
	/* One that stands alone stays as it is written, merge keys too. */
	if (!how->first && !yn_get(out, "base") && !names_files(yn_get(out, "provision")) &&
	    !names_files(yn_get(out, "probes")))
		out = yn_copy(p, root);
	else if (embed(&w, out, &top, e) < 0)
		return NULL;
	return merge_combine(p, out, e) < 0 ? NULL : out;
}
