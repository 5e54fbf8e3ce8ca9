/* Records of changes in shared folders, from a peer that sends what it likes: what is taken cannot lead out of its folder, packs
 * into the same bytes, and no part of it is whole. */
#include <assert.h>
#include <string.h>

#include "lib/fevent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct fe_record *r, const uint8_t *from, size_t n)
{
	static struct fe_record again;
	static uint8_t packed[FE_RECORD_MAX];
	size_t len = strlen(r->path);

	assert(r->mount < FE_MOUNTS_MAX && len == n - FE_HEADER && r->path[0] != '/');
	assert(strcmp(r->path, "..") != 0 && strncmp(r->path, "../", 3) != 0 && !strstr(r->path, "/../") && !strstr(r->path, "//"));
	assert(len < 3 || strcmp(r->path + len - 3, "/..") != 0);
	assert(fe_pack(r->kind, r->mount, r->path, packed) == n && !memcmp(packed, from, n));
	for (size_t part = 0; part < n; part += part < FE_HEADER ? 1 : 97)
		assert(fe_unpack(&again, from, part) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fe_record r;
	ssize_t n;

	while ((n = fe_unpack(&r, data, size)) > 0) {
		assert((size_t)n <= size);
		check(&r, data, (size_t)n);
		data += n;
		size -= (size_t)n;
	}
	return 0;
}
