#include "limactl-c/image/lima_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/paths.h"

int lima_cache_open(const char *key)
{
	struct err none;
	auto_free char *ours = paths_cache(&none), *above = ours ? fs_parent(ours) : NULL, *path = NULL;
	auto_close int fd = -1;
	struct stat st;

	if (!above)
		return -1;
#ifdef __APPLE__
	path = xasprintf("%s/../Library/Caches/lima/download/by-url-sha256/%s/data", above, key);
#else
	path = xasprintf("%s/lima/download/by-url-sha256/%s/data", above, key);
#endif
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? steal_fd(&fd) : -1;
}
