#include "limactl-c/store/cache_use.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/sha256.h"
#include "limactl-c/store/lock.h"
#include "limactl-c/store/paths.h"

/* Descriptor that holds the lock in this way; -1 with errno. */
static int hold(const char *cache, int operation)
{
	auto_free char *path = xasprintf("%s/use.lock", cache);
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 || lock_wait(fd, operation) < 0 ? -1 : steal_fd(&fd);
}

static void note_home(const char *cache)
{
	struct err none;
	auto_free char *home = paths_home(&none), *dir = xasprintf("%s/homes", cache), *path = NULL;
	char hex[SHA256_HEX + 1];

	if (!home || fs_mkdirs(dir, 0755, &none) < 0)
		return;
	sha256_hex(home, strlen(home), hex);
	path = xasprintf("%s/%s", dir, hex);
	if (symlink(home, path) < 0) {
		/* It is there already; or the cache is not ours to write to, nor to prune. */
	}
}

int cache_use(void)
{
	struct err none;
	auto_free char *cache = paths_cache(&none);
	int fd = cache && fs_mkdirs(cache, 0755, &none) == 0 ? hold(cache, LOCK_SH) : -1;

	if (fd >= 0)
		note_home(cache);
	return fd;
}

int cache_use_alone(const char *cache, struct err *e)
{
	int fd = hold(cache, LOCK_EX);

	return fd < 0 ? err_errno(e, "cannot lock %s/use.lock", cache) : fd;
}
