/* setup_mount.c - kernel file systems, the boot's id, the clock. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"
#include "lib/io.h"

/* Beside proc, sys and dev, which /lima/init has mounted. One that is there already stays as it is. */
static const struct {
	const char *type, *target, *options;
	unsigned long flags;
	mode_t mode;
} mounts[] = {
	{ "devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666", MS_NOSUID | MS_NOEXEC, 0755 },
	{ "tmpfs", "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV, 01777 },
	{ "cgroup2", "/sys/fs/cgroup", "nsdelegate", MS_NOSUID | MS_NODEV | MS_NOEXEC, 0555 },
	{ "tracefs", "/sys/kernel/tracing", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, 0755 },
};

static bool is_mounted(const char *path)
{
	char parent[SU_PATH_MAX + 4];
	struct stat here, above;

	snprintf(parent, sizeof(parent), "%s/..", path);
	return stat(path, &here) == 0 && stat(parent, &above) == 0 && here.st_dev != above.st_dev;
}

/* Every controller there is, for the children of the root group. */
static int enable_controllers(const struct setup *su, struct err *e)
{
	auto_buf have = BUF_INIT(4096);
	char path[SU_PATH_MAX], want[64], *save = NULL;
	auto_close int fd = -1;

	if (su_read(su, "/sys/fs/cgroup/cgroup.controllers", &have, e) < 0)
		return -1;
	fd = open(su_path(su, "/sys/fs/cgroup/cgroup.subtree_control", path), O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "cannot open %s", path);
	/* One at a time: one the kernel refuses must not cost the others. */
	for (char *name = strtok_r(have.data, " \n", &save); name; name = strtok_r(NULL, " \n", &save)) {
		snprintf(want, sizeof(want), "+%s", name);
		if (write(fd, want, strlen(want)) < 0)
			err_errno(e, "cgroup controller %s", name);
	}
	return e->kind ? -1 : 0;
}

int setup_mounts(const struct setup *su, struct err *e)
{
	char path[SU_PATH_MAX];
	struct err first = { 0 };

	*e = (struct err){ 0 };
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (access(su_path(su, mounts[i].target, path), F_OK) < 0 &&
		    su_mkdirs(su, mounts[i].target, mounts[i].mode, &first) < 0)
			continue;
		if (is_mounted(path))
			continue;
		if (mount(mounts[i].type, path, mounts[i].type, mounts[i].flags, mounts[i].options) < 0 &&
		    errno != EBUSY && !first.kind)
			err_errno(&first, "cannot mount %s", mounts[i].target);
	}
	if (enable_controllers(su, e) < 0)
		return -1;
	/* Made ahead of Docker, so that cache-trim can watch it for containers that end. */
	if (su_mkdirs(su, "/sys/fs/cgroup/docker", 0755, e) < 0)
		return -1;
	*e = first;
	return first.kind ? -1 : 0;
}

int setup_boot_id(const struct setup *su, struct err *e)
{
	char text[32];
	uint64_t id = 0;

	/* 0 means "none" to the host. */
	while (id == 0)
		if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
			return err_errno(e, "no random bytes");
	snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)id);
	return su_write(su, RUN_DIR "/boot-id", text, 0644, e);
}

int setup_clock(const struct setup *su, struct err *e)
{
	static const char *const hwclock[] = { "hwclock", "-s", "-u", NULL };

	(void)su;
	/* Where the clock's driver is a module the kernel starts in 1970. The host corrects the rest. */
	return time(NULL) < 1700000000 ? su_run(hwclock, e) : 0;
}
