#include "limactl-c/image/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/paths.h"

static const char *const folders[] = {
	[CACHE_NAMES] = "names",
	[CACHE_URLS] = "urls",
	[CACHE_DIGESTS] = "digests",
	[CACHE_UNPACKED] = "unpacked",
};
_Static_assert(sizeof(folders) / sizeof(folders[0]) == CACHE_KINDS, "a folder for each kind");

static int make_folder(const struct cache *c, const char *name, struct err *e)
{
	auto_free char *dir = xasprintf("%s/%s", c->root, name);

	return fs_mkdirs(dir, 0755, e);
}

int cache_open(struct cache *c, struct err *e)
{
	c->root = paths_cache(e);
	if (!c->root || make_folder(c, "objects", e) < 0 || make_folder(c, "tmp", e) < 0 ||
	    make_folder(c, "partial", e) < 0)
		return -1;
	for (size_t i = 0; i < CACHE_KINDS; i++) {
		if (make_folder(c, folders[i], e) < 0)
			return -1;
	}
	return 0;
}

void cache_close(struct cache *c)
{
	free(steal(&c->root));
}

int cache_check_name(const char *name, struct err *e)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
	size_t n = strlen(name);

	if (n == 0 || n > 128 || strspn(name, first) != n || strchr("._+-", name[0]))
		return err_set(e, ERR_INVALID, "\"%.150s\" is no name for an image in the cache", name);
	return 0;
}

int cache_new(const struct cache *c, const char *what, struct newfile *f, struct err *e)
{
	auto_free char *tmp = xasprintf("%s/tmp/%s", c->root, what);

	return newfile_open_tmp(f, tmp, e);
}

static char *note_path(const struct cache *c, const char *key)
{
	return xasprintf("%s/partial/%s.of", c->root, key);
}

int cache_partial(const struct cache *c, const char *key, struct newfile *f, char validator[CACHE_VALIDATOR_MAX + 1],
		  struct err *e)
{
	auto_free char *path = xasprintf("%s/partial/%s", c->root, key), *note = note_path(c, key);
	auto_buf text = BUF_INIT(CACHE_VALIDATOR_MAX);
	struct err none;

	if (newfile_open_kept(f, path, e) < 0)
		return -1;
	validator[0] = '\0';
	if (io_read_file(note, &text, &none) == 0 && text.data && strlen(text.data) == text.len)
		memcpy(validator, text.data, text.len + 1);
	return 0;
}

int cache_partial_note(const struct cache *c, const char *key, const char *validator, struct err *e)
{
	auto_free char *note = note_path(c, key);

	return fs_write_atomic(note, validator, strlen(validator), 0600, e);
}

void cache_partial_forget(const struct cache *c, const char *key)
{
	auto_free char *note = note_path(c, key);

	unlink(note);
}

/* Descriptor that holds the cache's lock. */
static int lock(const struct cache *c, struct err *e)
{
	auto_free char *path = xasprintf("%s/lock", c->root);
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	int r;

	if (fd < 0)
		return newfile_write_error(path, e);
	do {
		r = flock(fd, LOCK_EX);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? err_errno(e, "cannot lock %s", path) : steal_fd(&fd);
}

static char *object_path(const struct cache *c, const struct digest *sha256)
{
	return xasprintf("%s/objects/sha256-%s", c->root, sha256->hex);
}

int cache_publish(const struct cache *c, struct newfile *f, const struct digest *sha256, mode_t mode, struct err *e)
{
	auto_free char *path = object_path(c, sha256), *tmp = xasprintf("%s/tmp", c->root);
	auto_close int held = lock(c, e);
	struct stat have, new;

	if (held < 0)
		return -1;
	newfile_sweep(tmp);
	/* The same bytes are there: keep the file that others may have open. One cut short by a lost disk is replaced. */
	if (stat(path, &have) == 0 && fstat(f->fd, &new) == 0 && have.st_size == new.st_size &&
	    (have.st_mode & 0777) == mode) {
		newfile_fini(f);
		return 0;
	}
	return newfile_commit(f, path, mode, true, e);
}

int cache_link(const struct cache *c, enum cache_kind kind, const char *key, const struct digest *sha256, struct err *e)
{
	auto_free char *target = xasprintf("../objects/sha256-%s", sha256->hex);
	auto_free char *path = xasprintf("%s/%s/%s", c->root, folders[kind], key);
	auto_free char *tmp = xasprintf("%s/tmp/link", c->root), *dir = xasprintf("%s/%s", c->root, folders[kind]);
	auto_close int held = lock(c, e);

	if (held < 0)
		return -1;
	if (unlink(tmp) < 0 && errno != ENOENT)
		return err_errno(e, "cannot remove %s", tmp);
	if (symlink(target, tmp) < 0 || rename(tmp, path) < 0)
		return newfile_write_error(path, e);
	return fs_sync_dir(dir, e);
}

bool cache_follow(const struct cache *c, enum cache_kind kind, const char *key, struct digest *sha256)
{
	static const char lead[] = "../objects/sha256-";
	auto_free char *path = xasprintf("%s/%s/%s", c->root, folders[kind], key), *text = NULL;
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	struct err e;

	if (n < 0)
		return false;
	target[n] = '\0';
	if (strncmp(target, lead, sizeof(lead) - 1) != 0)
		return false;
	text = xasprintf("sha256:%s", target + sizeof(lead) - 1);
	return digest_parse(text, sha256, &e) == 0;
}

char *cache_object(const struct cache *c, const struct digest *sha256)
{
	auto_free char *path = object_path(c, sha256);

	return fs_exists(path) ? steal(&path) : NULL;
}
