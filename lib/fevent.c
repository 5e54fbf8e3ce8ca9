#include "lib/fevent.h"

#include <string.h>

#include "lib/le.h"

bool fe_path_ok(const char *path, size_t n)
{
	size_t begin = 0;

	if (n > FE_PATH_MAX || memchr(path, 0, n))
		return false;
	for (size_t i = 0; n && i <= n; i++) {
		size_t len = i - begin;

		if (i < n && path[i] != '/')
			continue;
		if (!len || (len == 1 && path[begin] == '.') || (len == 2 && !memcmp(path + begin, "..", 2)))
			return false;
		begin = i + 1;
	}
	return true;
}

size_t fe_pack(enum fe_kind kind, unsigned mount, const char *path, uint8_t *p)
{
	size_t n = strnlen(path, FE_PATH_MAX);

	le16_put(p, (uint16_t)n);
	p[2] = (uint8_t)kind;
	p[3] = (uint8_t)mount;
	memcpy(p + FE_HEADER, path, n);
	return FE_HEADER + n;
}

ssize_t fe_unpack(struct fe_record *r, const uint8_t *p, size_t n)
{
	size_t len;

	if (n < FE_HEADER)
		return 0;
	len = le16_get(p);
	if (len > FE_PATH_MAX || p[2] < FE_HERE || p[2] > FE_GONE || p[3] >= FE_MOUNTS_MAX)
		return -1;
	if (n < FE_HEADER + len)
		return 0;
	/* The shared folder itself cannot go: it is what is mounted. */
	if (!fe_path_ok((const char *)p + FE_HEADER, len) || (!len && p[2] != FE_HERE && p[2] != FE_CHANGED))
		return -1;
	r->kind = (enum fe_kind)p[2];
	r->mount = p[3];
	memcpy(r->path, p + FE_HEADER, len);
	r->path[len] = '\0';
	return (ssize_t)(FE_HEADER + len);
}
