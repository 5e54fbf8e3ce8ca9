#include "limactl-c/image/references.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/paths.h"

enum { TEXT_MAX = 4 << 20, HEADER = 64 << 10 };

static const char lead[] = "sha256-";

void references_add(struct references *r, const char hex[SHA256_HEX])
{
	char copy[SHA256_HEX + 1];

	memcpy(copy, hex, SHA256_HEX);
	copy[SHA256_HEX] = '\0';
	if (references_have(r, copy))
		return;
	r->hex = xrealloc_array(r->hex, r->count + 1, sizeof(*r->hex));
	memcpy(r->hex[r->count++], copy, sizeof(copy));
}

bool references_have(const struct references *r, const char *hex)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->hex[i], hex))
			return true;
	return false;
}

void references_fini(struct references *r)
{
	free(r->hex);
	*r = (struct references)REFERENCES_INIT;
}

static bool is_hex(const char *p)
{
	for (size_t i = 0; i < SHA256_HEX; i++)
		if (!isxdigit((unsigned char)p[i]))
			return false;
	return true;
}

void references_scan(struct references *r, const char *p, size_t n)
{
	const char *end = p + n;

	while ((p = memmem(p, (size_t)(end - p), lead, sizeof(lead) - 1))) {
		p += sizeof(lead) - 1;
		if (end - p >= SHA256_HEX && is_hex(p))
			references_add(r, p);
	}
}

/* The first bytes of a file of an instance; one that is not there names nothing. */
static int scan_file(struct references *r, const char *dir, enum path_name name, size_t most, struct err *e)
{
	auto_free char *path = path_in(dir, name), *text = NULL;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "cannot tell which images %s needs", path);
	text = xmalloc(most);
	n = io_read_full(fd, text, most);
	if (n < 0)
		return err_errno(e, "cannot tell which images %s needs", path);
	references_scan(r, text, (size_t)n);
	return 0;
}

/* Also folders that are being made or removed: what they lie on is still needed, or will be. */
static int scan_home(struct references *r, const char *home, struct err *e)
{
	auto_closedir DIR *d = opendir(home);
	struct dirent *de;

	if (!d)
		return errno == ENOENT ? 1 : err_errno(e, "cannot tell which images the instances in %s need", home);
	while ((de = readdir(d))) {
		auto_free char *dir = xasprintf("%s/%s", home, de->d_name);

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		if (scan_file(r, dir, PATH_PLAN, TEXT_MAX, e) < 0 || scan_file(r, dir, PATH_STATE_META, TEXT_MAX, e) < 0 ||
		    scan_file(r, dir, PATH_DISK, HEADER, e) < 0)
			return -1;
	}
	return 0;
}

static int scan_noted(struct references *r, const char *homes, const char *name, struct err *e)
{
	auto_free char *link = xasprintf("%s/%s", homes, name), *home = fs_read_link(link);
	int rc;

	if (!home)
		return 0;
	rc = scan_home(r, home, e);
	if (rc > 0)
		unlink(link);
	return rc < 0 ? -1 : 0;
}

int references_of_instances(struct references *r, const struct cache *c, struct err *e)
{
	auto_free char *homes = xasprintf("%s/homes", c->root), *own = paths_home(e);
	auto_closedir DIR *d = opendir(homes);
	struct dirent *de;

	if (!own || scan_home(r, own, e) < 0)
		return -1;
	while (d && (de = readdir(d)))
		if (scan_noted(r, homes, de->d_name, e) < 0)
			return -1;
	return 0;
}
