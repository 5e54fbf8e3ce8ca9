#include "limactl-c/cli/workdir.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

/* What follows root in dir: "" or "/…"; NULL when it is not in there. */
static const char *below(const char *dir, const char *root)
{
	size_t n = strlen(root);

	while (n && root[n - 1] == '/')
		n--;
	return !strncmp(dir, root, n) && (!dir[n] || dir[n] == '/') ? dir + n : NULL;
}

char *workdir_map(const struct cfg *c, const char *dir)
{
	const char *point = NULL, *rest = NULL;

	for (size_t i = 0; i < c->mounts; i++) {
		const struct cfg_mount *m = &c->mount[i];
		auto_free char *real = realpath(m->location, NULL);
		const char *r = below(dir, real ? real : m->location);

		if (r && (!rest || strlen(r) < strlen(rest))) {
			point = m->mount_point;
			rest = r;
		}
	}
	if (!point)
		return c->mounts ? xstrdup(dir) : NULL;
	/* A mount point "/" cannot be. */
	return xasprintf("%s%s", point, rest);
}
