#include "limactl-c/image/digest.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* OpenSSL has a type of the same name as one of our error kinds. */
#define ERR_STATE OPENSSL_ERR_STATE
#include <openssl/evp.h>
#undef ERR_STATE

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

enum { CHUNK = 256 * 1024 };

static const struct {
	const char *name;
	size_t hex; /* digits */
	const EVP_MD *(*md)(void);
} algos[] = {
	{ "sha256", 64, EVP_sha256 },
	{ "sha384", 96, EVP_sha384 },
	{ "sha512", 128, EVP_sha512 },
};

enum { ALGOS = sizeof(algos) / sizeof(algos[0]), SHA256 = 0 };

static int find_algo(const char *name, size_t len)
{
	for (int i = 0; i < ALGOS; i++) {
		if (strlen(algos[i].name) == len && memcmp(algos[i].name, name, len) == 0)
			return i;
	}
	return -1;
}

int digest_parse(const char *text, struct digest *d, struct err *e)
{
	const char *colon = strchr(text, ':');
	int algo = colon ? find_algo(text, (size_t)(colon - text)) : -1;
	size_t n;

	if (algo < 0)
		return err_set(e, ERR_INVALID, "digest \"%.100s\" does not begin with sha256:, sha384: or sha512:", text);
	n = strlen(colon + 1);
	if (n != algos[algo].hex || strspn(colon + 1, "0123456789abcdefABCDEF") != n)
		return err_set(e, ERR_INVALID, "digest \"%.150s\" has not the %zu hexadecimal digits of a %s", text,
			       algos[algo].hex, algos[algo].name);
	d->algo = algos[algo].name;
	for (size_t i = 0; i <= n; i++)
		d->hex[i] = (char)tolower((unsigned char)colon[1 + i]);
	return 0;
}

struct hash {
	EVP_MD_CTX *sha256;
	EVP_MD_CTX *other; /* NULL unless another algorithm is wanted */
	bool check;
	struct digest want;
};

static EVP_MD_CTX *start(int algo)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (c && EVP_DigestInit_ex(c, algos[algo].md(), NULL) == 1)
		return c;
	EVP_MD_CTX_free(c);
	return NULL;
}

struct hash *hash_new(const struct digest *want, struct err *e)
{
	struct hash *h = xcalloc(1, sizeof(*h));
	int algo = want ? find_algo(want->algo, strlen(want->algo)) : SHA256;

	if (want) {
		h->want = *want;
		h->check = true;
	}
	h->sha256 = start(SHA256);
	if (algo != SHA256)
		h->other = start(algo);
	if (h->sha256 && (algo == SHA256 || h->other))
		return h;
	hash_free(h);
	err_set(e, ERR_SYS, "libcrypto offers no %s", algos[algo].name);
	return NULL;
}

void hash_free(struct hash *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->sha256);
	EVP_MD_CTX_free(h->other);
	free(h);
}

int hash_add(struct hash *h, const void *p, size_t n, struct err *e)
{
	if (EVP_DigestUpdate(h->sha256, p, n) == 1 && (!h->other || EVP_DigestUpdate(h->other, p, n) == 1))
		return 0;
	return err_set(e, ERR_SYS, "libcrypto failed to hash");
}

static int finish(EVP_MD_CTX *c, char *hex, struct err *e)
{
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned n;

	if (EVP_DigestFinal_ex(c, raw, &n) != 1 || n * 2 > DIGEST_HEX_MAX)
		return err_set(e, ERR_SYS, "libcrypto failed to hash");
	for (unsigned i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

int hash_end(struct hash *h, struct digest *sha256, struct err *e)
{
	struct digest other = { .algo = h->want.algo };
	const struct digest *got = h->other ? &other : sha256;

	sha256->algo = algos[SHA256].name;
	if (finish(h->sha256, sha256->hex, e) < 0 || (h->other && finish(h->other, other.hex, e) < 0))
		return -1;
	if (h->check && strcmp(got->hex, h->want.hex) != 0)
		return err_set(e, ERR_INVALID, "wrong digest: it is %s:%s, not %s:%s", got->algo, got->hex, h->want.algo,
			       h->want.hex);
	return 0;
}

int hash_fd(int fd, const struct digest *want, struct digest *sha256, struct err *e)
{
	struct hash *h = hash_new(want, e);
	auto_free char *chunk = xmalloc(CHUNK);
	int r = h ? 0 : -1;

	while (r == 0) {
		ssize_t k = read(fd, chunk, CHUNK);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			r = err_errno(e, "read");
		else if (k == 0)
			break;
		else
			r = hash_add(h, chunk, (size_t)k, e);
	}
	if (r == 0)
		r = hash_end(h, sha256, e);
	hash_free(h);
	return r;
}
