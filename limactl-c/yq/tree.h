/* tree.h - the nodes an expression works on: like yq's, they know their parent and their key, and keep a tag.
 *
 * They are made from a struct ynode and turned into one again at the end. All memory is in the run's own pool. A
 * failure is sticky: the first one is kept, every later evaluation returns at once, so that only loops need to look.
 */
#ifndef LIMA_YQ_TREE_H
#define LIMA_YQ_TREE_H

#include "lib/err.h"
#include "limactl-c/yaml/ynode.h"

enum {
	YQ_EXPRESSION_MAX = 64 << 10,
	YQ_NESTING_MAX = 200, /* of expressions, and of trees while they are worked on */
	YQ_STEPS_MAX = 1000000,
	YQ_MEMORY_MAX = 64 << 20,
	YQ_BYTES_A_STEP = 1024, /* of long texts */
};

enum yq_shape { YQ_SCALAR, YQ_LIST, YQ_MAP };

/* YQ_TAG_NONE: a null that was traversed and so became a list or a map. */
enum yq_tag { YQ_TAG_NONE, YQ_STR, YQ_INT, YQ_FLOAT, YQ_BOOL, YQ_NULL, YQ_TAG_LIST, YQ_TAG_MAP };

/* What makes a node one that cannot be judged, or not be changed, as yq does it. */
enum yq_mark {
	YQ_ALIASED = 1,  /* *x: an alias node for yq, the value itself here */
	YQ_ANCHORED = 2, /* &x: aliases elsewhere would have to change with it */
	YQ_TAGGED = 4,   /* written with a tag */
	YQ_UNCLEAR = 8,  /* plain text whose type is another in YAML 1.1 */
	YQ_BY_TEXT = YQ_ALIASED | YQ_TAGGED, /* what an operator must not meet that looks at texts, */
	YQ_BY_TYPE = YQ_BY_TEXT | YQ_UNCLEAR, /* or at types */
};

struct yq_node {
	enum yq_shape shape;
	enum yq_tag tag;
	enum yn_style style;
	unsigned marks;
	const char *text; /* NUL-terminated; collections may have one too, left over or as a literal was written */
	size_t len;
	struct yq_node **child; /* maps: key, value, key, value */
	size_t count, room;     /* of child */
	struct yq_node *parent;
	struct yq_node *key; /* of a value in a map */
	size_t index;        /* of an item in a list */
	bool has_index;
	bool is_key;   /* of a map */
	bool is_index; /* what `key` gives for an item of a list; changing it means nothing */
	bool together; /* the root and its copies: operators see all of them at once */
	const struct ynode *from; /* what it was read from, when it still is that */
};

struct yq_run {
	struct yn_pool *pool;
	struct err *e;
	size_t at; /* character of the operator at work, from 1 */
	size_t steps;
	unsigned nesting;
	bool failed;
	bool linked; /* there are anchors in what was read */
};

/* Keeps the first failure only; says "at character N". */
void yq_fail(struct yq_run *r, const char *fmt, ...) ERR_FMT(2, 3);
void yq_step(struct yq_run *r); /* counts; fails when it is too much */
void yq_work(struct yq_run *r, size_t bytes); /* a step, more of them for long texts */

struct yq_node *yq_scalar(struct yq_run *r, enum yq_tag tag, const char *text, size_t len);
struct yq_node *yq_word(struct yq_run *r, enum yq_tag tag, const char *text);
struct yq_node *yq_number(struct yq_run *r, size_t n);
struct yq_node *yq_collection(struct yq_run *r, enum yq_shape shape);

struct yq_node *yq_copy(struct yq_run *r, const struct yq_node *n); /* same parent and key */
struct yq_node *yq_copy_shell(struct yq_run *r, const struct yq_node *n); /* without children */
/* replacement at the place (parent, key) of n; the first copies it. */
struct yq_node *yq_copy_at(struct yq_run *r, struct yq_node *n, const struct yq_node *replacement);
struct yq_node *yq_at(struct yq_node *n, struct yq_node *replacement);
struct yq_node *yq_bool_at(struct yq_run *r, struct yq_node *n, bool value); /* n NULL: nowhere */

/* Each adds copies. yq_add_pair fails when the map has the key already. */
void yq_add_item(struct yq_run *r, struct yq_node *list, const struct yq_node *value);
void yq_add_pair(struct yq_run *r, struct yq_node *map, const struct yq_node *key, const struct yq_node *value);
void yq_add_children(struct yq_run *r, struct yq_node *n, struct yq_node *const *child, size_t count);
void yq_push_child(struct yq_run *r, struct yq_node *n, struct yq_node *child); /* as it is */

/* Assignment: n becomes what other is. */
void yq_become(struct yq_run *r, struct yq_node *n, const struct yq_node *other);
void yq_become_kind(struct yq_node *n, const struct yq_node *other); /* tag and style, not the content */

/* Each fails when the change would have to reach an alias or an anchor elsewhere: n gets children, n is replaced. */
void yq_may_grow(struct yq_run *r, const struct yq_node *n);
void yq_may_change(struct yq_run *r, const struct yq_node *n);
/* Fails when yq would see another node than we do. */
void yq_must_know(struct yq_run *r, const struct yq_node *n, unsigned marks);

bool yq_is(const struct yq_node *n, const char *text);
/* text against a pattern with * and ?. */
bool yq_matches(struct yq_run *r, const char *text, size_t len, const char *pattern, size_t pattern_len);
bool yq_text_same(const struct yq_node *a, const struct yq_node *b);
int yq_text_order(const struct yq_node *a, const struct yq_node *b); /* < 0: a comes first, by bytes */
bool yq_is_merge_key(const struct yq_node *key);
bool yq_same(struct yq_run *r, const struct yq_node *a, const struct yq_node *b); /* order of keys does not count */
bool yq_truthy(struct yq_run *r, const struct yq_node *n);                       /* NULL: no */
size_t yq_find_text(const struct yq_node *map, const char *text, size_t len); /* index of the key; count: none */
size_t yq_find_key(struct yq_run *r, const struct yq_node *map, const struct yq_node *key);

/* The way from the root: one element for each parent. In the pool. */
struct yq_step {
	const char *text;
	size_t len;
	bool is_index;
};
/* The last of them: what its parent holds n under. False: nothing does. */
bool yq_own_step(struct yq_run *r, const struct yq_node *n, struct yq_step *out);
size_t yq_path(struct yq_run *r, const struct yq_node *n, struct yq_step **out);

struct yq_node *yq_import(struct yq_run *r, const struct ynode *n);
struct ynode *yq_export(struct yq_run *r, struct yn_pool *out, const struct yq_node *n);

#endif
