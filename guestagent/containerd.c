#include "guestagent/containerd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/setup_disks.h"
#include "guestagent/setup_util.h"
#include "lib/log.h"

#define ARCHIVE "nerdctl-full.tgz"

/* The name under which a seed has the archive leads to the disk, which holds its bytes and nothing else. */
static void link_archive(const char *run_dir, const struct setup *su, const char *serial)
{
	char device[64], path[80], link[SU_PATH_MAX];

	if (!disks_find(su, serial, device)) {
		log_error("containerd: the machine has no disk with the serial number %s", serial);
		return;
	}
	snprintf(path, sizeof(path), "/dev/%s", device);
	snprintf(link, sizeof(link), "%s/" ARCHIVE, run_dir);
	unlink(link);
	if (symlink(path, link) < 0)
		log_error("containerd: %s: %s", link, strerror(errno));
}

void containerd_install(const char *run_dir, const struct settings *s)
{
	const struct setup su = { s, "" };
	const char *serial = settings_get(s, "containerd.disk", NULL);
	char folder[SU_PATH_MAX], script[SU_PATH_MAX];
	const char *const argv[] = { "env", folder, "LIMA_CIDATA_CONTAINERD_ARCHIVE=" ARCHIVE, "LIMA_CIDATA_CONTAINERD_SYSTEM=1",
				     "LIMA_CIDATA_CONTAINERD_USER=", script, NULL };
	struct err e = { 0 };

	if (!serial)
		return;
	link_archive(run_dir, &su, serial);
	snprintf(folder, sizeof(folder), "LIMA_CIDATA_MNT=%s", run_dir);
	snprintf(script, sizeof(script), "%s/containerd.sh", run_dir);
	if (su_run(argv, &e) < 0)
		log_error("containerd: %s", e.msg);
}
