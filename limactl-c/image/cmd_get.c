/* image get LOCATION - the local path of an image, fetched and unpacked into the cache when needed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/image/cache.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/fetch.h"
#include "limactl-c/image/lima_cache.h"
#include "limactl-c/image/unpack.h"

enum { OPT_DIGEST, OPT_TEXT, OPT_PACKED };

/* As large as a template may be. */
#define TEXT_MAX (4ULL << 20)

struct request {
	const struct cache *cache;
	const char *location;
	const struct digest *want; /* NULL: any */
	bool text;                 /* a small file, as it is now */
	bool packed;               /* a packed file, or an archive, stays what it is */
};

static bool has_prefix(const char *s, const char *prefix)
{
	return strncasecmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_packed(const struct request *r, const char *location)
{
	return !r->text && !r->packed && unpack_is_packed(location);
}

/* What bytes with the digest `got` became in the cache: themselves, or what they unpack to. NULL when not there. */
static char *cached(const struct request *r, const struct digest *got)
{
	auto_free char *key = xasprintf("sha256-%s", got->hex);
	struct digest object = *got;

	if (is_packed(r, r->location) && !cache_follow(r->cache, CACHE_UNPACKED, key, &object))
		return NULL;
	return cache_object(r->cache, &object);
}

/* The object for a wanted digest, by that alone. */
static char *find_wanted(const struct request *r)
{
	auto_free char *key = xasprintf("%s-%s", r->want->algo, r->want->hex);
	struct digest sha256 = *r->want;

	if (strcmp(r->want->algo, "sha256") != 0 && !cache_follow(r->cache, CACHE_DIGESTS, key, &sha256))
		return NULL;
	return cached(r, &sha256);
}

/* Unpacks into the cache the bytes of fd, from its begin, which have the digest `got`. */
static int store_unpacked(const struct request *r, int fd, const struct digest *got, struct digest *object,
			  struct err *e)
{
	auto_free char *key = xasprintf("sha256-%s", got->hex), *what = xasprintf("unpack-%s", got->hex);
	auto_newfile f = NEWFILE_INIT;
	auto_sink s = SINK_INIT;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "seek in %s", r->location);
	if (cache_new(r->cache, what, &f, e) < 0 || sink_open(&s, &f, NULL, e) < 0 ||
	    unpack_stream(fd, r->location, &s, e) < 0 || sink_end(&s, object, e) < 0)
		return -1;
	/* The link first, as in keep(). */
	if (cache_link(r->cache, CACHE_UNPACKED, key, object, e) < 0)
		return -1;
	return cache_publish(r->cache, &f, object, 0444, e);
}

/* Remembers that the bytes with the wanted digest are those with this SHA-256. */
static int remember_digest(const struct request *r, const struct digest *got, struct err *e)
{
	auto_free char *key = NULL;

	if (!r->want || strcmp(r->want->algo, "sha256") == 0)
		return 0;
	key = xasprintf("%s-%s", r->want->algo, r->want->hex);
	return cache_link(r->cache, CACHE_DIGESTS, key, got, e);
}

/* The URL's bytes of an earlier download; not taken when another digest is wanted now, or a text, which may change. */
static char *find_url(const struct request *r, const char *key)
{
	struct digest got;

	if (r->want)
		return find_wanted(r);
	return !r->text && cache_follow(r->cache, CACHE_URLS, key, &got) ? cached(r, &got) : NULL;
}

/* A download that may take several tries. */
struct partial {
	const struct cache *cache;
	const char *key;
};

static int note(void *arg, const char *validator, struct err *e)
{
	const struct partial *p = arg;

	return cache_partial_note(p->cache, p->key, validator, e);
}

/* The partial file goes when it is closed, its note at once: the next try begins anew. */
static void drop(const struct request *r, const char *key, struct newfile *f)
{
	f->kept = false;
	cache_partial_forget(r->cache, key);
}

/* The bytes into f, which holds those of an earlier try. */
static int download(const struct request *r, const char *key, const char *validator, struct newfile *f, struct digest *got,
		    struct err *e)
{
	struct partial p = { r->cache, key };
	auto_sink s = SINK_INIT;
	struct fetch fetch = { .url = r->location, .to = &s, .began = note, .arg = &p };
	int rc;

	if (sink_open(&s, f, r->want, e) < 0 || sink_resume(&s, e) < 0)
		return -1;
	if (r->text)
		s.max = TEXT_MAX;
	memcpy(fetch.validator, validator, sizeof(fetch.validator));
	rc = fetch_url(&fetch, e);
	/* Half a download that fills the disk is of no use to anybody. */
	if (!*fetch.validator || !s.len || (rc < 0 && fs_is_full(e->errnum)))
		drop(r, key, f);
	if (rc < 0)
		return -1;
	if (sink_end(&s, got, e) == 0)
		return 0;
	/* A wrong digest is not mended by going on. */
	drop(r, key, f);
	return err_wrap(e, "%s", r->location);
}

/* What Lima has of the URL, as an object of ours. 1: it is in f; 0: nothing that will do; -1: there is no room for it, and so
 * none for a download. */
static int take_from_lima(const struct request *r, const char *key, struct newfile *f, struct digest *got, struct err *e)
{
	auto_free char *what = xasprintf("lima-%s", key);
	auto_close int fd = r->text && !r->want ? -1 : lima_cache_open(key);
	auto_sink s = SINK_INIT;

	if (fd < 0)
		return 0;
	if (cache_new(r->cache, what, f, e) == 0 && sink_open(&s, f, r->want, e) == 0 && sink_copy_file(&s, fd, e) == 0 &&
	    sink_end(&s, got, e) == 0)
		return 1;
	newfile_fini(f);
	return fs_is_full(e->errnum) ? -1 : 0;
}

/* The bytes with the digest got are in f: what the URL was asked for. */
static char *keep(const struct request *r, const char *key, struct newfile *f, const struct digest *got,
		  struct err *e)
{
	struct digest object = *got;

	/* Links first: publishing lets the next process in, which must find them. They may dangle, that means "not there". */
	if (remember_digest(r, got, e) < 0 || cache_link(r->cache, CACHE_URLS, key, got, e) < 0)
		return NULL;
	if (is_packed(r, r->location) ? store_unpacked(r, f->fd, got, &object, e) < 0
					  : cache_publish(r->cache, f, got, 0444, e) < 0)
		return NULL;
	return cache_object(r->cache, &object);
}

static char *get_url(const struct request *r, struct err *e)
{
	char validator[FETCH_VALIDATOR_MAX + 1];
	auto_newfile f = NEWFILE_INIT, taken = NEWFILE_INIT;
	char key[SHA256_HEX + 1];
	struct digest got;
	char *path;
	int rc;

	cache_url_key(r->location, key);
	path = find_url(r, key);
	/* Another process may be at the same download: we wait here, and look again. */
	if (path || cache_partial(r->cache, key, &f, validator, e) < 0)
		return path;
	path = find_url(r, key);
	if (path) {
		drop(r, key, &f);
		return path;
	}
	rc = take_from_lima(r, key, &taken, &got, e);
	if (rc > 0 || (rc < 0 && !*validator))
		drop(r, key, &f);
	if (rc)
		return rc < 0 ? NULL : keep(r, key, &taken, &got, e);
	if (download(r, key, validator, &f, &got, e) < 0 || !(path = keep(r, key, &f, &got, e)))
		return NULL;
	/* What was fetched is not fetched again because, say, the disk was too full to unpack it. */
	drop(r, key, &f);
	return path;
}

static int open_regular(const char *path, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return err_errno(e, "cannot open %s", path);
	if (fstat(fd, &st) < 0)
		return err_errno(e, "cannot look at %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is no regular file", path);
	return steal_fd(&fd);
}

static char *get_file(const struct request *r, const char *path, struct err *e)
{
	auto_close int fd = open_regular(path, e);
	bool packed = is_packed(r, path);
	struct digest got, object;
	char *done;

	if (fd < 0)
		return NULL;
	/* A plain file that nothing is asked of is used where it lies, unread. */
	if (!packed && !r->want)
		return xstrdup(path);
	if (hash_fd(fd, r->want, &got, e) < 0)
		return err_wrap(e, "%s", path), NULL;
	if (!packed)
		return xstrdup(path);
	done = cached(r, &got);
	if (done)
		return done;
	return store_unpacked(r, fd, &got, &object, e) < 0 ? NULL : cache_object(r->cache, &object);
}

static char *get_named(const struct request *r, const char *name, struct err *e)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	struct digest got, object;

	if (cache_check_name(name, e) < 0)
		return NULL;
	if (cache_follow(r->cache, CACHE_NAMES, name, &object))
		path = cache_object(r->cache, &object);
	if (!path && cache_has(r->cache, CACHE_NAMES, name)) {
		err_set(e, ERR_INVALID, "the cache's image \"%s\" was altered since it was put there: `make image` or `image "
			"import` mends it", name);
		return NULL;
	}
	if (!path) {
		err_set(e, ERR_NOTFOUND, "the cache has no image \"%s\"; `make image` puts the guest's files there", name);
		return NULL;
	}
	if (!r->want || strcmp(r->want->hex, object.hex) == 0)
		return steal(&path);
	fd = open_regular(path, e);
	if (fd < 0 || hash_fd(fd, r->want, &got, e) < 0)
		return err_wrap(e, "cache:%s", name), NULL;
	return steal(&path);
}

static char *get(const struct request *r, struct err *e)
{
	const char *at = r->location;

	if (has_prefix(at, "cache:"))
		return get_named(r, at + strlen("cache:"), e);
	if (has_prefix(at, "http://") || has_prefix(at, "https://"))
		return get_url(r, e);
	if (has_prefix(at, "file://"))
		return get_file(r, at + strlen("file://"), e);
	if (strstr(at, "://"))
		return err_set(e, ERR_INVALID, "%s: only http, https and file are fetched", at), NULL;
	return get_file(r, at, e);
}

static int run(const struct command_line *l, struct err *e)
{
	auto_cache c = CACHE_INIT;
	struct request r = { .cache = &c, .location = l->arg[0], .text = l->opt[OPT_TEXT], .packed = l->opt[OPT_PACKED] };
	struct digest want;
	auto_free char *path = NULL;

	if (!r.text && !r.packed && unpack_is_archive(r.location))
		return err_set(e, ERR_INVALID, "%s is an archive of many files, not an image", r.location);
	if (l->opt[OPT_DIGEST]) {
		if (digest_parse(l->opt[OPT_DIGEST], &want, e) < 0)
			return -1;
		r.want = &want;
	}
	if (cache_open(&c, e) < 0)
		return -1;
	path = get(&r, e);
	if (!path)
		return -1;
	puts(path);
	return 0;
}

const struct command command_get = {
	.name = "get",
	.args = "LOCATION",
	.nargs = 1,
	.help = "print the path of cache:NAME, a path, file://, http:// or https://, fetched and, without --packed, unpacked",
	.opt = {
		[OPT_DIGEST] = { "digest", "ALGO:HEX", false },
		[OPT_TEXT] = { "text", NULL, false },
		[OPT_PACKED] = { "packed", NULL, false },
	},
	.run = run,
};
