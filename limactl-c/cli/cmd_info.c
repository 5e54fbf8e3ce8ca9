#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/look.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/cli/shell_env.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/driver/driver.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/store/paths.h"

struct info_opts {
	const char *yq;
};

static struct ynode *location(struct yn_pool *p, const char *path)
{
	struct ynode *o = yn_map(p);

	yn_set(p, o, "location", yn_string(p, path));
	return o;
}

static struct ynode *list_templates(struct yn_pool *p)
{
	struct ynode *all = yn_list(p);
	struct locator_template *t;
	size_t n = locator_list(&t);

	for (size_t i = 0; i < n; i++) {
		struct ynode *o = yn_map(p);

		yn_set(p, o, "name", yn_string(p, t[i].name));
		yn_set(p, o, "location", yn_string(p, t[i].path));
		yn_add(p, all, o);
	}
	locator_list_free(t, n);
	return all;
}

/* What an instance of template:default would be; NULL when there is none, or none that is right. */
static struct ynode *default_template(struct yn_pool *p)
{
	auto_setup s = SETUP_INIT;
	struct err ignored = { 0 };

	if (setup_read(&s, "template:default", &ignored) < 0 || setup_embed(&s, &ignored) < 0 ||
	    setup_check_quietly(&s, &ignored) < 0)
		return NULL;
	return cfg_tree(&s.cfg, p);
}

static void add_drivers(struct yn_pool *p, struct ynode *info)
{
	struct ynode *names = yn_list(p), *more = yn_map(p);

	for (enum plan_driver d = PLAN_QEMU; d <= PLAN_VZ; d++) {
		if (!driver_find(d))
			continue;
		yn_add(p, names, yn_string(p, plan_driver_word(d)));
		yn_set(p, more, plan_driver_word(d), location(p, "internal"));
	}
	yn_set(p, info, "vmTypes", names);
	yn_set(p, info, "vmTypesEx", more);
}

static struct ynode *guest_agents(struct yn_pool *p)
{
	const struct key *k = schema_find("arch");
	const char *archs = k && k->allowed ? k->allowed : "";
	struct ynode *all = yn_map(p);
	struct err ignored = { 0 };
	char arch[32];

	while (schema_next_word(&archs, arch, sizeof(arch))) {
		auto_free char *path = prefix_share(yn_printf(p, "lima-guestagent.Linux-%s", arch), &ignored);

		if (path && fs_exists(path))
			yn_set(p, all, arch, location(p, path));
	}
	return all;
}

static struct ynode *blocked_variables(struct yn_pool *p)
{
	struct ynode *all = yn_list(p);

	for (size_t i = 0; shell_env_blocked[i]; i++)
		yn_add(p, all, yn_string(p, shell_env_blocked[i]));
	return all;
}

/* A list of one folder. */
static struct ynode *folders(struct yn_pool *p, const char *path)
{
	struct ynode *all = yn_list(p);

	if (path)
		yn_add(p, all, yn_string(p, path));
	return all;
}

static struct ynode *info_tree(struct yn_pool *p, const char *home)
{
	struct ynode *info = yn_map(p), *standard = default_template(p);
	struct err ignored = { 0 };
	auto_free char *share = prefix_share(NULL, &ignored), *libexec = prefix_libexec("", &ignored);

	yn_set(p, info, "version", yn_string(p, VERSION));
	yn_set(p, info, "templates", list_templates(p));
	if (standard)
		yn_set(p, info, "defaultTemplate", standard);
	yn_set(p, info, "limaHome", yn_string(p, home));
	add_drivers(p, info);
	yn_set(p, info, "guestAgents", guest_agents(p));
	yn_set(p, info, "shellEnvBlock", blocked_variables(p));
	yn_set(p, info, "hostOS", yn_string(p, look_host_os()));
	yn_set(p, info, "hostArch", yn_string(p, plan_host_arch()));
	yn_set(p, info, "identityFile", yn_string(p, yn_printf(p, "%s/_config/user", home)));
	yn_set(p, info, "plugins", yn_list(p));
	yn_set(p, info, "libexecPaths", folders(p, libexec));
	yn_set(p, info, "sharePaths", folders(p, share));
	return info;
}

static int run(const struct call *call, struct err *e)
{
	const struct info_opts *o = call->opts;
	auto_free char *home = paths_home(e);
	auto_pool p = yn_pool_new();
	struct yq_result r;

	if (!home)
		return -1;
	if (yq_run(p, o->yq ? o->yq : ".", info_tree(p, home), &r, e) < 0)
		return err_wrap(e, "--yq");
	return print_nodes(&r, PRINT_JSON_PRETTY, e);
}

static const struct opt opts[] = {
	{ "yq", 0, OPT_STRING, offsetof(struct info_opts, yq), "EXPR", .help = "what the yq expression makes of it" },
	{ 0 },
};

const struct cmd cmd_info = {
	.name = "info",
	.args = "",
	.summary = "Show what this installation has: templates, drivers, folders",
	.opt = opts,
	.opts_size = sizeof(struct info_opts),
	.run = run,
};
