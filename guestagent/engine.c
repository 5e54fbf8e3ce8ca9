/* engine.c - the engine disk: Debian's packages, unpacked, read-only, linked to where they expect to lie.
 *
 * Only what is missing is linked; what a user or a package put there stays. A link of ours whose target went away
 * with an older engine is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"
#include "lib/io.h"

#define ENGINE RUN_DIR "/engine"
#define DEVICE "/dev/vdb"

/* Folder of the engine, which of its entries, and in the same folder of the root they are linked. */
static const struct {
	const char *folder, *pattern;
} links[] = {
	{ "", "lib64" },
	{ "/lib", "ld-linux-*" },
	{ "/lib", "*-linux-gnu" },
	{ "/usr/lib", "*-linux-gnu" },
	{ "/usr/libexec", "docker" },
	{ "/usr/bin", "*" },
	{ "/usr/sbin", "*" },
};

static int link_one(const char *from, const char *to, struct err *e)
{
	char old[SU_PATH_MAX];
	ssize_t n = readlink(to, old, sizeof(old) - 1);

	if (n >= 0)
		old[n] = '\0';
	/* A link that is ours but leads elsewhere is of an older layout. */
	if (n >= 0 && strncmp(old, ENGINE "/", strlen(ENGINE "/")) == 0 && strcmp(old, from) != 0)
		unlink(to);
	if (symlink(from, to) < 0 && errno != EEXIST)
		return err_errno(e, "cannot link %s", to);
	return 0;
}

/* Removes our links in folder that lead nowhere. */
static void sweep(const struct setup *su, const char *folder)
{
	char path[SU_PATH_MAX], target[SU_PATH_MAX];
	struct dirent *d;
	auto_closedir DIR *dir = opendir(su_path(su, *folder ? folder : "/", path));

	while (dir && (d = readdir(dir))) {
		ssize_t n = d->d_type == DT_LNK ? readlinkat(dirfd(dir), d->d_name, target, sizeof(target) - 1) : -1;

		if (n < 0)
			continue;
		target[n] = '\0';
		if (strncmp(target, ENGINE "/", strlen(ENGINE "/")) == 0 && !su_exists(su, target))
			unlinkat(dirfd(dir), d->d_name, 0);
	}
}

static int link_folder(const struct setup *su, const char *folder, const char *pattern, struct err *e)
{
	char source[SU_PATH_MAX], target[SU_PATH_MAX], path[SU_PATH_MAX];
	struct dirent *d;
	auto_closedir DIR *dir = NULL;
	int rc = 0;

	snprintf(path, sizeof(path), "%s%s", ENGINE, folder);
	dir = opendir(su_path(su, path, source));
	if (!dir)
		return errno == ENOENT ? 0 : err_errno(e, "%s", path);
	if (*folder && su_mkdirs(su, folder, 0755, e) < 0)
		rc = -1;
	while (rc == 0 && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || fnmatch(pattern, d->d_name, 0) != 0)
			continue;
		if (snprintf(source, sizeof(source), "%s/%s", path, d->d_name) >= (int)sizeof(source) ||
		    snprintf(target, sizeof(target), "%s%s/%s", su->root, folder, d->d_name) >= (int)sizeof(target))
			continue;
		rc = link_one(source, target, e);
	}
	return rc;
}

static int mount_disk(const struct setup *su, struct err *e)
{
	static const char *const types[] = { "squashfs", "erofs", "ext4" };
	char path[SU_PATH_MAX];

	if (su_mkdirs(su, ENGINE, 0755, e) < 0)
		return -1;
	/* The kernel loads a file system's module when it is asked for. */
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (mount(DEVICE, su_path(su, ENGINE, path), types[i], MS_RDONLY | MS_NODEV | MS_NOSUID, NULL) == 0 ||
		    errno == EBUSY)
			return 0;
		else if (errno != EINVAL && errno != ENODEV)
			break;
	return err_errno(e, "cannot mount %s", DEVICE);
}

int engine_link(const struct setup *su, struct err *e)
{
	bool wanted = su_flag(su, "engine", false);

	if (wanted && !*su->root && mount_disk(su, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		sweep(su, links[i].folder);
		if (wanted && link_folder(su, links[i].folder, links[i].pattern, e) < 0)
			return -1;
	}
	return 0;
}

int engine_modules(const struct setup *su, struct err *e)
{
	/* The kernel would load each when it is first used, one after the other while Docker waits. */
	static const char *const modprobe[] = { "modprobe", "-aq", "overlay", "bridge", "br_netfilter", "nf_tables",
						"veth", "nft_compat", "nft_chain_nat", "xt_addrtype", "xt_conntrack",
						"xt_MASQUERADE", NULL };

	if (!su_flag(su, "docker", false))
		return 0;
	return su_start(modprobe, e) < 0 ? -1 : 0;
}
