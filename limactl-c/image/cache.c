#include "limactl-c/image/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/lock.h"
#include "limactl-c/store/paths.h"

#ifdef __APPLE__
#define MTIME(st) ((st)->st_mtimespec)
#define CTIME(st) ((st)->st_ctimespec)
#else
#define MTIME(st) ((st)->st_mtim)
#define CTIME(st) ((st)->st_ctim)
#endif

enum { LOOK_MAX = 160 };

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
	static const char *const own[] = { "objects", "tmp", "partial", "known" };

	c->root = paths_cache(e);
	for (size_t i = 0; c->root && i < sizeof(own) / sizeof(own[0]); i++) {
		if (make_folder(c, own[i], e) < 0)
			return -1;
	}
	for (size_t i = 0; c->root && i < CACHE_KINDS; i++) {
		if (make_folder(c, folders[i], e) < 0)
			return -1;
	}
	return c->root ? 0 : -1;
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

int cache_partial(const struct cache *c, const char *key, struct newfile *f, char validator[FETCH_VALIDATOR_MAX + 1],
		  struct err *e)
{
	auto_free char *path = xasprintf("%s/partial/%s", c->root, key), *note = note_path(c, key);
	auto_buf text = BUF_INIT(FETCH_VALIDATOR_MAX);
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

	if (fd < 0)
		return fs_write_error(path, e);
	return lock_wait(fd, LOCK_EX) < 0 ? err_errno(e, "cannot lock %s", path) : steal_fd(&fd);
}

static char *object_path(const struct cache *c, const struct digest *sha256)
{
	return xasprintf("%s/objects/sha256-%s", c->root, sha256->hex);
}

/* How an object looks from outside; its ctime changes with every write, whatever the mtime is set to. */
static void look(const struct stat *st, char text[LOOK_MAX])
{
	snprintf(text, LOOK_MAX, "%llu %lld %lld.%09ld %lld.%09ld\n", (unsigned long long)st->st_ino, (long long)st->st_size,
		 (long long)MTIME(st).tv_sec, MTIME(st).tv_nsec, (long long)CTIME(st).tv_sec, CTIME(st).tv_nsec);
}

static void remember_look(const struct cache *c, const struct digest *sha256, const char text[LOOK_MAX])
{
	auto_free char *known = xasprintf("%s/known/sha256-%s", c->root, sha256->hex);
	struct err ignored; /* a cache that cannot be written to is read through each time */

	fs_write_atomic(known, text, strlen(text), 0644, &ignored);
}

static bool is_sound(const struct cache *c, const struct digest *sha256, const char *path)
{
	auto_free char *known = xasprintf("%s/known/sha256-%s", c->root, sha256->hex);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	auto_buf was = BUF_INIT(LOOK_MAX);
	char is[LOOK_MAX];
	struct digest got;
	struct err none;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	look(&st, is);
	if (io_read_file(known, &was, &none) == 0 && was.data && !strcmp(was.data, is))
		return true;
	if (hash_fd(fd, NULL, &got, &none) < 0 || strcmp(got.hex, sha256->hex))
		return false;
	/* As it was before it was read: what was altered meanwhile is read again the next time. */
	remember_look(c, sha256, is);
	return true;
}

int cache_publish(const struct cache *c, struct newfile *f, const struct digest *sha256, mode_t mode, struct err *e)
{
	auto_free char *path = object_path(c, sha256), *tmp = xasprintf("%s/tmp", c->root);
	auto_close int held = lock(c, e);
	char text[LOOK_MAX];
	struct stat have;

	if (held < 0)
		return -1;
	newfile_sweep(tmp);
	/* The same bytes are there: keep the file that others may have open. One that was altered or cut short is replaced. */
	if (stat(path, &have) == 0 && (have.st_mode & 0777) == mode && is_sound(c, sha256, path)) {
		f->kept = false;
		newfile_fini(f);
		return 0;
	}
	if (newfile_commit(f, path, mode, true, e) < 0)
		return -1;
	if (stat(path, &have) == 0) {
		look(&have, text);
		remember_look(c, sha256, text);
	}
	return 0;
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
		return fs_write_error(path, e);
	return fs_sync_dir(dir, e);
}

bool cache_follow(const struct cache *c, enum cache_kind kind, const char *key, struct digest *sha256)
{
	static const char lead[] = "../objects/sha256-";
	auto_free char *path = xasprintf("%s/%s/%s", c->root, folders[kind], key), *target = fs_read_link(path), *text = NULL;
	struct err e;

	if (!target || strncmp(target, lead, sizeof(lead) - 1) != 0)
		return false;
	text = xasprintf("sha256:%s", target + sizeof(lead) - 1);
	return digest_parse(text, sha256, &e) == 0;
}

bool cache_has(const struct cache *c, enum cache_kind kind, const char *key)
{
	auto_free char *path = xasprintf("%s/%s/%s", c->root, folders[kind], key);

	return fs_exists(path);
}

char *cache_object(const struct cache *c, const struct digest *sha256)
{
	auto_free char *path = object_path(c, sha256);

	return is_sound(c, sha256, path) ? steal(&path) : NULL;
}

void cache_url_key(const char *url, char key[SHA256_HEX + 1])
{
	sha256_hex(url, strlen(url), key);
}
