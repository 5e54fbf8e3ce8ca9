/* validate_mounts.c - rules of mounts[]. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"

static void check_location(struct check *k, size_t i, const char *location)
{
	struct stat st;
	int why;

	/* A template that could not be filled here may become a path. */
	if (!location || !strncmp(location, "{{", 2))
		return;
	if (*location != '/') {
		check_bad(k, xasprintf("mounts[%zu].location", i),
			  "must be an absolute path, or ~ for your home; got \"%.100s\"", location);
		return;
	}
	why = stat(location, &st) < 0 ? errno : 0;
	if (why == ENOENT)
		check_warn(k, xasprintf("mounts[%zu].location", i), "is a folder that does not exist: %.100s",
			   location);
	else if (why)
		check_bad(k, xasprintf("mounts[%zu].location", i), "cannot be read: %.100s: %s", location,
			  strerror(why));
	else if (!S_ISDIR(st.st_mode))
		check_bad(k, xasprintf("mounts[%zu].location", i), "must be a folder; %.100s is none", location);
}

/* Of paths that are the same to the guest: slashes may be doubled, and end it. Where path goes on after the folder; NULL: it
 * does not lie there. */
static const char *inside(const char *path, const char *folder)
{
	for (;;) {
		size_t n, k;

		path += strspn(path, "/");
		folder += strspn(folder, "/");
		if (!*folder)
			return path;
		n = strcspn(path, "/");
		k = strcspn(folder, "/");
		if (n != k || strncmp(path, folder, n))
			return NULL;
		path += n;
		folder += k;
	}
}

static bool is_same(const char *path, const char *folder)
{
	const char *rest = inside(path, folder);

	return rest && !*rest;
}

static bool goes_up(const char *path)
{
	for (; *path; path += strcspn(path, "/"), path += strspn(path, "/"))
		if (!strncmp(path, "..", 2) && (!path[2] || path[2] == '/'))
			return true;
	return false;
}

static void check_point(struct check *k, size_t i, const char *point)
{
	static const char *const system[] = { "/",    "/bin",  "/dev", "/etc", "/home",
					      "/opt", "/sbin", "/tmp", "/usr", "/var" };
	const char *location = k->c->mount[i].location;

	/* When it is the location it was said there what is wrong with it. */
	if (!point || (*point != '/' && location && !strcmp(point, location)))
		return;
	if (*point != '/' && strncmp(point, "{{", 2)) {
		check_bad(k, xasprintf("mounts[%zu].mountPoint", i),
			  "must be an absolute path in the guest, without ~; got \"%.100s\"", point);
		return;
	}
	if (goes_up(point))
		check_bad(k, xasprintf("mounts[%zu].mountPoint", i), "must not have .. in it; got \"%.100s\"", point);
	for (size_t j = 0; j < sizeof(system) / sizeof(*system); j++) {
		if (is_same(point, system[j]))
			check_bad(k, xasprintf("mounts[%zu].mountPoint", i),
				  "must not be %s, which belongs to the guest's system; name a folder below it", point);
	}
	/* Root's home on both sides. */
	if (!is_same(point, k->c->user.home))
		return;
	if (location && is_same(point, location))
		check_warn(k, xasprintf("mounts[%zu].location", i),
			   "hides the home of the guest's own user, %s; give another mountPoint", point);
	else
		check_bad(k, xasprintf("mounts[%zu].mountPoint", i),
			  "must not be %s, the home of the guest's own user; name another folder", point);
}

/* As virtio wants it. */
static void check_queue(struct check *k, size_t i)
{
	uint32_t n = k->c->mount[i].virtiofs_queue_size;

	if (n & (n - 1))
		check_bad(k, xasprintf("mounts[%zu].virtiofs.queueSize", i), "must be a power of two, such as 512 or 1024; got %u",
			  (unsigned)n);
}

/* A mount within another one is seen in place of what that has there. As on the host it is what was meant. */
static void check_overlap(struct check *k, size_t i)
{
	const struct cfg_mount *m = &k->c->mount[i];

	for (size_t j = 0; j < k->c->mounts; j++) {
		const struct cfg_mount *outer = &k->c->mount[j];
		const char *rest, *on_host;

		if (j == i || !m->location || !outer->location || *m->mount_point != '/' || *outer->mount_point != '/')
			continue;
		rest = inside(m->mount_point, outer->mount_point);
		if (!rest || !*rest)
			continue;
		on_host = inside(m->location, outer->location);
		if (!on_host || !is_same(on_host, rest))
			check_warn(k, xasprintf("mounts[%zu]", i), "lies in %.100s, where mounts[%zu] puts another folder",
				   outer->mount_point, j);
	}
}

void check_mounts(struct check *k)
{
	for (size_t i = 0; i < k->c->mounts; i++) {
		check_location(k, i, k->c->mount[i].location);
		check_point(k, i, k->c->mount[i].mount_point);
		check_overlap(k, i);
		check_queue(k, i);
	}
}
