#include "limactl-c/store/paths.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

static const char *const files[] = {
	[PATH_YAML] = "lima.yaml",
	[PATH_VERSION] = "lima-version",
	[PATH_PROTECTED] = "protected",
	[PATH_PLAN] = "plan.json",
	[PATH_HA_LOCK] = "ha.lock",
	[PATH_HOLD_LOCK] = "hold.lock",
	[PATH_HA_PID] = "ha.pid",
	[PATH_HA_SOCK] = "ha.sock",
	[PATH_HA_STDOUT] = "ha.stdout.log",
	[PATH_HA_STDERR] = "ha.stderr.log",
	[PATH_VM_LOCK] = "vm.lock",
	[PATH_QEMU_PID] = "qemu.pid",
	[PATH_QMP_HA] = "qmp-ha.sock",
	[PATH_QMP] = "qmp.sock",
	[PATH_AGENT_SOCK] = "agent.sock",
	[PATH_SERIAL_SOCK] = "serial.sock",
	[PATH_SERIAL_LOG] = "serial.log",
	[PATH_DRIVER_LOG] = "driver.stderr.log",
	[PATH_DISK] = "disk",
	[PATH_INITRD] = "initrd",
	[PATH_EFI_VARS] = "efi-vars.fd",
	[PATH_CIDATA] = "cidata.iso",
	[PATH_SSH_CONFIG] = "ssh.config",
	[PATH_KNOWN_HOSTS] = "known_hosts",
	[PATH_STATE] = "vm.state",
	[PATH_STATE_META] = "vm.state.json",
	[PATH_HARVEST] = "harvest",
	[PATH_MACHINE_ID] = "machine-id",
	[PATH_SNAPSHOTS] = "snapshots",
	[PATH_SOCK_DIR] = "sock",
};
_Static_assert(sizeof(files) / sizeof(*files) == PATH_COUNT, "every path has a name");

/* The longest socket name of a folder: the one ssh makes while it sets up its control socket. */
static const char longest_socket[] = "ssh.sock.1234567890123456";

#define CACHE_PREFIX "cache:"

const char *path_file(enum path_name name)
{
	return files[name];
}

char *path_in(const char *dir, enum path_name name)
{
	return xasprintf("%s/%s", dir, files[name]);
}

void paths_remove_machine(const char *dir)
{
	static const enum path_name left[] = {
		PATH_QMP_HA, PATH_QMP, PATH_AGENT_SOCK, PATH_SERIAL_SOCK, PATH_QEMU_PID,
	};

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
		auto_free char *path = path_in(dir, left[i]);

		unlink(path);
	}
}

char *paths_user_home(struct err *e)
{
	const char *home = getenv("HOME");
	struct passwd *pw;

	if (home && home[0] == '/')
		return xstrdup(home);
	pw = getpwuid(getuid());
	if (pw && pw->pw_dir)
		return xstrdup(pw->pw_dir);
	err_set(e, ERR_NOTFOUND, "cannot tell the home folder: HOME is not set");
	return NULL;
}

/* An absolute form of path, symbolic links resolved where the folder is there already. */
static char *absolute(const char *path, struct err *e)
{
	char *real = realpath(path, NULL);
	auto_free char *cwd = NULL;

	if (real)
		return real;
	if (path[0] == '/')
		return xstrdup(path);
	cwd = getcwd(NULL, 0);
	if (!cwd) {
		err_errno(e, "current folder");
		return NULL;
	}
	return xasprintf("%s/%s", cwd, path);
}

char *paths_home(struct err *e)
{
	const char *env = getenv("LIMA_HOME");
	auto_free char *home = NULL, *lima = NULL;

	if (env && *env)
		return absolute(env, e);
	home = paths_user_home(e);
	if (!home)
		return NULL;
	lima = xasprintf("%s/.lima", home);
	return absolute(lima, e);
}

char *paths_cache(struct err *e)
{
	const char *env = getenv("XDG_CACHE_HOME");
	auto_free char *home = NULL;

	if (env && env[0] == '/')
		return xasprintf("%s/limactl-c", env);
	home = paths_user_home(e);
	return home ? xasprintf("%s/.cache/limactl-c", home) : NULL;
}

char *paths_cached(const char *location, struct err *e)
{
	auto_free char *cache = NULL;
	const char *name;
	char *path;

	if (strncmp(location, CACHE_PREFIX, strlen(CACHE_PREFIX)))
		return xstrdup(location);
	name = location + strlen(CACHE_PREFIX);
	if (!*name || *name == '.' || strchr(name, '/')) {
		err_set(e, ERR_INVALID, "\"%s\" is no name in the cache", location);
		return NULL;
	}
	cache = paths_cache(e);
	if (!cache)
		return NULL;
	path = xasprintf("%s/names/%s", cache, name);
	if (fs_exists(path))
		return path;
	err_set(e, ERR_NOTFOUND, "%s is not in the cache (%s): run `make image`", name, path);
	free(path);
	return NULL;
}

int paths_check_dir(const char *dir, struct err *e)
{
	size_t n = strlen(dir) + 1 + strlen(longest_socket);

	if (!text_is_utf8(dir))
		return err_set(e, ERR_INVALID, "the path of the instance folder, \"%s\", is not UTF-8: use another LIMA_HOME",
			       dir);
	if (n <= SOCK_PATH_MAX)
		return 0;
	return err_set(e, ERR_INVALID,
		       "instance folder \"%s\" is too long: its longest socket path, %s/%s, would have %zu bytes, and "
		       "at most %zu are possible; use a shorter name or a shorter LIMA_HOME",
		       dir, dir, longest_socket, n, SOCK_PATH_MAX);
}
