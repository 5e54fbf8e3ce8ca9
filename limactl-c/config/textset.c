/* textset.c - one value changed in YAML text by cutting at the places the parser names, then
 * checked by parsing. */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/config.h"
#include "limactl-c/yaml/parse.h"

enum { INDENT_MAX = 64 };

/* The first thing that is wrong becomes the error. */
static const struct ynode *parse(struct yn_pool *p, const char *text, size_t len, struct err *e)
{
	const struct ynode *root = yn_parse_one(p, "template", text, len, e);

	if (root && root->kind != YN_MAP) {
		err_set(e, ERR_INVALID, "template: a mapping of keys to values is needed, not %s", yn_kind_word(root->kind));
		return NULL;
	}
	return root;
}

static size_t find_key(const struct ynode *map, const char *key)
{
	size_t i = 0;

	while (i < map->count && strcmp(map->key[i]->text, key))
		i++;
	return i;
}

/* Whether text means the same as the old tree but for key, which is value now. */
static bool meant(const struct ynode *old, const char *text, size_t len, const char *key,
		  const char *value)
{
	struct err ignored;
	auto_pool p = yn_pool_new();
	const struct ynode *new = parse(p, text, len, &ignored);
	size_t at = new ? find_key(new, key) : 0, others = 0;

	if (!new || at == new->count || !new->item[at]->text || strcmp(new->item[at]->text, value))
		return false;
	for (size_t i = 0; i < old->count; i++) {
		size_t j = find_key(new, old->key[i]->text);

		if (!strcmp(old->key[i]->text, key))
			continue;
		others++;
		if (j == new->count || !yn_same(old->item[i], new->item[j]))
			return false;
	}
	return new->count == others + 1;
}

/* The value as YAML: plain where that is safe, else double-quoted. */
static char *scalar(const char *value)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/";
	char *out, *p;

	if (*value && strspn(value, safe) == strlen(value))
		return xstrdup(value);
	p = out = xmalloc(4 * strlen(value) + 3);
	*p++ = '"';
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c == '"' || c == '\\') {
			*p++ = '\\';
			*p++ = (char)c;
		} else if (c < 0x20 || c == 0x7f) {
			p += snprintf(p, 5, "\\x%02x", c);
		} else {
			*p++ = (char)c;
		}
	}
	*p++ = '"';
	*p = '\0';
	return out;
}

static char *splice(const char *text, size_t len, size_t from, size_t to, const char *middle)
{
	size_t n = strlen(middle);
	char *out = xmalloc(len - (to - from) + n + 1);

	memcpy(out, text, from);
	memcpy(out + from, middle, n);
	memcpy(out + from + n, text + to, len - to);
	out[len - (to - from) + n] = '\0';
	return out;
}

static const char *line_end(const char *text, size_t len)
{
	const char *newline = memchr(text, '\n', len);

	return newline && newline > text && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* A value that is there. */
static char *replace(const char *text, size_t len, const struct ynode *key, const struct ynode *old,
		     const char *value, struct err *e)
{
	size_t from = old->start, to = old->end;
	auto_free char *middle = NULL;

	/* An alias shows the place of its anchor. */
	if (!old->text || old->anchored) {
		err_set(e, ERR_INVALID, "template, line %u: `%s` is %s; change it in the file",
			key->line, key->text,
			old->text ? "shared by an anchor" : yn_kind_word(old->kind));
		return NULL;
	}
	/* A block scalar ends behind its line end; nothing at all begins right behind the colon. */
	middle = xasprintf("%s%s%s", from == to ? " " : "", value,
			   (old->style == YN_LITERAL || old->style == YN_FOLDED) ? line_end(text, len) : "");
	return splice(text, len, from, to, middle);
}

/* A line for a key that is not there: at the end (at_end) or before the first key. */
static char *insert(const char *text, size_t len, const struct ynode *root, const char *key,
		    const char *value, bool at_end)
{
	const struct ynode *first = root->count ? root->key[0] : NULL;
	int indent = first && first->column <= INDENT_MAX ? (int)first->column - 1 : 0;
	size_t at = at_end || !first ? len : first->start;
	const char *end = line_end(text, len);
	bool open_line = at_end && len && text[len - 1] != '\n';
	auto_free char *line = at_end ? xasprintf("%s%*s%s: %s%s", open_line ? end : "", indent, "",
						  key, value, end)
				      : xasprintf("%s: %s%s%*s", key, value, end, indent, "");

	return splice(text, len, at, at, line);
}

char *cfg_text_set(const char *text, size_t len, const char *key, const char *value, struct err *e)
{
	auto_pool p = yn_pool_new();
	const struct ynode *root = parse(p, text, len, e);
	auto_free char *yaml = scalar(value);
	size_t at = root ? find_key(root, key) : 0;
	char *out;

	if (!root)
		return NULL;
	if (root->style == YN_FLOW) {
		err_set(e, ERR_INVALID,
			"the template is one {…} mapping; write one key a line so that `%s` can be set",
			key);
		return NULL;
	}
	if (at < root->count) {
		out = replace(text, len, root->key[at], root->item[at], yaml, e);
		if (!out)
			return NULL;
	} else {
		out = insert(text, len, root, key, yaml, true);
		/* A text that ends in "..." or inside a block scalar cannot be appended to. */
		if (!meant(root, out, strlen(out), key, value)) {
			free(out);
			out = insert(text, len, root, key, yaml, false);
		}
	}
	if (meant(root, out, strlen(out), key, value))
		return out;
	free(out);
	err_set(e, ERR_INVALID,
		"cannot set `%s` in this template without changing something else; edit the file",
		key);
	return NULL;
}
