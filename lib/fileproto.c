#include "lib/fileproto.h"

#include <string.h>

#include "lib/le.h"

enum { ENTRY_ASK = 1, NS_PER_S = 1000000000 };

void fp_header_pack(uint8_t p[FP_HEADER], enum fp_type type, size_t len)
{
	le32_put(p, (uint32_t)type);
	le32_put(p + 4, (uint32_t)len);
}

int fp_header_unpack(const uint8_t p[FP_HEADER], enum fp_type *type, size_t *len)
{
	uint32_t t = le32_get(p);

	if (t < FP_TOTAL || t > FP_END || le32_get(p + 4) > FP_PAYLOAD_MAX)
		return -1;
	*type = (enum fp_type)t;
	*len = le32_get(p + 4);
	return 0;
}

size_t fp_entry_pack(const struct fp_entry *v, uint8_t *p)
{
	size_t name = strlen(v->name), link = strlen(v->link);

	le32_put(p, v->mode);
	le64_put(p + 4, (uint64_t)v->mtime);
	le32_put(p + 12, v->mtime_ns);
	le64_put(p + 16, v->size);
	le16_put(p + 24, v->ask ? ENTRY_ASK : 0);
	le16_put(p + 26, (uint16_t)name);
	memcpy(p + FP_ENTRY_FIXED, v->name, name);
	memcpy(p + FP_ENTRY_FIXED + name, v->link, link);
	return FP_ENTRY_FIXED + name + link;
}

bool fp_is_name(const char *name)
{
	return *name && strlen(name) <= FP_NAME_MAX && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

const char *fp_last(const char *path, size_t *len)
{
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	*len = end - start;
	return path + start;
}

/* Bytes without NUL to a string. */
static int get_text(char *to, size_t max, const uint8_t *p, size_t n)
{
	if (n > max || memchr(p, 0, n))
		return -1;
	memcpy(to, p, n);
	to[n] = '\0';
	return 0;
}

int fp_entry_unpack(struct fp_entry *v, enum fp_type type, const uint8_t *p, size_t n)
{
	size_t name;

	if (n < FP_ENTRY_FIXED)
		return -1;
	*v = (struct fp_entry){ .mode = le32_get(p), .mtime = (int64_t)le64_get(p + 4), .mtime_ns = le32_get(p + 12),
				.size = le64_get(p + 16), .ask = le16_get(p + 24) == ENTRY_ASK };
	name = le16_get(p + 26);
	if (v->mode & ~(uint32_t)FP_MODE || v->mtime_ns >= NS_PER_S || v->size > FP_SIZE_MAX || le16_get(p + 24) > ENTRY_ASK ||
	    (v->ask && type != FP_FILE) || name > n - FP_ENTRY_FIXED)
		return -1;
	p += FP_ENTRY_FIXED;
	n -= FP_ENTRY_FIXED;
	if (get_text(v->name, FP_NAME_MAX, p, name) < 0 || get_text(v->link, FP_LINK_MAX, p + name, n - name) < 0)
		return -1;
	if ((type == FP_LINK) != (*v->link != '\0'))
		return -1;
	return fp_is_name(v->name) || (type == FP_DIR && !*v->name) ? 0 : -1;
}
