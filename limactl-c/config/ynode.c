#include "limactl-c/config/ynode.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/yscalar.h"

enum { NODES_PER_CHUNK = 256, KEY_MAX = 256, KEYS_MAX = 2000, ANCHORS_MAX = 256 };

struct chunk {
	struct chunk *next;
	size_t used;
	struct ynode node[NODES_PER_CHUNK];
};
struct anchor {
	char *name;
	struct ynode *node;
	bool open; /* its end has not been seen */
};
struct yn_doc {
	struct chunk *chunks;
	struct ynode *root;
};

/* What is being built while events come in. */
struct build {
	struct yn_doc *doc;
	const char *name, *text;
	size_t len;
	struct findings *f;
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
	return (struct place){ b->name, (unsigned)m->line + 1, (unsigned)m->column + 1 };
}

static struct place of_node(const struct build *b, const struct ynode *n)
{
	return (struct place){ b->name, n->line, n->column };
}

static struct ynode *new_node(struct build *b, enum yn_kind kind, const yaml_mark_t *m)
{
	struct chunk *c = b->doc->chunks;
	struct ynode *n;

	if (!c || c->used == NODES_PER_CHUNK) {
		c = xcalloc(1, sizeof(*c));
		c->next = b->doc->chunks;
		b->doc->chunks = c;
	}
	n = &c->node[c->used++];
	n->kind = kind;
	n->line = (unsigned)m->line + 1;
	n->column = (unsigned)m->column + 1;
	n->weight = 1;
	return n;
}

/* Room for one more at powers of two. */
static void grow(struct ynode ***list, size_t count)
{
	if (!(count & (count - 1)))
		*list = xrealloc_array(*list, count ? 2 * count : 1, sizeof(**list));
}

static const struct ynode *find_key(const struct ynode *map, const struct ynode *key)
{
	for (size_t i = 0; i < map->count; i++) {
		if (map->key[i]->len == key->len && !memcmp(map->key[i]->text, key->text, key->len))
			return map->key[i];
	}
	return NULL;
}

static int take_key(struct build *b, struct ynode *n)
{
	if (n->kind == YN_LIST || n->kind == YN_MAP) {
		finding_error(b->f, of_node(b, n), "a key must be a word, not %s",
			      yn_kind_word(n->kind));
		return -1;
	}
	if (n->len > KEY_MAX || memchr(n->text, '\0', n->len)) {
		finding_error(b->f, of_node(b, n),
			      "a key must be at most %d characters without NUL", KEY_MAX);
		return -1;
	}
	b->pending_key[b->depth - 1] = n;
	return 0;
}

/* Puts a complete value (or an opened collection) where it belongs. */
static int place_node(struct build *b, struct ynode *n)
{
	struct ynode *top = b->depth ? b->stack[b->depth - 1] : NULL, *key;
	const struct ynode *earlier;

	if (!top) {
		b->doc->root = n;
		return 0;
	}
	if (top->kind == YN_LIST) {
		grow(&top->item, top->count);
		top->item[top->count++] = n;
		return 0;
	}
	key = b->pending_key[b->depth - 1];
	if (!key)
		return take_key(b, n);
	b->pending_key[b->depth - 1] = NULL;
	earlier = find_key(top, key);
	if (earlier) {
		finding_error(b->f, of_node(b, key), "key `%s` is given twice, first on line %u",
			      key->text, earlier->line);
		return 0;
	}
	if (top->count == KEYS_MAX) {
		finding_error(b->f, of_node(b, key), "more than %d keys in one mapping", KEYS_MAX);
		return -1;
	}
	grow(&top->key, top->count);
	grow(&top->item, top->count);
	top->key[top->count] = key;
	top->item[top->count++] = n;
	return 0;
}

static int count_nodes(struct build *b, size_t n, struct place where)
{
	b->nodes += n;
	if (b->nodes > YN_NODES_MAX) {
		finding_error(b->f, where, "more than %d values, those repeated by aliases counted",
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
		finding_error(b->f, of_node(b, n), "more than %d anchors", ANCHORS_MAX);
		return -1;
	}
	n->anchored = true;
	b->anchor = xrealloc_array(b->anchor, b->anchors + 1, sizeof(*b->anchor));
	b->anchor[b->anchors++] = (struct anchor){ xstrdup((const char *)name), n, open };
	return 0;
}

static int on_alias(struct build *b, const yaml_event_t *ev)
{
	const char *name = (const char *)ev->data.alias.anchor;

	for (size_t i = b->anchors; i--;) {
		struct anchor *a = &b->anchor[i];

		if (strcmp(a->name, name))
			continue;
		if (a->open) {
			finding_error(b->f, at(b, &ev->start_mark), "alias *%.60s contains itself",
				      name);
			return -1;
		}
		if (b->depth + a->node->height > YN_DEPTH_MAX) {
			finding_error(b->f, at(b, &ev->start_mark), "nested more than %d deep",
				      YN_DEPTH_MAX);
			return -1;
		}
		if (count_nodes(b, a->node->weight, at(b, &ev->start_mark)) < 0)
			return -1;
		/* Its weight goes to the collection it is placed in when that one ends. */
		return place_node(b, a->node);
	}
	finding_error(b->f, at(b, &ev->start_mark), "alias *%.60s names no earlier anchor", name);
	return -1;
}

static int on_scalar(struct build *b, const yaml_event_t *ev)
{
	const char *text = (const char *)ev->data.scalar.value;
	struct ynode *n = new_node(b, YN_STRING, &ev->start_mark);
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	n->start = ev->start_mark.index;
	n->end = ev->end_mark.index;
	n->block = ev->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
		   ev->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
	n->len = ev->data.scalar.length;
	n->text = xmalloc(n->len + 1);
	memcpy(n->text, text, n->len);
	n->text[n->len] = '\0';
	if (yscalar_kind((const char *)ev->data.scalar.tag, plain, n->text, n->len, &n->kind) < 0) {
		finding_error(b->f, of_node(b, n), "tag %.60s is not supported",
			      (const char *)ev->data.scalar.tag);
		return -1;
	}
	if (count_nodes(b, 1, of_node(b, n)) < 0 ||
	    add_anchor(b, ev->data.scalar.anchor, n, false) < 0)
		return -1;
	return place_node(b, n);
}

static int on_open(struct build *b, enum yn_kind kind, bool flow, const yaml_char_t *anchor,
		   const yaml_mark_t *m)
{
	struct ynode *n = new_node(b, kind, m);

	n->flow = flow;
	if (b->depth == YN_DEPTH_MAX) {
		finding_error(b->f, of_node(b, n), "nested more than %d deep", YN_DEPTH_MAX);
		return -1;
	}
	if (count_nodes(b, 1, of_node(b, n)) < 0 || add_anchor(b, anchor, n, true) < 0 ||
	    place_node(b, n) < 0)
		return -1;
	b->pending_key[b->depth] = NULL;
	b->stack[b->depth++] = n;
	return 0;
}

static void on_close(struct build *b)
{
	struct ynode *n = b->stack[--b->depth];

	for (size_t i = 0; i < n->count; i++) {
		n->weight += n->item[i]->weight + (n->key ? 1 : 0);
		if (n->height <= n->item[i]->height)
			n->height = n->item[i]->height + 1;
	}
	if (!n->height)
		n->height = 1;
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
			finding_error(b->f, at(b, &ev->start_mark),
				      "a second document begins here; only one is read");
			return -1;
		}
		return 0;
	case YAML_ALIAS_EVENT:
		return on_alias(b, ev);
	case YAML_SCALAR_EVENT:
		return on_scalar(b, ev);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(b, YN_LIST, false, ev->data.sequence_start.anchor, &ev->start_mark);
	case YAML_MAPPING_START_EVENT:
		return on_open(b, YN_MAP, ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
			       ev->data.mapping_start.anchor, &ev->start_mark);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_close(b);
		return 0;
	default:
		return 0;
	}
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
	finding_error(b->f, where, "%s%s%s", p->problem ? p->problem : "not YAML",
		      p->context ? " " : "", p->context ? p->context : "");
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

struct yn_doc *yn_parse(const char *name, const char *text, size_t len, struct findings *f)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct build b = { .name = name, .f = f };
	yaml_parser_t parser;
	int rc;

	if (len > YN_TEXT_MAX) {
		finding_error(f, (struct place){ name, 0, 0 }, "larger than %d MiB",
			      YN_TEXT_MAX >> 20);
		return NULL;
	}
	if (len >= 3 && !memcmp(text, bom, 3)) {
		text += 3;
		len -= 3;
	}
	if (!yaml_parser_initialize(&parser))
		abort(); /* memory only */
	b.text = text;
	b.len = len;
	b.doc = xcalloc(1, sizeof(*b.doc));
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	rc = run(&b, &parser);
	yaml_parser_delete(&parser);
	for (size_t i = 0; i < b.anchors; i++)
		free(b.anchor[i].name);
	free(b.anchor);
	if (rc < 0) {
		yn_free(b.doc);
		return NULL;
	}
	if (!b.doc->root || b.doc->root->kind == YN_NULL)
		b.doc->root = new_node(&b, YN_MAP, &(yaml_mark_t){ 0 });
	return b.doc;
}

void yn_free(struct yn_doc *d)
{
	if (!d)
		return;
	for (struct chunk *c = d->chunks, *next; c; c = next) {
		next = c->next;
		for (size_t i = 0; i < c->used; i++) {
			free(c->node[i].text);
			free(c->node[i].item);
			free(c->node[i].key);
		}
		free(c);
	}
	free(d);
}

const struct ynode *yn_root(const struct yn_doc *d)
{
	return d->root;
}
