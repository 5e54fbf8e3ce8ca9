#include "limactl-c/base/prefix.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

#define PREFIX_ENV "LIMACTL_C_PREFIX"

/* Where a program may lie below the prefix. */
static const char *const program_dirs[] = { "/bin", "/libexec/limactl-c" };

char *prefix_of(const char *program)
{
	const char *slash = strrchr(program, '/');

	if (!slash || program[0] != '/')
		return NULL;
	for (size_t i = 0; i < sizeof(program_dirs) / sizeof(*program_dirs); i++) {
		size_t dir = (size_t)(slash - program), n = strlen(program_dirs[i]);

		if (dir >= n && !memcmp(slash - n, program_dirs[i], n))
			return dir == n ? xstrdup("/") : xstrndup(program, dir - n);
	}
	return NULL;
}

/* The running program's absolute path, malloc'd, or NULL. */
static char *self(void)
{
#ifdef __APPLE__
	char raw[PATH_MAX];
	uint32_t size = sizeof(raw);

	return _NSGetExecutablePath(raw, &size) == 0 ? realpath(raw, NULL) : NULL;
#else
	/* Not realpath(): after an upgrade the old file is gone, but its folder still is the
	 * installation's. */
	return fs_read_link("/proc/self/exe");
#endif
}

char *prefix_dir(struct err *e)
{
	auto_free char *program = self();
	const char *env = getenv(PREFIX_ENV);
	char *found = program ? prefix_of(program) : NULL;

	if (found)
		return found;
	if (env && env[0] == '/')
		return xstrdup(env);
	err_set(e, ERR_NOTFOUND,
		"cannot tell where limactl-c is installed: %s is not in a bin or libexec/limactl-c folder",
		program ? program : "this program");
	return NULL;
}

static char *join(const char *middle, const char *below, struct err *e)
{
	auto_free char *prefix = prefix_dir(e);
	const char *sep = below && *below ? "/" : "";

	if (!prefix)
		return NULL;
	return xasprintf("%s/%s%s%s", strcmp(prefix, "/") ? prefix : "", middle, sep,
			 below ? below : "");
}

char *prefix_share(const char *below, struct err *e)
{
	return join("share/limactl-c", below, e);
}

char *prefix_libexec(const char *program, struct err *e)
{
	return join("libexec/limactl-c", program, e);
}
