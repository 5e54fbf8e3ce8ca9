#include "limactl-c/plan/nested.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

/* What follows folder in path, without slashes before it; NULL when path does not lie in it. Slashes count once. */
static const char *below(const char *path, const char *folder)
{
	for (;;) {
		size_t n;

		path += strspn(path, "/");
		folder += strspn(folder, "/");
		n = strcspn(folder, "/");
		if (!n)
			return *path ? path : NULL;
		if (n != strcspn(path, "/") || memcmp(path, folder, n))
			return NULL;
		path += n;
		folder += n;
	}
}

/* A folder may be named by a way that has links, and m's by where that leads. */
char *nested_in(const struct plan *p, const struct plan_mount *m, const char **rest)
{
	const char *best = NULL;
	char *outer = NULL;

	for (size_t i = 0; i < p->mounts; i++) {
		const struct plan_mount *o = &p->mount[i];
		auto_free char *real = o->writable ? realpath(o->host_path, NULL) : NULL;
		const char *name[] = { o->writable ? o->host_path : NULL, real };

		for (size_t k = 0; k < 2; k++) {
			const char *r = name[k] ? below(m->host_path, name[k]) : NULL;

			if (!r || (best && strlen(r) <= strlen(best)))
				continue;
			best = r;
			free(outer);
			outer = xstrdup(name[k]);
		}
	}
	*rest = best;
	return outer;
}

/* Where path leads; of one that is not there, where what is there of it does. NULL: to nothing, by a link. */
static char *lead(const char *path)
{
	auto_free char *at = xstrdup(path);

	for (;;) {
		char *real = realpath(at, NULL), *slash;
		char says;

		if (real || errno != ENOENT || readlink(at, &says, 1) >= 0)
			return real;
		slash = strrchr(at, '/');
		if (!slash || slash == at)
			return xstrdup("/");
		*slash = '\0';
	}
}

int nested_check(const struct plan *p, const struct plan_mount *m, struct err *e)
{
	const char *rest;
	auto_free char *outer = nested_in(p, m, &rest);
	auto_free char *real_outer = outer ? lead(outer) : NULL, *real = outer ? lead(m->host_path) : NULL;

	if (!outer || (real && real_outer && (!strcmp(real, real_outer) || below(real, real_outer))))
		return 0;
	return err_set(e, ERR_INVALID, "%s lies in %s, which the guest may write, and a link there leads to %s: remove the link, or "
		       "share what it leads to", m->host_path, outer, real ? real : "nothing");
}
