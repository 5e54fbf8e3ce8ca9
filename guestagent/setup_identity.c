/* setup_identity.c - a clone is not the machine its disk was copied from: it gets the machine id the host has given it, and ssh
 * host keys of its own. The id is written last, so that what was interrupted is done again; an older disk (a snapshot) gets it
 * anew. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"

#define MACHINE_ID "/etc/machine-id"
#define DBUS_ID "/var/lib/dbus/machine-id"

enum { ID_LEN = 32 };

/* Who starts sshd makes new ones where there are none. */
static int drop_host_keys(const struct setup *su, struct err *e)
{
	char path[SU_PATH_MAX];
	glob_t found;
	int rc = 0;

	if (glob(su_path(su, "/etc/ssh/ssh_host_*key*", path), 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (unlink(found.gl_pathv[i]) < 0 && errno != ENOENT)
			rc = err_errno(e, "remove %s", found.gl_pathv[i]);
	globfree(&found);
	return rc;
}

/* dbus' own, unless it is a link to the other one. */
static bool has_dbus_id(const struct setup *su)
{
	char path[SU_PATH_MAX], target[8];

	return su_exists(su, DBUS_ID) && readlink(su_path(su, DBUS_ID, path), target, sizeof(target)) < 0;
}

int setup_identity(const struct setup *su, struct err *e)
{
	const char *id = settings_get(su->settings, "machineId", "");
	char text[ID_LEN + 2];

	if (!*id)
		return 0;
	if (strlen(id) != ID_LEN || strspn(id, "0123456789abcdef") != ID_LEN)
		return err_set(e, ERR_INVALID, "\"%.40s\" is no machine id", id);
	snprintf(text, sizeof(text), "%s\n", id);
	if (su_says(su, MACHINE_ID, text))
		return 0;
	/* cloud-init makes new keys by itself for an instance it does not know. */
	if (!setup_is_cloud(su->settings) && drop_host_keys(su, e) < 0)
		return -1;
	if (has_dbus_id(su) && su_write(su, DBUS_ID, text, 0444, e) < 0)
		return -1;
	return su_write(su, MACHINE_ID, text, 0444, e);
}
