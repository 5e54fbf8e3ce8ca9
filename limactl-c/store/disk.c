#include "limactl-c/store/disk.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/qcow2.h"
#include "limactl-c/store/disk_files.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/lock.h"
#include "limactl-c/store/paths.h"

#define MISSING "disk \"%s\" does not exist: `limactl-c disk create %s --size SIZE` makes it"

char *disk_home(struct err *e)
{
	auto_free char *home = paths_home(e);

	return home ? xasprintf("%s/_disks", home) : NULL;
}

char *disk_file(const char *path, const char *file)
{
	auto_free char *dir = fs_parent(path);

	return xasprintf("%s/%s", dir, file);
}

int disk_inspect(const char *path, struct qcow2_info *info, struct err *e)
{
	auto_free char *note = disk_file(path, DISK_FORMAT);
	auto_buf text = BUF_INIT(16);
	struct stat st;

	/* One that is there but cannot be read might say raw: then the bytes must not be asked. */
	if (io_read_file(note, &text, e) < 0 && e->errnum != ENOENT)
		return -1;
	if (!text.data || strncmp(text.data, "raw", 3))
		return qcow2_inspect(path, info, e);
	if (stat(path, &st) < 0)
		return err_errno(e, "%s", path);
	*info = (struct qcow2_info){ "raw", (uint64_t)st.st_size };
	return 0;
}

int disk_open(const char *name, struct disk *out, struct err *e)
{
	auto_free char *home = disk_home(e);
	struct qcow2_info info = { 0 };
	int rc;

	*out = (struct disk)DISK_INIT;
	if (!home || folder_check_name(name, "disk", e) < 0)
		return -1;
	out->name = xstrdup(name);
	out->dir = xasprintf("%s/%s", home, name);
	out->path = xasprintf("%s/" DISK_DATA, out->dir);
	rc = disk_inspect(out->path, &info, e);
	if (rc < 0 && e->errnum == ENOENT)
		err_set(e, ERR_NOTFOUND, MISSING, name, name);
	else if (rc < 0)
		err_wrap(e, "disk \"%s\"", name);
	out->format = info.format;
	out->size = info.size;
	if (rc < 0)
		disk_fini(out);
	return rc;
}

void disk_fini(struct disk *d)
{
	free(d->name);
	free(d->dir);
	free(d->path);
	*d = (struct disk)DISK_INIT;
}

int disk_list(char ***names, size_t *count, struct err *e)
{
	auto_free char *home = disk_home(e);

	*names = NULL;
	*count = 0;
	return home ? folder_list(home, "disk", names, count, e) : -1;
}

char *disk_mount_point(const char *name)
{
	return xasprintf("/mnt/lima-%s", name);
}

/* --- who uses it --- */

/* What in_use_by says, malloc'd; NULL: nothing. */
static char *marked(const char *path)
{
	auto_free char *link = disk_file(path, DISK_IN_USE_BY);

	return fs_read_link(link);
}

/* An instance that Lima itself runs holds no lock: it tells by the process in ha.pid. One of ours has a lock file. */
static bool is_run_by_lima(const char *dir)
{
	auto_free char *lock = path_in(dir, PATH_HA_LOCK), *pid_file = path_in(dir, PATH_HA_PID);
	auto_buf text = BUF_INIT(64);
	struct err ignored = { 0 };
	pid_t pid;

	if (fs_exists(lock) || io_read_file(pid_file, &text, &ignored) < 0 || !text.data)
		return false;
	pid = (pid_t)atol(text.data);
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* Under the lock: what is left of an instance that ended without a word. */
static void drop_mark(const char *path)
{
	auto_free char *link = disk_file(path, DISK_IN_USE_BY);

	unlink(link);
}

char *disk_user(const struct disk *d)
{
	auto_free char *lock = disk_file(d->path, DISK_LOCK), *by = marked(d->path);
	struct err ignored = { 0 };

	if (by && is_run_by_lima(by))
		return steal(&by);
	if (lock_is_held(lock))
		return by ? steal(&by) : xstrdup("");
	if (by) {
		auto_close int fd = lock_take(lock, &ignored);

		if (fd >= 0)
			drop_mark(d->path);
	}
	return NULL;
}

const char *disk_user_name(const char *user)
{
	const char *slash = strrchr(user, '/');

	return slash ? slash + 1 : user;
}

char *disk_user_words(const char *user)
{
	if (!user)
		return NULL;
	return *user ? xasprintf("instance \"%s\"", disk_user_name(user)) : xstrdup("another process");
}

bool disk_is_marked(const struct disk *d)
{
	auto_free char *by = marked(d->path);

	return by;
}

static int taken(const char *path, const char *by, struct err *e)
{
	auto_free char *dir = fs_parent(path), *words = disk_user_words(by ? by : "");
	const char *name = strrchr(dir, '/');

	return err_set(e, ERR_EXISTS, "disk \"%s\" is in use by %s", name ? name + 1 : dir, words);
}

static int mark(const char *path, const char *dir, struct err *e)
{
	auto_free char *link = disk_file(path, DISK_IN_USE_BY), *tmp = xasprintf("%s.tmp", link);

	unlink(tmp);
	return symlink(dir, tmp) < 0 || rename(tmp, link) < 0 ? fs_error("mark as in use", path, e) : 0;
}

int disk_lock(const char *path, const char *dir, struct err *e)
{
	auto_free char *lock = disk_file(path, DISK_LOCK), *by = NULL;
	auto_close int fd = lock_take(lock, e);

	by = marked(path);
	if (fd < 0)
		return e->kind == ERR_EXISTS ? taken(path, by, e) : -1;
	if (by && strcmp(by, dir) && is_run_by_lima(by))
		return taken(path, by, e);
	return mark(path, dir, e) < 0 ? -1 : steal_fd(&fd);
}

void disk_unlock(const char *path, const char *dir)
{
	auto_free char *by = marked(path);

	if (by && !strcmp(by, dir))
		drop_mark(path);
}
