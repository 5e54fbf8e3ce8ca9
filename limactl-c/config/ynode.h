/* ynode.h - YAML text as a tree in which every value knows its line and column.
 *
 * Bounded: size of the text, depth, number of nodes with aliases counted as often as they are used.
 * Aliases share the node they name. Scalars follow the core schema of YAML 1.2.
 */
#ifndef LIMA_YNODE_H
#define LIMA_YNODE_H

#include <stdbool.h>
#include <stddef.h>

#include "limactl-c/config/finding.h"

enum { YN_TEXT_MAX = 4 << 20, YN_DEPTH_MAX = 64, YN_NODES_MAX = 100000 };

enum yn_kind { YN_NULL, YN_BOOL, YN_INT, YN_FLOAT, YN_STRING, YN_LIST, YN_MAP };

struct ynode {
	enum yn_kind kind;
	unsigned line, column; /* from 1 */
	char *text;            /* scalars: as written, without quotes */
	size_t len;            /* of text, which may hold NUL bytes */
	struct ynode **item;   /* lists: values; maps: values, item[i] belongs to key[i] */
	struct ynode **key;    /* maps: scalars, each text once */
	size_t count;
	size_t start, end; /* scalars: characters from the beginning of the text, a byte-order mark
			      not counted */
	bool block;        /* scalars: | or > */
	bool flow;         /* maps: {…} */
	bool anchored;     /* an alias may use it again */
	unsigned height;   /* of the tree below, aliases followed; 0: a scalar */
	size_t weight;     /* nodes below and this one, aliases counted each time */
};

struct yn_doc; /* owns the nodes */

/* A document without any node gives an empty map. Duplicate keys (the first one stays), a second
 * document and everything that is not YAML become errors in f; NULL when no tree could be made.
 * name is borrowed. */
struct yn_doc *yn_parse(const char *name, const char *text, size_t len, struct findings *f);
void yn_free(struct yn_doc *d);
const struct ynode *yn_root(const struct yn_doc *d);

const char *yn_kind_word(enum yn_kind kind); /* "a list" */

#endif
