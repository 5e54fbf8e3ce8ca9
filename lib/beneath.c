#include "lib/beneath.h"

#ifdef __linux__
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

int beneath_open(int root, const char *path, int flags, bool one_mount)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | (one_mount ? RESOLVE_NO_XDEV : 0),
	};

	return (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
}
#endif
