/* tree.h - a folder and all below it, watched: what changes there is put among the pending changes.
 *
 * One inotify instance with a watch on each folder; files are not looked at. Symbolic links are not followed, and folders are
 * opened beneath the shared one only: who may write there, the guest among them, leads the watcher nowhere else. What is made
 * there has a bound, too.
 */
#ifndef LIMA_WATCHER_TREE_H
#define LIMA_WATCHER_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/watcher/pending.h"

enum { TREE_FOLDERS_MAX = 200000 }; /* more are not watched, which is said */

struct tree;

/* Reads it once; its folders are pending as FE_HERE. mount is what the records bear. */
struct tree *tree_new(struct pending *p, unsigned mount, const char *path, struct err *e);
void tree_free(struct tree *t);

int tree_fd(const struct tree *t); /* readable: call tree_read() */
void tree_read(struct tree *t);

/* Changes may be missing: since that time (ns since 1970). tree_read() finds out by itself when the kernel says so. */
void tree_lose(struct tree *t, uint64_t since);
bool tree_lost(const struct tree *t);
/* Reads all again, or as much of it as there is room for what is found; to be called while tree_lost(). What is newer than the
 * last moment at which nothing was missing is pending then. */
void tree_catch_up(struct tree *t);

#endif
