#include "limactl-c/store/inst.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/config.h"
#include "limactl-c/store/paths.h"

enum {
	NAME_MAX_LENGTH = 76,
	/* A look at a lock holds it for microseconds; who wants it for good tries this often, 2 ms apart. */
	LOCK_TRIES = 50,
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

int inst_check_name(const char *name, struct err *e)
{
	const char *why = NULL;

	if (!*name)
		return err_set(e, ERR_USAGE, "an instance name must not be empty");
	if (strlen(name) > NAME_MAX_LENGTH)
		return err_set(e, ERR_USAGE, "instance name \"%s\" has %zu bytes, at most %d are possible", name,
			       strlen(name), NAME_MAX_LENGTH);
	for (const char *p = name; *p; p++) {
		bool mark = strchr("._-", *p);

		if (!mark && !(isascii(*p) && isalnum((unsigned char)*p)))
			why = "only letters, digits and . _ - are possible";
		else if (mark && (p == name || !p[1] || strchr("._-", p[1])))
			why = ". _ - must stand alone between letters or digits";
		if (why)
			return err_set(e, ERR_USAGE, "instance name \"%s\": %s", name, why);
	}
	if (ends_with(name, ".yml") || ends_with(name, ".yaml"))
		return err_set(e, ERR_USAGE, "instance name \"%s\" must not end in .yml or .yaml", name);
	return 0;
}

void inst_fini(struct inst *i)
{
	free(i->name);
	free(i->dir);
	*i = (struct inst){ 0 };
}

static char *inst_dir(const char *name, struct err *e)
{
	auto_free char *home = paths_home(e);

	return home ? xasprintf("%s/%s", home, name) : NULL;
}

static int not_found(const char *name, struct err *e)
{
	auto_buf known = BUF_INIT(600);
	struct err ignored = { 0 };
	char **names = NULL;
	size_t count = 0;

	inst_list(&names, &count, &ignored);
	for (size_t i = 0; i < count; i++)
		if (buf_addf(&known, "%s%s", i ? ", " : "", names[i]) < 0)
			break;
	inst_list_free(names, count);
	return err_set(e, ERR_NOTFOUND, "instance \"%s\" does not exist (%s%s)", name,
		       count ? "there are: " : "there is none", count ? known.data : "");
}

int inst_open(const char *name, struct inst *out, struct err *e)
{
	auto_free char *dir = NULL;
	struct stat st;

	*out = (struct inst){ 0 };
	if (inst_check_name(name, e) < 0 || !(dir = inst_dir(name, e)))
		return -1;
	if (stat(dir, &st) < 0)
		return errno == ENOENT ? not_found(name, e) : err_errno(e, "instance \"%s\"", name);
	if (!S_ISDIR(st.st_mode))
		return not_found(name, e);
	out->name = xstrdup(name);
	out->dir = steal(&dir);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int inst_list(char ***names, size_t *count, struct err *e)
{
	auto_free char *home = paths_home(e);
	auto_closedir DIR *d = NULL;
	struct dirent *de;

	*names = NULL;
	*count = 0;
	if (!home)
		return -1;
	d = opendir(home);
	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, "open %s", home);
	while ((de = readdir(d))) {
		struct err ignored = { 0 };
		struct stat st;

		/* Whatever else lies here (.DS_Store, _disks, notes) is not ours to complain about. */
		if (inst_check_name(de->d_name, &ignored) < 0 || fstatat(dirfd(d), de->d_name, &st, 0) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		*names = xrealloc_array(*names, *count + 1, sizeof(**names));
		(*names)[(*count)++] = xstrdup(de->d_name);
	}
	if (*count)
		qsort(*names, *count, sizeof(**names), by_name);
	return 0;
}

void inst_list_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
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

/* What a process has in hand: ".NAME.PID.new" while it makes a folder, ".NAME.PID.deleted" while it removes one. */
#define MADE ".new"
#define DELETED ".deleted"

/* The PID of such a name, else 0. */
static pid_t owner(const char *entry)
{
	const char *end = ends_with(entry, MADE) ? MADE : ends_with(entry, DELETED) ? DELETED : NULL;
	auto_free char *name = xstrdup(entry);
	char *dot;

	if (name[0] != '.' || !end)
		return 0;
	name[strlen(name) - strlen(end)] = '\0';
	dot = strrchr(name, '.');
	return dot == name ? 0 : (pid_t)atol(dot + 1);
}

/* What a process that was killed has left, disks and all: nobody else would ever find it. */
static void finish_others(const char *home)
{
	CLEANUP(closedirp) DIR *d = opendir(home);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		auto_free char *path = xasprintf("%s/%s", home, de->d_name);
		pid_t pid = owner(de->d_name);
		struct err ignored = { 0 };

		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			fs_remove_tree(path, &ignored);
	}
}

static int move_to(const char *from, const char *home, const char *name, const char *dir, struct err *e)
{
	if (rename_new(from, dir) < 0)
		return errno == EEXIST || errno == ENOTEMPTY ?
			       err_set(e, ERR_EXISTS, "instance \"%s\" exists already (%s)", name, dir) :
			       err_errno(e, "create %s", dir);
	return fs_sync_dir(home, e);
}

/* The folder of a new instance of that name, malloc'd; home is made when it is not there. */
static char *new_dir(const char *name, const char *home, struct err *e)
{
	auto_free char *dir = xasprintf("%s/%s", home, name);

	if (inst_check_name(name, e) < 0 || paths_check_dir(dir, e) < 0 || fs_mkdirs(home, 0700, e) < 0)
		return NULL;
	return steal(&dir);
}

int inst_create_by(const char *name, int (*fill)(const char *dir, const void *arg, struct err *e), const void *arg,
		   struct inst *out, struct err *e)
{
	auto_free char *home = paths_home(e), *dir = home ? new_dir(name, home, e) : NULL, *tmp = NULL;
	struct err ignored = { 0 };

	*out = (struct inst){ 0 };
	if (!dir)
		return -1;
	finish_others(home);
	tmp = xasprintf("%s/.%s.%ld" MADE, home, name, (long)getpid());
	if (fs_remove_tree(tmp, e) < 0)
		return -1;
	if (mkdir(tmp, 0700) < 0)
		return err_errno(e, "create instance folder %s", tmp);
	if (fill(tmp, arg, e) < 0 || move_to(tmp, home, name, dir, e) < 0) {
		fs_remove_tree(tmp, &ignored);
		return -1;
	}
	out->name = xstrdup(name);
	out->dir = steal(&dir);
	return 0;
}

struct yaml {
	const char *text;
	size_t len;
};

static int write_files(const char *dir, const void *arg, struct err *e)
{
	auto_free char *file = path_in(dir, PATH_YAML), *version = path_in(dir, PATH_VERSION);
	const struct yaml *yaml = arg;

	if (fs_write_atomic(file, yaml->text, yaml->len, 0644, e) < 0)
		return -1;
	return fs_write_atomic(version, CFG_LIMA_VERSION, strlen(CFG_LIMA_VERSION), 0444, e);
}

int inst_create(const char *name, const char *yaml, size_t len, struct inst *out, struct err *e)
{
	const struct yaml y = { yaml, len };

	return inst_create_by(name, write_files, &y, out, e);
}

int inst_rename(const struct inst *i, const char *name, struct inst *out, struct err *e)
{
	auto_free char *home = paths_home(e), *dir = home ? new_dir(name, home, e) : NULL;
	auto_hold hold = INST_HOLD_INIT;

	*out = (struct inst){ 0 };
	if (!dir || inst_hold(i, &hold, e) < 0 || move_to(i->dir, home, name, dir, e) < 0)
		return -1;
	out->name = xstrdup(name);
	out->dir = steal(&dir);
	return 0;
}

/* Opens a lock file and tries once; -1 with errno EWOULDBLOCK when another process holds it, or has held it and taken
 * the folder away: that lock is nobody's any more. */
static int try_lock(const char *path, int flags, int operation)
{
	struct stat ours, there;
	auto_close int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600); /* no wait should it be a pipe */

	if (fd < 0 || flock(fd, operation | LOCK_NB) < 0 || fstat(fd, &ours) < 0 || stat(path, &there) < 0)
		return -1;
	if (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev) {
		errno = EWOULDBLOCK;
		return -1;
	}
	return steal_fd(&fd);
}

static bool is_locked(const char *dir, enum path_name lock)
{
	auto_free char *path = path_in(dir, lock);
	/* Shared, so that two who look do not take each other for the owner. */
	auto_close int fd = try_lock(path, O_RDONLY, LOCK_SH);

	return fd < 0 && errno == EWOULDBLOCK;
}

int inst_lock(const struct inst *i, bool vm, bool keep, struct err *e)
{
	auto_free char *path = path_in(i->dir, vm ? PATH_VM_LOCK : PATH_HA_LOCK);
	auto_close int fd = -1;

	for (int n = 0; n < LOCK_TRIES && fd < 0; n++) {
		fd = try_lock(path, O_RDWR | O_CREAT, LOCK_EX);
		if (fd < 0 && errno != EWOULDBLOCK)
			return err_errno(e, "lock %s", path);
		if (fd < 0)
			nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	if (fd < 0)
		return err_set(e, ERR_EXISTS, "%s of instance \"%s\" is running already",
			       vm ? "the machine" : "the host agent", i->name);
	if (keep && fcntl(fd, F_SETFD, 0) < 0)
		return err_errno(e, "lock %s", path);
	return steal_fd(&fd);
}

enum inst_status inst_status(const struct inst *i)
{
	auto_free char *yaml = path_in(i->dir, PATH_YAML);
	struct stat st;

	if (is_locked(i->dir, PATH_HA_LOCK))
		return INST_RUNNING;
	if (is_locked(i->dir, PATH_VM_LOCK))
		return INST_ORPHAN;
	if (stat(yaml, &st) < 0 || !S_ISREG(st.st_mode) || access(yaml, R_OK) < 0)
		return INST_BROKEN;
	return INST_STOPPED;
}

const char *inst_status_word(enum inst_status s)
{
	static const char *const words[] = {
		[INST_STOPPED] = "Stopped",
		[INST_RUNNING] = "Running",
		[INST_ORPHAN] = "Broken",
		[INST_BROKEN] = "Broken",
	};

	return words[s];
}

int inst_hold(const struct inst *i, struct inst_hold *h, struct err *e)
{
	*h = (struct inst_hold)INST_HOLD_INIT;
	/* A folder in the place of a lock is nobody's. */
	if (((h->ha = inst_lock(i, false, false, e)) >= 0 || e->errnum == EISDIR) &&
	    ((h->vm = inst_lock(i, true, false, e)) >= 0 || e->errnum == EISDIR)) {
		*e = (struct err){ 0 };
		return 0;
	}
	inst_release(h);
	return e->kind == ERR_EXISTS ? err_set(e, ERR_STATE, "instance \"%s\" is running: stop it first", i->name) : -1;
}

void inst_release(struct inst_hold *h)
{
	if (h->ha >= 0)
		close(h->ha);
	if (h->vm >= 0)
		close(h->vm);
	*h = (struct inst_hold)INST_HOLD_INIT;
}

int inst_delete(const struct inst *i, struct err *e)
{
	auto_free char *protect = path_in(i->dir, PATH_PROTECTED), *gone = NULL, *home = paths_home(e);
	auto_hold hold = INST_HOLD_INIT;

	if (!home)
		return -1;
	if (fs_exists(protect))
		return err_set(e, ERR_STATE, "instance \"%s\" is protected: remove %s first", i->name, protect);
	/* Held to the end, so that no start gets in between. */
	if (inst_hold(i, &hold, e) < 0)
		return -1;
	/* Out of sight first: what others list is there with all its files or not at all. */
	gone = xasprintf("%s/.%s.%ld" DELETED, home, i->name, (long)getpid());
	if (fs_remove_tree(gone, e) < 0)
		return -1;
	if (rename(i->dir, gone) < 0)
		return err_errno(e, "delete %s", i->dir);
	finish_others(home);
	return fs_remove_tree(gone, e);
}
