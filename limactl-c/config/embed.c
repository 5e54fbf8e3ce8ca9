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
	struct findings *f;
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

/* What is wrong with what key says at n. */
static int ERR_FMT(4, 5) bad(struct findings *f, const struct ynode *n, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(f, yn_place(n), key, false, fmt, ap);
	va_end(ap);
	return -1;
}

/* Whether a mapping has no key but those of a locator. One that is misspelt must not be missed: it may be the digest. */
static bool has_only_known(const struct ynode *map, const char *key, struct findings *f)
{
	static const char *const known[] = { "url", "digest" };
	bool all = true;

	for (size_t i = 0; i < map->count; i++) {
		const char *word = map->key[i]->text, *near = text_nearest(word, known, 2);

		if (!strcmp(word, known[0]) || !strcmp(word, known[1]))
			continue;
		bad(f, map->key[i], key, "unknown key `%s`%s%s%s; a locator has url and digest", word,
		    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
		all = false;
	}
	return all;
}

/* The word of a locator: itself, or url of a map, whose digest is given too (NULL: none). */
static struct ynode *locator_word(struct ynode *n, const char *key, const char **digest, struct findings *f)
{
	struct ynode *url = n->kind == YN_MAP ? yn_get(n, "url") : n;
	const struct ynode *d = n->kind == YN_MAP ? yn_get(n, "digest") : NULL;
	bool has_digest = d && d->kind != YN_NULL;

	if (n->kind == YN_MAP && !has_only_known(n, key, f))
		return NULL;
	if (!url || url->kind != YN_STRING || strlen(url->text) != url->len || (has_digest && d->kind != YN_STRING)) {
		bad(f, n, key, "must be a locator, or a mapping with url and, where wanted, digest");
		return NULL;
	}
	*digest = has_digest ? d->text : NULL;
	return url;
}

static int make_absolute(struct yn_pool *p, struct ynode *n, const char *key, const char *locator, struct findings *f)
{
	const char *digest;
	struct err e = { 0 };
	struct ynode *word = locator_word(n, key, &digest, f);
	auto_free char *whole = word ? locator_resolve(locator, word->text, &e) : NULL;

	if (!whole)
		return word ? bad(f, n, key, "%s", e.msg) : -1;
	if (!strcmp(whole, word->text))
		return 0;
	word->len = strlen(whole);
	word->text = yn_strndup(p, whole, word->len);
	word->style = YN_PLAIN;
	return 0;
}

/* The next entry of a list of scripts, from index *i on, that names a file; NULL: there is none. */
static struct ynode *next_with_file(const struct ynode *list, size_t *i)
{
	while (list && list->kind == YN_LIST && *i < list->count) {
		struct ynode *entry = list->item[(*i)++];
		const struct ynode *file = yn_get(entry, "file");

		if (file && file->kind != YN_NULL)
			return entry;
	}
	return NULL;
}

static int files_absolute(struct yn_pool *p, const struct ynode *list, const char *key, const char *locator,
			  struct findings *f)
{
	const struct ynode *entry;
	size_t i = 0;
	int rc = 0;

	while ((entry = next_with_file(list, &i))) {
		if (make_absolute(p, yn_get(entry, "file"), key, locator, f) < 0)
			rc = -1;
	}
	return rc;
}

int embed_absolute(struct yn_pool *p, struct ynode *root, const char *locator, struct findings *f)
{
	struct ynode *base = yn_get(root, "base");
	bool list = base && base->kind == YN_LIST;
	size_t n = list ? base->count : base && base->kind != YN_NULL;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		if (make_absolute(p, list ? base->item[i] : base, "base", locator, f) < 0)
			rc = -1;
	}
	if (files_absolute(p, yn_get(root, "provision"), "provision[].file", locator, f) < 0)
		rc = -1;
	return files_absolute(p, yn_get(root, "probes"), "probes[].file", locator, f) < 0 ? -1 : rc;
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
	struct ynode *base = yn_get(root, "base");

	if (!base || base->kind == YN_NULL || (base->kind == YN_LIST && !base->count)) {
		drop(root, "base");
		return NULL;
	}
	return base->kind == YN_LIST ? base : merge_lone(w->p, root, "base");
}

/* Once a template: stays named, those after it must: they win less. */
static void check_rest(const struct ynode *list, struct findings *f)
{
	const char *digest;

	for (size_t i = 1; list->kind == YN_LIST && i < list->count; i++) {
		struct ynode *word = locator_word(list->item[i], "base", &digest, f);

		if (word && locator_kind(word->text) != LOCATOR_TEMPLATE)
			bad(f, list->item[i], "base",
			    "cannot be embedded behind a template: that is not; embed all (--embed-all)");
	}
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

/* What entry names; every mistake in its text is told. NULL when there is nothing to go on with. */
static const struct ynode *read_base(struct work *w, const struct ynode *entry, const char *locator, const char *digest)
{
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	auto_free char *label = NULL;
	const struct ynode *base;
	struct err e;

	if (locator_read(locator, digest, w->how->reader, &text, &e) < 0 || count_bytes(w, &text, &e) < 0 ||
	    !(label = locator_path(locator, &e))) {
		bad(w->f, entry, "base", "%s", e.msg);
		return NULL;
	}
	base = yn_parse(w->p, label, text.data ? text.data : "", text.len, w->f);
	if (!base)
		return NULL;
	w->nodes += base->weight;
	if (w->nodes > YN_NODES_MAX)
		return bad(w->f, entry, "base", "all bases together have more than %d values", YN_NODES_MAX), NULL;
	if (base->kind != YN_MAP)
		return bad(w->f, entry, "base", "%.200s is no template: it must be a mapping, not %s", label,
			   yn_kind_word(base->kind)), NULL;
	return base;
}

static bool embed(struct work *w, struct ynode *root, const struct level *here);

/* base[0] is taken out, and what it gives merged in. */
static void embed_first(struct work *w, struct ynode *root, struct ynode *list, const struct level *here)
{
	const char *digest;
	struct ynode *entry = list->item[0], *word = locator_word(entry, "base", &digest, w->f), *whole = NULL;
	struct level below = { word ? word->text : NULL, here, here->depth + 1 };
	const struct ynode *base = NULL;
	struct err e;

	if (word && note_seen(w, here, word->text, &e) < 0)
		bad(w->f, entry, "base", "%s", e.msg);
	else if (word)
		base = read_base(w, entry, word->text, digest);
	if (base)
		whole = yn_merge_keys(w->p, base, w->f);
	if (whole && !embed(w, whole, &below))
		whole = NULL;
	yn_remove(list, 0);
	base_list(w, root);
	if (whole) {
		base_list(w, whole);
		merge_base(w->p, root, whole);
	}
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

static void embed_file(struct work *w, struct ynode *entry, bool probe)
{
	static const char *const names[] = { "provision[].file", "probes[].file" };
	size_t at = yn_find(entry, "file", 4);
	const char *key = script_key(entry, probe), *digest;
	struct ynode *file = entry->item[at], *script;
	struct ynode *word = key ? locator_word(file, names[probe], &digest, w->f) : NULL;
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct err e;

	if (!word || (!w->how->all && locator_kind(word->text) == LOCATOR_TEMPLATE))
		return;
	if (locator_read_raw(word->text, digest, w->how->reader, &text, &e) < 0 || count_bytes(w, &text, &e) < 0) {
		bad(w->f, file, names[probe], "%s", e.msg);
		/* Said once, whatever the entry is merged into. */
		drop(entry, "file");
		return;
	}
	script = yn_scalar(w->p, YN_STRING, text.data ? text.data : "", text.len);
	script->style = !text.len || is_shown(text.data, text.len) ? YN_LITERAL : YN_BINARY;
	yn_stand_for(script, file);
	drop(entry, key);
	at = yn_find(entry, "file", 4);
	word = yn_string(w->p, key);
	yn_stand_for(word, entry->key[at]);
	entry->key[at] = word;
	entry->item[at] = script;
}

static void embed_files(struct work *w, const struct ynode *list, bool probes)
{
	struct ynode *entry;
	size_t i = 0;

	while ((entry = next_with_file(list, &i)))
		embed_file(w, entry, probes);
}

/* Whether the first base is one that stays named; a lone one is no list then. */
static bool stays_named(struct work *w, const struct ynode *root)
{
	struct ynode *base = yn_get(root, "base"), *first = base && base->kind == YN_LIST && base->count ? base->item[0] : base;
	const char *digest;
	const struct ynode *word;

	if (w->how->all || !first || (first->kind != YN_STRING && first->kind != YN_MAP))
		return false;
	word = locator_word(first, "base", &digest, w->f);
	return word && locator_kind(word->text) == LOCATOR_TEMPLATE;
}

static void embed_bases(struct work *w, struct ynode *root, const struct level *here)
{
	struct ynode *list;

	while (!stays_named(w, root)) {
		list = base_list(w, root);
		if (!list)
			return;
		embed_first(w, root, list, here);
	}
	check_rest(yn_get(root, "base"), w->f);
}

/* Makes root stand alone; here is the template it was read from. False: what it names is not understood. */
static bool embed(struct work *w, struct ynode *root, const struct level *here)
{
	struct ynode *list;

	if (embed_absolute(w->p, root, here->locator, w->f) < 0)
		return false;
	if (!here->up && w->how->first) {
		list = base_list(w, root);
		if (!list)
			yn_set(w->p, root, "base", list = yn_list(w->p));
		yn_insert(w->p, list, 0, yn_string(w->p, w->how->first));
	}
	embed_bases(w, root, here);
	embed_files(w, yn_get(root, "provision"), false);
	embed_files(w, yn_get(root, "probes"), true);
	return true;
}

static bool names_files(const struct ynode *list)
{
	return next_with_file(list, &(size_t){ 0 });
}

/* Whether there is nothing to read in; merge keys are carried out. */
static bool stands_alone(const struct ynode *root)
{
	return !yn_get(root, "base") && !names_files(yn_get(root, "provision")) && !names_files(yn_get(root, "probes"));
}

struct ynode *embed_template(struct yn_pool *p, const struct ynode *root, const char *locator, const struct embed *how,
			     struct findings *f)
{
	const char *slash = strrchr(locator, '/');
	struct err ignored;
	/* As a base would name it, so that a loop is seen at once. */
	auto_free char *self = locator_resolve(locator, slash ? slash + 1 : locator, &ignored);
	CLEANUP(work_fini) struct work w = { .p = p, .how = how, .f = f, .nodes = root->weight };
	struct level top = { self ? self : locator, NULL, 0 };
	struct findings in_merge_keys = { 0 };
	struct ynode *out = yn_merge_keys(p, root, &in_merge_keys);

	/* One that stands alone stays as it is written, merge keys too. */
	if (!how->first && stands_alone(out)) {
		out = yn_copy(p, root);
	} else {
		if (in_merge_keys.count)
			out = yn_merge_keys(p, root, f); /* now they count */
		embed(&w, out, &top);
	}
	findings_fini(&in_merge_keys);
	merge_combine(p, out, f);
	return out;
}
