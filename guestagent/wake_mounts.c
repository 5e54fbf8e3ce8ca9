#include "guestagent/wake_mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/mount_table.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"

enum { WAIT_MS = 60000 };

static const char *text_of(const struct settings *s, unsigned i, const char *what, const char *otherwise)
{
	char key[32];

	snprintf(key, sizeof(key), "mount.%02u.%s", i, what);
	return settings_get(s, key, otherwise);
}

/* False: nothing is mounted there yet. What is under it is a folder of the guest's own, whose files are none of the host's. (The
 * type that the file system itself tells is no help: 9p tells that of the host's.) */
static bool open_one(struct wake *w, const struct settings *s, unsigned i, const char *point)
{
	auto_close int root = open(point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum wake_kind kind = !strcmp(text_of(s, i, "type", "9p"), "9p") ? WAKE_9P : WAKE_VIRTIOFS;
	struct stat here, above;

	if (root < 0 || fstat(root, &here) < 0 || fstatat(root, "..", &above, 0) < 0 || here.st_dev == above.st_dev)
		return false;
	wake_mount(w, i, steal_fd(&root), kind);
	return true;
}

/* Until something was mounted, or it is of no use any more. */
static bool wait_for_mounts(int table, int fd, int64_t until)
{
	struct pollfd wait[] = { { .fd = table, .events = POLLPRI }, { .fd = fd } };
	int64_t left = until - clock_ms();

	return left > 0 && poll(wait, 2, (int)left) > 0 && !wait[1].revents;
}

void wake_mounts(struct wake *w, const struct settings *s, int fd)
{
	auto_close int table = open(MOUNT_TABLE, O_RDONLY | O_CLOEXEC);
	int64_t until = clock_ms() + WAIT_MS;

	for (unsigned i = 0; i < FE_MOUNTS_MAX; i++) {
		const char *point = text_of(s, i, "point", NULL);
		bool there;

		if (!point)
			break;
		if (strcmp(text_of(s, i, "writable", ""), "true") != 0)
			continue;
		while (!(there = open_one(w, s, i, point)) && wait_for_mounts(table, fd, until))
			;
		if (!there)
			log_warn("file events: %s is not mounted: nobody is told of what changes there", point);
	}
}
