#include "limactl-c/yaml/parse.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/yaml/base64.h"
#include "limactl-c/yaml/yscalar.h"

enum { ANCHORS_MAX = 256 };

struct anchor {
	char *name;
	struct ynode *node;
	bool open; /* its end has not been seen */
};
/* What is being built while events come in. */
struct build {
	struct yn_pool *pool;
	const struct yn_source *source;
	const char *text; /* without byte-order mark */
	size_t len, mark; /* mark: bytes of the byte-order mark */
	size_t chars, bytes; /* the last place of libyaml's that was converted: it counts characters */
	struct findings *f;
	struct ynode *root;
	struct ynode *stack[YN_DEPTH_MAX];
	struct ynode *pending_key[YN_DEPTH_MAX]; /* of the map at that depth */
	size_t depth;
	struct anchor *anchor;
	size_t anchors;
	size_t nodes; /* aliases counted each time */
	unsigned documents;
};

static struct place at(const struct build *b, const yaml_mark_t *m)
{
	return (struct place){ b->source->name, (unsigned)m->line + 1, (unsigned)m->column + 1 };
}

/* A character's offset → the byte's in the source. */
static size_t byte_at(struct build *b, size_t chars)
{
	if (chars < b->chars)
		b->chars = b->bytes = 0;
	for (; b->bytes < b->len && (b->chars < chars || ((unsigned char)b->text[b->bytes] & 0xc0) == 0x80); b->bytes++)
		b->chars += ((unsigned char)b->text[b->bytes] & 0xc0) != 0x80;
	return b->mark + b->bytes;
}

static struct ynode *new_node(struct build *b, enum yn_kind kind, enum yn_style style, const yaml_event_t *ev)
{
	struct ynode *n = yn_alloc(b->pool, sizeof(*n));

	n->kind = kind;
	n->style = style;
	n->source = b->source;
	n->line = (unsigned)ev->start_mark.line + 1;
	n->column = (unsigned)ev->start_mark.column + 1;
	n->start = byte_at(b, ev->start_mark.index);
	n->end = byte_at(b, ev->end_mark.index);
	n->weight = 1;
	return n;
}

static int take_key(struct build *b, struct ynode *n)
{
	if (n->kind == YN_LIST || n->kind == YN_MAP || n->style == YN_BINARY) {
		finding_error(b->f, yn_place(n), NULL, "a key must be a word, not %s",
			      n->style == YN_BINARY ? "!!binary" : yn_kind_word(n->kind));
		return -1;
	}
	if (n->len > YN_KEY_MAX || memchr(n->text, '\0', n->len)) {
		finding_error(b->f, yn_place(n), NULL,
			      "a key must be at most %d characters without NUL", YN_KEY_MAX);
		return -1;
	}
	b->pending_key[b->depth - 1] = n;
	return 0;
}

/* Puts a complete value (or an opened collection) where it belongs. */
static int place_node(struct build *b, struct ynode *n)
{
	struct ynode *top = b->depth ? b->stack[b->depth - 1] : NULL, *key;
	size_t earlier;

	if (!top) {
		b->root = n;
		return 0;
	}
	if (top->kind == YN_LIST) {
		yn_add(b->pool, top, n);
		return 0;
	}
	key = b->pending_key[b->depth - 1];
	if (!key)
		return take_key(b, n);
	b->pending_key[b->depth - 1] = NULL;
	earlier = yn_find(top, key->text, key->len);
	if (earlier < top->count) {
		finding_error(b->f, yn_place(key), NULL, "key `%s` is given twice, first on line %u",
			      key->text, top->key[earlier]->line);
		return 0;
	}
	if (top->count == YN_KEYS_MAX) {
		finding_error(b->f, yn_place(key), NULL, "more than %d keys in one mapping", YN_KEYS_MAX);
		return -1;
	}
	yn_put(b->pool, top, key, n);
	return 0;
}

static int count_nodes(struct build *b, size_t n, struct place where)
{
	b->nodes += n;
	if (b->nodes > YN_NODES_MAX) {
		finding_error(b->f, where, NULL, "more than %d values, those repeated by aliases counted",
			      YN_NODES_MAX);
		return -1;
	}
	return 0;
}

static int add_anchor(struct build *b, const yaml_char_t *name, struct ynode *n, bool open)
{
	if (!name)
		return 0;
	if (b->anchors == ANCHORS_MAX) {
		finding_error(b->f, yn_place(n), NULL, "more than %d anchors", ANCHORS_MAX);
		return -1;
	}
	n->anchored = n->linked = true;
	b->anchor = xrealloc_array(b->anchor, b->anchors + 1, sizeof(*b->anchor));
	b->anchor[b->anchors++] = (struct anchor){ xstrdup((const char *)name), n, open };
	return 0;
}

/* Another node that shares what the anchor's holds; its weight goes to the collection it is placed in when that one ends. */
static struct ynode *alias_of(struct build *b, const struct ynode *of, const yaml_event_t *ev)
{
	struct ynode *n = new_node(b, of->kind, of->style, ev), place = *n;

	*n = *of;
	n->line = place.line;
	n->column = place.column;
	n->start = place.start;
	n->end = place.end;
	n->anchored = false;
	n->aliased = n->linked = true;
	return n;
}

static int on_alias(struct build *b, const yaml_event_t *ev)
{
	const char *name = (const char *)ev->data.alias.anchor;

	for (size_t i = b->anchors; i--;) {
		struct anchor *a = &b->anchor[i];

		if (strcmp(a->name, name))
			continue;
		if (a->open) {
			finding_error(b->f, at(b, &ev->start_mark), NULL, "alias *%.60s contains itself",
				      name);
			return -1;
		}
		if (b->depth + a->node->height > YN_DEPTH_MAX) {
			finding_error(b->f, at(b, &ev->start_mark), NULL, "nested more than %d deep",
				      YN_DEPTH_MAX);
			return -1;
		}
		if (count_nodes(b, a->node->weight, at(b, &ev->start_mark)) < 0)
			return -1;
		return place_node(b, alias_of(b, a->node, ev));
	}
	finding_error(b->f, at(b, &ev->start_mark), NULL, "alias *%.60s names no earlier anchor", name);
	return -1;
}

static enum yn_style scalar_style(const yaml_event_t *ev)
{
	switch (ev->data.scalar.style) {
	case YAML_SINGLE_QUOTED_SCALAR_STYLE:
		return YN_SINGLE;
	case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
		return YN_DOUBLE;
	case YAML_LITERAL_SCALAR_STYLE:
		return YN_LITERAL;
	case YAML_FOLDED_SCALAR_STYLE:
		return YN_FOLDED;
	default:
		return YN_PLAIN;
	}
}

static int set_binary(struct build *b, struct ynode *n)
{
	char *bytes = yn_alloc(b->pool, n->len / 4 * 3 + 4);
	long len = base64_decode(n->text, n->len, bytes);

	if (len < 0) {
		finding_error(b->f, yn_place(n), NULL, "what follows !!binary is not base64");
		return -1;
	}
	bytes[len] = '\0';
	n->style = YN_BINARY;
	n->text = bytes;
	n->len = (size_t)len;
	return 0;
}

/* What the scalar says, with its tag. */
static int set_kind(struct build *b, struct ynode *n, const char *tag)
{
	if (tag && !strcmp(tag, "tag:yaml.org,2002:binary"))
		return set_binary(b, n);
	if (yscalar_kind(tag, n->style == YN_PLAIN, n->text, n->len, &n->kind) < 0) {
		finding_error(b->f, yn_place(n), NULL, "tag %.60s is not supported", tag);
		return -1;
	}
	return 0;
}

static int on_scalar(struct build *b, const yaml_event_t *ev)
{
	struct ynode *n = new_node(b, YN_STRING, scalar_style(ev), ev);

	n->len = ev->data.scalar.length;
	n->text = yn_strndup(b->pool, (const char *)ev->data.scalar.value, n->len);
	if (set_kind(b, n, (const char *)ev->data.scalar.tag) < 0)
		return -1;
	if (count_nodes(b, 1, yn_place(n)) < 0 || add_anchor(b, ev->data.scalar.anchor, n, false) < 0)
		return -1;
	return place_node(b, n);
}

/* A tag says more than the brackets or dashes do only when it makes something else of the collection. */
static bool is_usual_tag(const char *tag, enum yn_kind kind)
{
	return !tag || !strcmp(tag, "!") ||
	       !strcmp(tag, kind == YN_LIST ? "tag:yaml.org,2002:seq" : "tag:yaml.org,2002:map");
}

static int on_open(struct build *b, enum yn_kind kind, bool flow, const yaml_char_t *anchor, const yaml_event_t *ev)
{
	struct ynode *n = new_node(b, kind, flow ? YN_FLOW : YN_PLAIN, ev);
	const char *tag = (const char *)(kind == YN_LIST ? ev->data.sequence_start.tag : ev->data.mapping_start.tag);

	if (!is_usual_tag(tag, kind)) {
		finding_error(b->f, yn_place(n), NULL, "tag %.60s is not supported", tag);
		return -1;
	}
	if (b->depth == YN_DEPTH_MAX) {
		finding_error(b->f, yn_place(n), NULL, "nested more than %d deep", YN_DEPTH_MAX);
		return -1;
	}
	if (count_nodes(b, 1, yn_place(n)) < 0 || add_anchor(b, anchor, n, true) < 0 || place_node(b, n) < 0)
		return -1;
	b->pending_key[b->depth] = NULL;
	b->stack[b->depth++] = n;
	return 0;
}

/* A block collection's own end mark is where the next token begins: it ends with its last value. */
static void set_end(struct build *b, struct ynode *n, const yaml_event_t *ev)
{
	n->end = n->style == YN_FLOW ? byte_at(b, ev->end_mark.index) : n->start;
	for (size_t i = 0; i < n->count; i++) {
		if (n->end < n->item[i]->end)
			n->end = n->item[i]->end;
		if (n->key && n->end < n->key[i]->end)
			n->end = n->key[i]->end;
	}
}

static void on_close(struct build *b, const yaml_event_t *ev)
{
	struct ynode *n = b->stack[--b->depth];

	for (size_t i = 0; i < n->count; i++) {
		n->weight += n->item[i]->weight + (n->key ? 1 : 0);
		if (n->height <= n->item[i]->height)
			n->height = n->item[i]->height + 1;
		n->linked |= n->item[i]->linked;
	}
	if (!n->height)
		n->height = 1;
	n->linked |= n->anchored;
	set_end(b, n, ev);
	for (size_t i = 0; i < b->anchors; i++) {
		if (b->anchor[i].node == n)
			b->anchor[i].open = false;
	}
}

static int on_event(struct build *b, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->documents++) {
			finding_error(b->f, at(b, &ev->start_mark), NULL,
				      "a second document begins here; only one is read");
			return -1;
		}
		return 0;
	case YAML_ALIAS_EVENT:
		return on_alias(b, ev);
	case YAML_SCALAR_EVENT:
		return on_scalar(b, ev);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(b, YN_LIST, ev->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
			       ev->data.sequence_start.anchor, ev);
	case YAML_MAPPING_START_EVENT:
		return on_open(b, YN_MAP, ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
			       ev->data.mapping_start.anchor, ev);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_close(b, ev);
		return 0;
	default:
		return 0;
	}
}

/* What to do about the commonest mistakes, which libyaml calls by names of its own. */
static const char *hint(struct build *b, const yaml_parser_t *p)
{
	size_t i = p->error == YAML_READER_ERROR ? b->len : byte_at(b, p->problem_mark.index) - b->mark;
	char c = i < b->len ? b->text[i] : '\0';

	if (c == '\t')
		return "; YAML is indented by spaces, not by tabs";
	if (c && strchr("@`%", c))
		return "; a text that begins so needs quotes";
	return p->problem && strstr(p->problem, "mapping values are not allowed") ?
		       "; indent it as what belongs to it, or quote a text with \": \" in it" : "";
}

static void syntax_error(struct build *b, const yaml_parser_t *p)
{
	struct place where = at(b, &p->problem_mark);

	if (p->error == YAML_READER_ERROR) {
		/* Bad UTF-8 and control characters are found ahead of the scanner, which knows the
		 * offset only. */
		where.line = where.column = 1;
		for (size_t i = 0; i < p->problem_offset && i < b->len; i++) {
			where.column++;
			if (b->text[i] == '\n') {
				where.line++;
				where.column = 1;
			}
		}
	}
	finding_error(b->f, where, NULL, "%s%s%s%s", p->problem ? p->problem : "not YAML", p->context ? " " : "",
		      p->context ? p->context : "", hint(b, p));
}

static int run(struct build *b, yaml_parser_t *parser)
{
	for (;;) {
		yaml_event_t ev;
		int done, rc;

		if (!yaml_parser_parse(parser, &ev)) {
			syntax_error(b, parser);
			return -1;
		}
		done = ev.type == YAML_STREAM_END_EVENT;
		rc = on_event(b, &ev);
		yaml_event_delete(&ev);
		if (rc < 0 || done)
			return rc;
	}
}

static const char bom[] = "\xef\xbb\xbf";

static struct yn_source *keep_source(struct yn_pool *p, const char *name, const char *text, size_t len)
{
	struct yn_source *s = yn_alloc(p, sizeof(*s));

	s->name = yn_strndup(p, name, strlen(name));
	s->text = yn_strndup(p, text, len);
	s->len = len;
	return s;
}

/* A text without any value: an empty map in the place of the null, or where the text begins. */
static struct ynode *empty_map(struct build *b)
{
	struct ynode *n = yn_map(b->pool);

	n->source = b->source;
	n->line = n->column = 1;
	n->start = n->end = b->mark;
	if (b->root && b->root->end > b->root->start) {
		n->line = b->root->line;
		n->column = b->root->column;
		n->start = b->root->start;
		n->end = b->root->end;
	}
	return n;
}

const struct ynode *yn_parse(struct yn_pool *p, const char *name, const char *text, size_t len, struct findings *f)
{
	struct build b = { .pool = p, .f = f };
	yaml_parser_t parser;
	int rc;

	if (len > YN_TEXT_MAX) {
		finding_error(f, (struct place){ name, 0, 0 }, NULL, "larger than %d MiB", YN_TEXT_MAX >> 20);
		return NULL;
	}
	if (!yaml_parser_initialize(&parser))
		abort(); /* memory only */
	b.source = keep_source(p, name, text, len);
	b.mark = len >= 3 && !memcmp(text, bom, 3) ? 3 : 0;
	b.text = b.source->text + b.mark;
	b.len = len - b.mark;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)b.text, b.len);
	rc = run(&b, &parser);
	yaml_parser_delete(&parser);
	for (size_t i = 0; i < b.anchors; i++)
		free(b.anchor[i].name);
	free(b.anchor);
	if (rc < 0)
		return NULL;
	return b.root && b.root->kind != YN_NULL ? b.root : empty_map(&b);
}

const struct ynode *yn_parse_one(struct yn_pool *p, const char *name, const char *text, size_t len, struct err *e)
{
	struct findings f = { 0 };
	const struct ynode *root = yn_parse(p, name, text, len, &f);

	if (!f.errors)
		return root;
	err_set(e, ERR_INVALID, "%s:%u:%u: %s", name, f.item[0].at.line, f.item[0].at.column, f.item[0].text);
	findings_fini(&f);
	return NULL;
}
