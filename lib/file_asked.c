#include "lib/file_asked.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* Without a name goes what has none of its own: a home, a root, "." and "..", as path or by its pattern. */
static bool is_unnamed(const char *last)
{
	return !*last || !strcmp(last, "~") || !fnmatch(last, ".", FNM_PERIOD) || !fnmatch(last, "..", FNM_PERIOD);
}

static bool names(const char *path, const char *name)
{
	size_t n;
	const char *from = fp_last(path, &n);
	auto_free char *last = strndup(from, n);

	if (!last)
		return false;
	return *name ? !strcmp(last, name) || !fnmatch(last, name, FNM_PERIOD) : is_unnamed(last);
}

int file_asked_check(const struct file_asked *a, enum fp_type type, const char *name, struct err *e)
{
	bool may_be = type == FP_FILE || (type == FP_DIR && a->recursive);

	for (size_t i = 0; may_be && i < a->paths; i++)
		if (names(a->path[i], name))
			return 0;
	return err_set(e, ERR_INVALID, "the other side sends \"%s\", which it was not asked for", name);
}
