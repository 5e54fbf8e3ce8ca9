/* iso_tree.h - the files of a manifest as a tree of folders, each with its place in the volume. */
#ifndef LIMA_IMAGE_ISO_TREE_H
#define LIMA_IMAGE_ISO_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/image/manifest.h"

enum { ISO_SECTOR = 2048 };

struct iso_node {
	char *name; /* owned; "" for the root */
	const char *host_path; /* of a file; borrowed; NULL: a folder */
	unsigned mode;
	size_t parent;   /* index; the root's is itself */
	uint64_t size;   /* bytes of a file, of a folder's records */
	uint32_t sector; /* where it begins */
};

/* Folders first, those nearer to the root before others, siblings in order of name, then files likewise: the order of
 * the path table and of the volume. */
struct iso_tree {
	struct iso_node *node;
	size_t nodes, folders;
};

#define ISO_TREE_INIT { 0 }

/* Sizes of files are read; folders' sizes and all sectors are left to the writer. */
int iso_tree_build(struct iso_tree *t, const struct manifest *m, struct err *e);
void iso_tree_free(struct iso_tree *t);

#define auto_iso_tree CLEANUP(iso_tree_free) struct iso_tree

#endif
