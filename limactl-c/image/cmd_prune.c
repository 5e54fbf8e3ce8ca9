/* image prune - removes from the cache what no instance lies on. Prints what went. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/image/cache.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/references.h"
#include "limactl-c/store/cache_use.h"

enum { OPT_KEEP };
enum { KEEP_MAX = 4 << 20, PARTIAL_SECONDS = 7 * 24 * 3600 };

static const char lead[] = "sha256-";

struct prune {
	struct cache cache;
	struct references keep;
	uint64_t freed; /* bytes on the disk */
};

static void keep(struct prune *p, const struct digest *object)
{
	auto_free char *key = xasprintf("sha256-%s", object->hex);
	struct digest unpacked;

	references_add(&p->keep, object->hex);
	if (cache_follow(&p->cache, CACHE_UNPACKED, key, &unpacked))
		references_add(&p->keep, unpacked.hex);
}

static void keep_digest(struct prune *p, const char *text)
{
	auto_free char *key = NULL;
	struct digest d, sha256;
	struct err none;

	if (digest_parse(text, &d, &none) < 0)
		return;
	key = xasprintf("%s-%s", d.algo, d.hex);
	if (!strcmp(d.algo, "sha256"))
		keep(p, &d);
	else if (cache_follow(&p->cache, CACHE_DIGESTS, key, &sha256))
		keep(p, &sha256);
}

static void keep_location(struct prune *p, const char *location)
{
	char key[SHA256_HEX + 1];
	struct digest object;
	struct err none;

	cache_url_key(location, key);
	if (!strncmp(location, "cache:", 6) && cache_check_name(location + 6, &none) == 0 &&
	    cache_follow(&p->cache, CACHE_NAMES, location + 6, &object))
		keep(p, &object);
	else if (strstr(location, "://") && cache_follow(&p->cache, CACHE_URLS, key, &object))
		keep(p, &object);
}

/* A line each: where an image is from, and behind a tab its digest. */
static int read_keep(struct prune *p, const char *path, struct err *e)
{
	auto_buf text = BUF_INIT(KEEP_MAX);
	char *save = NULL;

	if (io_read_file(path, &text, e) < 0)
		return -1;
	for (char *line = text.data ? strtok_r(text.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(line, '\t');

		if (tab) {
			*tab = '\0';
			keep_digest(p, tab + 1);
		}
		keep_location(p, line);
	}
	return 0;
}

/* QEMU keeps a lock on every image it has open, read-only ones too. */
static bool is_open_in_qemu(int fd)
{
#ifdef F_OFD_GETLK
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
#else
	(void)fd;
	return false;
#endif
}

/* Names that lead to the object, "a, b"; malloc'd, the digest when there is none. */
static char *called(const struct prune *p, const char *hex)
{
	auto_free char *dir = xasprintf("%s/names", p->cache.root);
	auto_closedir DIR *d = opendir(dir);
	auto_buf names = BUF_INIT(1000);
	struct dirent *de;
	struct digest object;

	while (d && (de = readdir(d)))
		if (cache_follow(&p->cache, CACHE_NAMES, de->d_name, &object) && !strcmp(object.hex, hex))
			buf_addf(&names, "%s%s", names.len ? ", " : "", de->d_name);
	return names.len ? xstrdup(names.data) : xasprintf("sha256:%s", hex);
}

static int remove_object(struct prune *p, int dir, const char *name, struct err *e)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	auto_free char *what = NULL, *size = NULL;
	struct stat st;

	if (strncmp(name, lead, sizeof(lead) - 1) || references_have(&p->keep, name + sizeof(lead) - 1))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0 || is_open_in_qemu(fd))
		return 0;
	if (unlinkat(dir, name, 0) < 0)
		return err_errno(e, "cannot remove %s from the cache", name);
	what = called(p, name + sizeof(lead) - 1);
	size = text_size((uint64_t)st.st_blocks * 512);
	p->freed += (uint64_t)st.st_blocks * 512;
	printf("Removed %s (%s)\n", what, size);
	return 0;
}

static int each(struct prune *p, const char *folder,
		int (*fn)(struct prune *p, int dir, const char *name, struct err *e), struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", p->cache.root, folder);
	auto_closedir DIR *d = opendir(path);
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.' && fn(p, dirfd(d), de->d_name, e) < 0)
			return -1;
	return 0;
}

static int remove_dangling(struct prune *p, int dir, const char *name, struct err *e)
{
	char target[PATH_MAX];

	(void)p;
	(void)e;
	if (readlinkat(dir, name, target, sizeof(target)) > 0 && faccessat(dir, name, F_OK, 0) < 0 && errno == ENOENT)
		unlinkat(dir, name, 0);
	return 0;
}

static int remove_unknown(struct prune *p, int dir, const char *name, struct err *e)
{
	auto_free char *object = xasprintf("%s/objects/%s", p->cache.root, name);

	(void)e;
	if (access(object, F_OK) < 0 && errno == ENOENT)
		unlinkat(dir, name, 0);
	return 0;
}

/* What nobody has gone on with for a week, with the note beside it; one that is being written is locked. */
static int remove_partial(struct prune *p, int dir, const char *name, struct err *e)
{
	auto_free char *note = xasprintf("%s.of", name), *size = NULL;
	auto_close int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	(void)e;
	if (fd < 0 || fstat(fd, &st) < 0 || time(NULL) - st.st_mtime < PARTIAL_SECONDS || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	if (unlinkat(dir, name, 0) < 0)
		return 0;
	unlinkat(dir, note, 0);
	p->freed += (uint64_t)st.st_blocks * 512;
	if (!strstr(name, ".of")) {
		size = text_size((uint64_t)st.st_blocks * 512);
		printf("Removed a download that was not finished (%s)\n", size);
	}
	return 0;
}

/* Bytes on the disk of the files of a folder in dir. */
static uint64_t bytes_in(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint64_t bytes = 0;
	struct dirent *de;
	struct stat st;

	while (d && (de = readdir(d)))
		if (fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	return bytes;
}

/* A kernel taken out of a file, or what a killed process has left of that: who makes one holds use.lock. */
static int remove_boot_files(struct prune *p, int dir, const char *name, struct err *e)
{
	auto_free char *path = xasprintf("%s/boot/%s", p->cache.root, name), *size = NULL;
	bool known = !strncmp(name, lead, sizeof(lead) - 1);
	uint64_t bytes = bytes_in(dir, name);

	if (known ? references_have(&p->keep, name + sizeof(lead) - 1) : strncmp(name, "tmp.", 4) != 0)
		return 0;
	if (fs_remove_tree(path, e) < 0)
		return -1;
	p->freed += bytes;
	size = text_size(bytes);
	printf("Removed a kernel taken out of its image (%s)\n", size);
	return 0;
}

static int prune(struct prune *p, struct err *e)
{
	static const struct {
		const char *folder;
		int (*fn)(struct prune *p, int dir, const char *name, struct err *e);
	} steps[] = {
		{ "objects", remove_object },  { "names", remove_dangling },    { "urls", remove_dangling },
		{ "digests", remove_dangling }, { "unpacked", remove_dangling }, { "known", remove_unknown },
		{ "partial", remove_partial }, { "boot", remove_boot_files },
	};
	auto_free char *tmp = xasprintf("%s/tmp", p->cache.root);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (each(p, steps[i].folder, steps[i].fn, e) < 0)
			return -1;
	newfile_sweep(tmp);
	return 0;
}

static int run(const struct command_line *l, struct err *e)
{
	struct prune p = { .keep = REFERENCES_INIT };
	auto_close int held = -1;
	auto_free char *size = NULL;
	int rc;

	/* From here on nobody looks for an image, and who found one has a plan that says so. */
	if (cache_open(&p.cache, e) < 0 || (held = cache_use_alone(p.cache.root, e)) < 0)
		rc = -1;
	else
		rc = references_of_instances(&p.keep, &p.cache, e) < 0 ||
				     (l->opt[OPT_KEEP] && read_keep(&p, l->opt[OPT_KEEP], e) < 0) ?
			     -1 :
			     prune(&p, e);
	size = text_size(p.freed);
	if (rc == 0)
		printf("Freed %s\n", size);
	references_fini(&p.keep);
	cache_close(&p.cache);
	return rc;
}

const struct command command_prune = {
	.name = "prune",
	.args = "",
	.help = "remove what no instance lies on and no line \"LOCATION[<tab>DIGEST]\" of KEEP names; print what went",
	.opt = { [OPT_KEEP] = { "keep", "KEEP", false } },
	.run = run,
};
