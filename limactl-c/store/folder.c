#include "limactl-c/store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

int folder_check_name(const char *name, const char *what, struct err *e)
{
	struct err why;

	return text_check_name(name, &why) < 0 ? err_set(e, ERR_USAGE, "%s name \"%.80s\" %s", what, name, why.msg) : 0;
}

/* rename() would replace an empty folder. */
static int rename_new(const char *from, const char *to)
{
#ifdef __APPLE__
	return renamex_np(from, to, RENAME_EXCL);
#else
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* The file system cannot do it in one step. */
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
#endif
}

#define MADE ".new"
#define DELETED ".deleted"

/* The process that has this entry of a folder in hand, else 0. */
static pid_t owner(const char *entry)
{
	static const struct {
		const char *end; /* behind the PID */
		bool hidden;
	} kinds[] = { { MADE, true }, { DELETED, true }, { FS_WRITTEN, false } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(entry), end = strlen(kinds[i].end);
		auto_free char *name = NULL;
		const char *dot;

		if (!text_ends_with(entry, kinds[i].end) || (kinds[i].hidden && *entry != '.'))
			continue;
		name = xstrndup(entry, n - end);
		dot = strrchr(name, '.');
		return !dot || dot == name ? 0 : (pid_t)atol(dot + 1);
	}
	return 0;
}

void folder_sweep(const char *dir)
{
	auto_closedir DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		auto_free char *path = xasprintf("%s/%s", dir, de->d_name);
		pid_t pid = owner(de->d_name);
		struct err ignored = { 0 };

		/* Disks and all: nobody else would ever find it. */
		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			fs_remove_tree(path, &ignored);
	}
}

int folder_move(const char *from, const char *home, const char *name, const char *what, struct err *e)
{
	auto_free char *dir = xasprintf("%s/%s", home, name);

	if (rename_new(from, dir) < 0)
		return errno == EEXIST || errno == ENOTEMPTY ?
			       err_set(e, ERR_EXISTS, "%s \"%s\" exists already (%s)", what, name, dir) :
			       fs_error("create", dir, e);
	return fs_sync_dir(home, e);
}

int folder_make(const char *home, const char *name, const char *what,
		int (*fill)(const char *dir, const void *arg, struct err *e), const void *arg, struct err *e)
{
	auto_free char *tmp = xasprintf("%s/.%s.%ld" MADE, home, name, (long)getpid());
	struct err ignored = { 0 };

	folder_sweep(home);
	if (fs_remove_tree(tmp, e) < 0)
		return -1;
	if (mkdir(tmp, 0700) < 0)
		return fs_error("create folder", tmp, e);
	if (fill(tmp, arg, e) == 0 && folder_move(tmp, home, name, what, e) == 0)
		return 0;
	fs_remove_tree(tmp, &ignored);
	return -1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int folder_list(const char *home, const char *what, char ***names, size_t *count, struct err *e)
{
	auto_closedir DIR *d = opendir(home);
	struct dirent *de;

	*names = NULL;
	*count = 0;
	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, "open %s", home);
	while ((de = readdir(d))) {
		struct err ignored = { 0 };
		struct stat st;

		if (folder_check_name(de->d_name, what, &ignored) < 0 || fstatat(dirfd(d), de->d_name, &st, 0) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		*names = xrealloc_array(*names, *count + 1, sizeof(**names));
		(*names)[(*count)++] = xstrdup(de->d_name);
	}
	if (*count)
		qsort(*names, *count, sizeof(**names), by_name);
	return 0;
}

void folder_list_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

int folder_remove(const char *home, const char *name, struct err *e)
{
	auto_free char *dir = xasprintf("%s/%s", home, name);
	/* Out of sight first: what others list is there with all its files or not at all. */
	auto_free char *gone = xasprintf("%s/.%s.%ld" DELETED, home, name, (long)getpid());

	if (fs_remove_tree(gone, e) < 0)
		return -1;
	if (rename(dir, gone) < 0)
		return err_errno(e, "delete %s", dir);
	folder_sweep(home);
	return fs_remove_tree(gone, e);
}
