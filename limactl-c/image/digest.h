/* digest.h - "sha256:HEX" and its kin, and hashing in one pass with the copy. */
#ifndef LIMA_IMAGE_DIGEST_H
#define LIMA_IMAGE_DIGEST_H

#include <stddef.h>

#include "lib/err.h"

enum { DIGEST_HEX_MAX = 128 };

struct digest {
	const char *algo;             /* "sha256", "sha384" or "sha512", static */
	char hex[DIGEST_HEX_MAX + 1]; /* lower case */
};

/* Reads "ALGO:HEX"; ERR_INVALID says what is wrong with it. */
int digest_parse(const char *text, struct digest *d, struct err *e);

/* Hashes SHA-256 and, when want is of another algorithm, that one too. */
struct hash;
struct hash *hash_new(const struct digest *want, struct err *e); /* want may be NULL, else is copied */
void hash_free(struct hash *h);
int hash_add(struct hash *h, const void *p, size_t n, struct err *e);
/* Fills sha256; -1 with ERR_INVALID when the bytes do not have the wanted digest. */
int hash_end(struct hash *h, struct digest *sha256, struct err *e);

/* The same for what is left to read of a descriptor. */
int hash_fd(int fd, const struct digest *want, struct digest *sha256, struct err *e);

#endif
