#include "guestagent/openrc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "guestagent/tuning.h"

#define HEAD "#!/sbin/openrc-run\n" \
	     "# Written by lima-guestagent at each boot; changes are lost.\n"
/* The disk may be started by something else one day: without our agent there is nothing to do. */
#define NO_AGENT "[ -x " RUN_DIR "/agent ]"

/* supervise-daemon sleeps until its child ends; pauses after quick deaths are `agent service`'s. */
#define KEPT(words, about, depends, retry) \
	HEAD \
	"description=\"" about "\"\n" \
	"supervisor=supervise-daemon\n" \
	"command=" RUN_DIR "/agent\n" \
	"command_args=\"" words "\"\n" \
	"error_log=/dev/console\n" \
	"respawn_delay=1\n" \
	"respawn_max=0\n" \
	"retry=" retry "\n" \
	"\n" \
	"depend() {\n" \
	"\t" depends "\n" \
	"}\n" \
	"\n"

static const struct {
	const char *name, *runlevel, *setting; /* wanted when the setting is "true"; NULL: always */
	const char *script;
} services[] = {
	/* Before the boot runlevel and so before anything opens a log. */
	{ "lima-setup", "sysinit", NULL,
	  HEAD
	  "description=\"Kernel file systems, tuning, user, engine disk\"\n"
	  "\n"
	  "depend() {\n"
	  "\tafter devfs sysfs cgroups mdev udev\n"
	  "\tkeyword -timeout\n"
	  "}\n"
	  "\n"
	  "start() {\n"
	  "\t" NO_AGENT " || return 0\n"
	  "\tebegin \"Setting up\"\n"
	  "\t" RUN_DIR "/agent setup --early\n"
	  "\teend $?\n"
	  "}\n" },
	{ "lima-agent", "default", NULL,
	  KEPT("daemon", "Serves the host agent", "after lima-setup net networking dhcpcd logger", "TERM/5/KILL/2")
	  "start_pre() {\n"
	  "\t" NO_AGENT " || return 1\n"
	  "\t# The network when the guest has none of its own; scripts of mode boot.\n"
	  "\t" RUN_DIR "/agent setup --late\n"
	  "}\n" },
	{ "lima-containerd", "default", "docker",
	  KEPT("service containerd", "containerd of the engine disk", "after lima-setup logger", "TERM/5/KILL/2")
	  "start_pre() {\n\t" NO_AGENT "\n}\n" },
	{ "lima-dockerd", "default", "docker",
	  KEPT("service dockerd", "dockerd of the engine disk",
	       "need lima-containerd\n\tafter lima-setup net networking dhcpcd firewall logger", "TERM/30/KILL/5")
	  "start_pre() {\n\t" NO_AGENT "\n}\n" },
};
/* OpenRC keeps the environment from services; this is read by each of them, before what the guest's owner says of it. */
static const char environment[] = "# Written by lima-guestagent at each boot; changes are lost.\n"
				  "[ ! -r " RUN_DIR "/services.env ] || { set -a; . " RUN_DIR "/services.env; set +a; }\n";

enum { SERVICES = sizeof(services) / sizeof(services[0]) };

bool openrc_is(const struct setup *su)
{
	return strcmp(settings_get(su->settings, "init", "lean"), "openrc") == 0;
}

/* OpenRC keeps a list of dependencies over boots and compares times with it, which says nothing as long as the clock
 * may be wrong. */
static void forget_dependencies(const struct setup *su)
{
	static const char *const kept[] = { "/var/cache/rc/deptree", "/usr/libexec/rc/cache/deptree",
					    "/lib/rc/cache/deptree" };
	char path[SU_PATH_MAX];

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		unlink(su_path(su, kept[i], path));
}

/* Writes or removes one; *changed when that was needed. */
static int put_service(const struct setup *su, size_t i, bool *changed, struct err *e)
{
	bool wanted = !services[i].setting || su_flag(su, services[i].setting, false);
	char script[128], link[128], full[SU_PATH_MAX], old[128] = "";

	snprintf(script, sizeof(script), "/etc/init.d/%s", services[i].name);
	snprintf(link, sizeof(link), "/etc/runlevels/%s/%s", services[i].runlevel, services[i].name);
	if (!wanted) {
		bool had = unlink(su_path(su, link, full)) == 0;

		*changed |= (unlink(su_path(su, script, full)) == 0) | had;
		return 0;
	}
	*changed |= !su_says(su, script, services[i].script);
	if (su_write(su, script, services[i].script, 0755, e) < 0)
		return -1;
	if (readlink(su_path(su, link, full), old, sizeof(old) - 1) >= 0 && strcmp(old, script) == 0)
		return 0;
	*changed = true;
	unlink(full);
	return symlink(script, full) < 0 ? err_errno(e, "cannot link %s", link) : 0;
}

int openrc_configure(const struct setup *su, struct err *e)
{
	bool changed = false;
	int rc;

	if (!su_exists(su, "/sbin/openrc-run") || !su_exists(su, "/etc/runlevels/sysinit"))
		return err_set(e, ERR_NOTFOUND, "the guest has no OpenRC");
	rc = su_mkdirs(su, "/etc/rc.conf.d", 0755, e) < 0 ? -1 : su_write(su, "/etc/rc.conf.d/90-lima.conf", environment, 0644, e);
	for (size_t i = 0; rc == 0 && i < SERVICES; i++)
		rc = put_service(su, i, &changed, e);
	if (changed)
		forget_dependencies(su);
	tuning_own_init(su, NULL);
	return rc;
}
