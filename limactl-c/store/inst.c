#include "limactl-c/store/inst.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/config.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/lock.h"
#include "limactl-c/store/paths.h"

enum { HOLD_TRIES = 20 }; /* of lock_take(), each of which waits a little */

int inst_check_name(const char *name, struct err *e)
{
	return folder_check_name(name, "instance", e);
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
	folder_list_free(names, count);
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

int inst_list(char ***names, size_t *count, struct err *e)
{
	auto_free char *home = paths_home(e);

	*names = NULL;
	*count = 0;
	return home ? folder_list(home, "instance", names, count, e) : -1;
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
	auto_free char *home = paths_home(e), *dir = home ? new_dir(name, home, e) : NULL;

	*out = (struct inst){ 0 };
	if (!dir || folder_make(home, name, "instance", fill, arg, e) < 0)
		return -1;
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
	if (!dir || inst_hold(i, &hold, e) < 0 || folder_move(i->dir, home, name, "instance", e) < 0)
		return -1;
	out->name = xstrdup(name);
	out->dir = steal(&dir);
	return 0;
}

static bool is_locked(const char *dir, enum path_name lock)
{
	auto_free char *path = path_in(dir, lock);

	return lock_is_held(path);
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

bool inst_runs(const struct inst *i)
{
	enum inst_status status = inst_status(i);

	return status == INST_RUNNING || status == INST_ORPHAN;
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

static int in_use(const struct inst *i, enum err_kind kind, struct err *e)
{
	return err_set(e, kind, "another command is working on instance \"%s\"; try again when it is done", i->name);
}

int inst_lock(const struct inst *i, bool vm, bool keep, struct err *e)
{
	auto_free char *path = path_in(i->dir, vm ? PATH_VM_LOCK : PATH_HA_LOCK);
	auto_close int fd = lock_take(path, e);

	if (fd < 0 && e->kind == ERR_EXISTS)
		return is_locked(i->dir, PATH_HOLD_LOCK) ? in_use(i, ERR_EXISTS, e) :
			       err_set(e, ERR_EXISTS, "%s of instance \"%s\" is running already",
				       vm ? "the machine" : "the host agent", i->name);
	if (fd < 0 || (keep && fcntl(fd, F_SETFD, 0) < 0))
		return fd < 0 ? -1 : err_errno(e, "lock %s", path);
	return steal_fd(&fd);
}

/* A folder in the place of a lock is nobody's, nor is a lock there is no room for: what takes the room up can be deleted. */
static int hold_lock(const struct inst *i, enum path_name lock, int (*take)(const char *path, struct err *e), int *fd,
		     struct err *e)
{
	auto_free char *path = path_in(i->dir, lock);

	*fd = take(path, e);
	return *fd < 0 && e->errnum != EISDIR && !fs_is_full(e->errnum) ? -1 : 0;
}

int inst_hold(const struct inst *i, struct inst_hold *h, struct err *e)
{
	int tries = HOLD_TRIES;

	*h = (struct inst_hold)INST_HOLD_INIT;
	while (hold_lock(i, PATH_HOLD_LOCK, lock_take, &h->held, e) < 0)
		if (e->kind != ERR_EXISTS || !--tries)
			return e->kind == ERR_EXISTS ? in_use(i, ERR_STATE, e) : -1;
	if (hold_lock(i, PATH_HA_LOCK, lock_share, &h->ha, e) == 0 && hold_lock(i, PATH_VM_LOCK, lock_share, &h->vm, e) == 0) {
		folder_sweep(i->dir);
		*e = (struct err){ 0 };
		return 0;
	}
	inst_release(h);
	return e->kind == ERR_EXISTS ? err_set(e, ERR_STATE, "instance \"%s\" is running: stop it first", i->name) : -1;
}

void inst_release(struct inst_hold *h)
{
	const int fd[] = { h->held, h->ha, h->vm };

	for (size_t i = 0; i < sizeof(fd) / sizeof(*fd); i++)
		if (fd[i] >= 0)
			close(fd[i]);
	*h = (struct inst_hold)INST_HOLD_INIT;
}

bool inst_is_protected(const struct inst *i)
{
	auto_free char *protect = path_in(i->dir, PATH_PROTECTED);

	return fs_exists(protect);
}

int inst_check_unprotected(const struct inst *i, struct err *e)
{
	if (!inst_is_protected(i))
		return 0;
	return err_set(e, ERR_STATE, "instance \"%s\" is protected: `limactl-c unprotect %s` lets it be deleted", i->name, i->name);
}

int inst_delete(const struct inst *i, struct err *e)
{
	auto_free char *home = paths_home(e);
	auto_hold hold = INST_HOLD_INIT;

	if (!home || inst_check_unprotected(i, e) < 0)
		return -1;
	/* Held to the end, so that no start gets in between. */
	if (inst_hold(i, &hold, e) < 0)
		return -1;
	return folder_remove(home, i->name, e);
}
