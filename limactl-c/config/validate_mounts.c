/* validate_mounts.c - rules of mounts[]. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"

static void check_location(struct check *k, size_t i, const char *location)
{
	struct stat st;

	/* A template that could not be filled here may become a path. */
	if (!location || !strncmp(location, "{{", 2))
		return;
	if (*location != '/')
		check_bad(k, xasprintf("mounts[%zu].location", i),
			  "must be an absolute path, or ~ for your home; got \"%.100s\"", location);
	else if (stat(location, &st) == 0 && !S_ISDIR(st.st_mode))
		check_bad(k, xasprintf("mounts[%zu].location", i), "must be a folder; %.100s is none", location);
	else if (stat(location, &st) < 0 && errno == ENOENT)
		check_warn(k, xasprintf("mounts[%zu].location", i), "is a folder that does not exist: %.100s",
			   location);
	else if (stat(location, &st) < 0)
		check_bad(k, xasprintf("mounts[%zu].location", i), "cannot be read: %.100s: %s", location,
			  strerror(errno));
}

static void check_point(struct check *k, size_t i, const char *point)
{
	static const char *const system[] = { "/",    "/bin",  "/dev", "/etc", "/home",
					      "/opt", "/sbin", "/tmp", "/usr", "/var" };

	/* When it is the location it was said there what is wrong with it. */
	if (!point || (*point != '/' && !strcmp(point, k->c->mount[i].location)))
		return;
	if (*point != '/' && strncmp(point, "{{", 2)) {
		check_bad(k, xasprintf("mounts[%zu].mountPoint", i),
			  "must be an absolute path in the guest, without ~; got \"%.100s\"", point);
		return;
	}
	for (size_t j = 0; j < sizeof(system) / sizeof(*system); j++) {
		if (!strcmp(point, system[j]))
			check_bad(k, xasprintf("mounts[%zu].mountPoint", i),
				  "must not be %s, which belongs to the guest's system; name a folder below it", point);
	}
	/* Root's home on both sides. */
	if (!strcmp(point, k->c->user.home) && !strcmp(point, k->c->mount[i].location))
		check_warn(k, xasprintf("mounts[%zu].location", i),
			   "hides the home of the guest's own user, %s; give another mountPoint", point);
	else if (!strcmp(point, k->c->user.home))
		check_bad(k, xasprintf("mounts[%zu].mountPoint", i),
			  "must not be %s, the home of the guest's own user; name another folder", point);
}

void check_mounts(struct check *k)
{
	for (size_t i = 0; i < k->c->mounts; i++) {
		check_location(k, i, k->c->mount[i].location);
		check_point(k, i, k->c->mount[i].mount_point);
	}
}
