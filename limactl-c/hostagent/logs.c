#include "limactl-c/hostagent/logs.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

void logs_check(int fd, const char *path)
{
	auto_free char *old = NULL;
	struct stat ours, there;
	struct err ignored = { 0 };
	int next;

	if (fstat(fd, &ours) < 0 || !S_ISREG(ours.st_mode) || ours.st_size <= LOGS_LIMIT)
		return;
	if (stat(path, &there) < 0 || there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
		return;
	old = xasprintf("%s.1", path);
	if (rename(path, old) < 0)
		return;
	next = fs_open_log(path, &ignored);
	/* Without its name it would be taken for somebody else's from now on, and grow for ever. */
	if (next < 0) {
		rename(old, path);
		return;
	}
	dup2(next, fd);
	close(next);
}
