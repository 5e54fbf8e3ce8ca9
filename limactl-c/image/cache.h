/* cache.h - the content-addressed cache of images.
 *
 *   objects/sha256-HEX           a file by the digest of its bytes, read-only, never changed
 *   names/NAME                   -> ../objects/sha256-HEX, what "cache:NAME" means now
 *   urls/HEX                     -> the object last fetched from the URL with that SHA-256
 *   digests/sha512-HEX           -> the object that has this other digest
 *   unpacked/sha256-HEX          -> the object a packed file with that digest unpacks to; the packed one is not kept
 *   known/sha256-HEX             inode, size and times the object had when its bytes were last seen to have that digest
 *   boot/sha256-HEX/             kernel, initrd and args taken out of an ISO, or the plain kernel of another, by path, size
 *                                and time of that file (cli/bootfiles.c); tmp.XXXXXX while they are written
 *   homes/HEX                    -> a LIMA_HOME whose instances may lie on objects (store/cache_use.h)
 *   tmp/                         files being written
 *   partial/HEX, HEX.of          a download by the URL's SHA-256, gone on with at the next try, and what it is a part of
 *   keep.PID.tmp                 what `prune --keep-referred` of that process keeps besides
 *   lock                         held while a link changes
 *   use.lock                     held, shared, from the look for an image until a plan names it; by prune alone
 *
 * Links are relative and replaced atomically. Objects are used by path (an instance's disk is an overlay on one).
 */
#ifndef LIMA_IMAGE_CACHE_H
#define LIMA_IMAGE_CACHE_H

#include <sys/types.h>

#include "limactl-c/base/sha256.h"
#include "limactl-c/image/digest.h"
#include "limactl-c/image/fetch.h"
#include "limactl-c/image/newfile.h"

enum cache_kind { CACHE_NAMES, CACHE_URLS, CACHE_DIGESTS, CACHE_UNPACKED, CACHE_KINDS };

struct cache {
	char *root; /* owned */
};

#define CACHE_INIT { 0 }

int cache_open(struct cache *c, struct err *e); /* makes the folders */
void cache_close(struct cache *c);

#define auto_cache CLEANUP(cache_close) struct cache

/* A name may have letters, digits and . _ + -, 128 at most, and begins with a letter or digit. */
int cache_check_name(const char *name, struct err *e);

/* A new file for an object; what names the work ("url-HEX"), so that two at the same take turns. */
int cache_new(const struct cache *c, const char *what, struct newfile *f, struct err *e);

/* A download's file, with what earlier tries got, and what the server called the file then: its ETag or date, "" for none. */
int cache_partial(const struct cache *c, const char *key, struct newfile *f, char validator[FETCH_VALIDATOR_MAX + 1],
		  struct err *e);
int cache_partial_note(const struct cache *c, const char *key, const char *validator, struct err *e);
void cache_partial_forget(const struct cache *c, const char *key); /* removes the note; the file is its owner's */

/* Moves a written file to its place. mode is 0444, or 0555 for a program. */
int cache_publish(const struct cache *c, struct newfile *f, const struct digest *sha256, mode_t mode, struct err *e);

int cache_link(const struct cache *c, enum cache_kind kind, const char *key, const struct digest *sha256, struct err *e);

/* Digest of the object a link names, the object there or not. False: no such link. */
bool cache_follow(const struct cache *c, enum cache_kind kind, const char *key, struct digest *sha256);

bool cache_has(const struct cache *c, enum cache_kind kind, const char *key); /* the link leads to a file, sound or not */

void cache_url_key(const char *url, char key[SHA256_HEX + 1]); /* the name of a URL: its SHA-256 */

/* Path of the object, malloc'd; NULL when it is not there, or is no longer what it was. It is read through (0.6 s for 600 MB
 * on the test machine) only when the file does not look as it did when that was last done. */
char *cache_object(const struct cache *c, const struct digest *sha256);

#endif
