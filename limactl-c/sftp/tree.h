/* tree.h - the one folder that is served: every path is looked up beneath it by the kernel (openat2, Linux 5.6), and nothing
 * outside can be named, whatever links lie in it and whoever renames folders meanwhile.
 *
 * A path begins with slashes or not; "/" and "" are the folder itself. Each returns -1 with errno set when it fails; EXDEV
 * where a path leads out of the folder.
 */
#ifndef LIMA_SFTP_TREE_H
#define LIMA_SFTP_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct tree {
	int root;
	bool follow; /* symbolic links that stay beneath the folder are resolved; else one on the way is ELOOP */
};

int tree_open(const struct tree *t, const char *path, int flags, mode_t mode); /* as open(); the descriptor is the caller's */
/* What path is without being opened: of a link the link itself, unless they are followed and last is. */
int tree_find(const struct tree *t, const char *path, bool last);
/* The folder path lies in, as a descriptor, and its name there, which points into path. */
int tree_parent(const struct tree *t, char *path, const char **name);
/* An ordinary file, opened by what open() knows as flags; nothing else is ever opened, so that no device is touched. */
int tree_open_file(const struct tree *t, const char *path, int flags, mode_t mode);
/* The way to what a descriptor of tree_find() means, for calls that want a path. */
enum { TREE_WAY_MAX = 32 };
void tree_way(int fd, char way[TREE_WAY_MAX]);

#endif
