#include "limactl-c/sftp/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"

int tree_open(const struct tree *t, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (t->follow ? 0 : RESOLVE_NO_SYMLINKS),
	};

	path += strspn(path, "/");
	return (int)syscall(SYS_openat2, t->root, *path ? path : ".", &how, sizeof(how));
}

int tree_find(const struct tree *t, const char *path, bool last)
{
	return tree_open(t, path, O_PATH | (t->follow && last ? 0 : O_NOFOLLOW), 0);
}

int tree_parent(const struct tree *t, char *path, const char **name)
{
	size_t n = strlen(path);
	char *slash;

	while (n && path[n - 1] == '/')
		path[--n] = '\0';
	slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	if (!**name || !strcmp(*name, ".") || !strcmp(*name, "..")) {
		errno = EBUSY; /* the folder itself stays */
		return -1;
	}
	if (slash)
		*slash = '\0';
	return tree_open(t, slash ? path : "", O_PATH | O_DIRECTORY, 0);
}

void tree_way(int fd, char way[TREE_WAY_MAX])
{
	snprintf(way, TREE_WAY_MAX, "/proc/self/fd/%d", fd);
}

/* One that is there. */
static int open_found(const struct tree *t, const char *path, int flags)
{
	auto_close int fd = tree_find(t, path, true);
	char way[TREE_WAY_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	errno = (flags & O_EXCL) && (flags & O_CREAT) ? EEXIST : S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	if (errno == EEXIST || !S_ISREG(st.st_mode))
		return -1;
	tree_way(fd, way);
	return open(way, (flags & ~(O_CREAT | O_EXCL)) | O_CLOEXEC);
}

int tree_open_file(const struct tree *t, const char *path, int flags, mode_t mode)
{
	int fd = open_found(t, path, flags);

	if (fd >= 0 || errno != ENOENT || !(flags & O_CREAT))
		return fd;
	fd = tree_open(t, path, flags | O_EXCL, mode);
	/* Somebody else has made it meanwhile. */
	return fd < 0 && errno == EEXIST && !(flags & O_EXCL) ? open_found(t, path, flags) : fd;
}
