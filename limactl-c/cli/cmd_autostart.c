/* autostart, and Lima's former start-at-login: whether an instance starts when its user logs in, or at boot. */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/cli/autostart.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"

struct autostart_opts {
	const char *condition, *format, *user;
	bool print;
	enum opt_tristate enabled;
};

enum { LINGER_SECONDS = 20 };

static bool at_boot(const struct autostart_opts *o)
{
	return o->condition && !strcmp(o->condition, "boot");
}

/* A user's units are started at boot when the user "lingers". */
static int linger(struct err *e)
{
	struct spawn s = { .argv = (const char *const[]){ "loginctl", "enable-linger", NULL }, .seconds = LINGER_SECONDS };

	if (spawn_run(&s, NULL, e) == 0)
		return 0;
	return err_wrap(e, "the instance starts when you log in, but not at boot (`sudo loginctl enable-linger USER` helps)");
}

static int print(const struct inst *i, const struct autostart_opts *o, struct err *e)
{
	auto_free char *program = NULL, *home = NULL;
	auto_buf text = BUF_INIT(AUTOSTART_TEXT_MAX);
	const struct passwd *pw = getpwuid(getuid());
	struct autostart a;

	if (autostart_describe(i->name, &a, &program, &home, e) < 0)
		return -1;
	if (o->format)
		a.system = strcmp(o->format, "launchd") ? AUTOSTART_SYSTEMD : AUTOSTART_LAUNCHD;
	if (at_boot(o) && a.system == AUTOSTART_LAUNCHD)
		a.user = o->user ? o->user : pw ? pw->pw_name : NULL;
	if (autostart_text(&a, &text, e) < 0)
		return -1;
	fputs(text.data, stdout);
	return 0;
}

static int enable(const struct inst *i, const struct autostart_opts *o, struct err *e)
{
	if (o->print)
		return print(i, o, e);
	if (o->format || o->user)
		return err_set(e, ERR_USAGE, "--format and --user are for --print");
	if (at_boot(o) && autostart_host() == AUTOSTART_LAUNCHD)
		return err_set(e, ERR_STATE, "only root can have launchd start an instance at boot: put what --print says into "
			       "/Library/LaunchDaemons");
	if (autostart_enable(i->name, e) < 0)
		return -1;
	say_info("The instance \"%s\" starts when you log in", i->name);
	return at_boot(o) ? linger(e) : 0;
}

static int disable(const char *name, struct err *e)
{
	int was = autostart_disable(name, e);

	if (was > 0)
		say_info("The instance \"%s\" no longer starts by itself", name);
	else if (was == 0)
		say_warn("The instance \"%s\" does not start by itself", name);
	return was < 0 ? -1 : 0;
}

static int with_inst(const struct call *call, struct err *e)
{
	struct inst i;
	int rc;

	if (inst_open(call->args ? call->arg[0] : "default", &i, e) < 0)
		return -1;
	rc = enable(&i, call->opts, e);
	inst_fini(&i);
	return rc;
}

/* Of an instance that is gone too: its entry may have outlived it. */
static int run_disable(const struct call *call, struct err *e)
{
	const char *name = call->args ? call->arg[0] : "default";

	return inst_check_name(name, e) < 0 ? -1 : disable(name, e);
}

static int run_start_at_login(const struct call *call, struct err *e)
{
	const struct autostart_opts *o = call->opts;

	return o->enabled == OPT_NO ? run_disable(call, e) : with_inst(call, e);
}

static const struct opt enable_opts[] = {
	{ "condition", 0, OPT_WORD, offsetof(struct autostart_opts, condition), "WHEN", .help = "login (default), or boot",
	  .words = "login|boot" },
	{ "format", 0, OPT_WORD, offsetof(struct autostart_opts, format), "SYSTEM", .help = "with --print: for systemd or launchd",
	  .words = AUTOSTART_SYSTEM_WORDS },
	{ "print", 0, OPT_FLAG, offsetof(struct autostart_opts, print), .help = "only show what would be written" },
	{ "user", 0, OPT_STRING, offsetof(struct autostart_opts, user), "USER", .help = "with --print: who it runs as at boot (launchd)" },
	{ 0 },
};

static const struct opt login_opts[] = {
	{ "enabled", 0, OPT_TRISTATE, offsetof(struct autostart_opts, enabled), .help = "whether it does (default: yes)" },
	{ 0 },
};

static const struct cmd enable_cmd = {
	.name = "enable",
	.group = "autostart",
	.args = "[INSTANCE]",
	.summary = "Start an instance when its user logs in, or at boot",
	.opt = enable_opts,
	.opts_size = sizeof(struct autostart_opts),
	.most = 1,
	.run = with_inst,
};

static const struct cmd disable_cmd = {
	.name = "disable",
	.group = "autostart",
	.args = "[INSTANCE]",
	.summary = "No longer start an instance by itself",
	.opts_size = sizeof(struct autostart_opts),
	.most = 1,
	.run = run_disable,
};

static const struct cmd *const sub[] = { &enable_cmd, &disable_cmd, NULL };

const struct cmd cmd_autostart = {
	.name = "autostart",
	.summary = "Start instances when their user logs in, or at boot",
	.sub = sub,
};

const struct cmd cmd_start_at_login = {
	.name = "start-at-login",
	.args = "[INSTANCE]",
	.summary = "The same as autostart enable and disable, as Lima called it",
	.opt = login_opts,
	.opts_size = sizeof(struct autostart_opts),
	.most = 1,
	.hidden = true,
	.run = run_start_at_login,
};
