#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/cli/look.h"
#include "limactl-c/config/vars.h"
#include "limactl-c/plan/host.h"

/* Members of an instance: the names in templates of --format and in JSON, and what an unset one is there. */
static const struct {
	const char *name, *member;
	enum yn_kind unset;
} fields[] = {
	{ "AdditionalDisks", "additionalDisks", YN_LIST },
	{ "Arch", "arch", YN_STRING },
	{ "AutoStartedIdentifier", "autoStartedIdentifier", YN_STRING },
	{ "CPUs", "cpus", YN_INT },
	{ "Config", "config", YN_NULL },
	{ "Dir", "dir", YN_STRING },
	{ "Disk", "disk", YN_INT },
	{ "DriverPID", "driverPID", YN_INT },
	{ "Errors", "errors", YN_LIST },
	{ "HostAgentPID", "hostAgentPID", YN_INT },
	{ "Hostname", "hostname", YN_STRING },
	{ "LimaVersion", "limaVersion", YN_STRING },
	{ "Memory", "memory", YN_INT },
	{ "Message", "message", YN_STRING },
	{ "Name", "name", YN_STRING },
	{ "Networks", "network", YN_LIST },
	{ "Param", "param", YN_MAP },
	{ "Protected", "protected", YN_BOOL },
	{ "SSHAddress", "sshAddress", YN_STRING },
	{ "SSHConfigFile", "sshConfigFile", YN_STRING },
	{ "SSHLocalPort", "sshLocalPort", YN_INT },
	{ "Status", "status", YN_STRING },
	{ "VMType", "vmType", YN_STRING },
};

enum { FIELDS = sizeof(fields) / sizeof(*fields) };

const char *look_host_os(void)
{
#ifdef __APPLE__
	return "darwin";
#else
	return "linux";
#endif
}

static void set_string(struct yn_pool *p, struct ynode *o, const char *member, const char *s)
{
	yn_set(p, o, member, yn_string(p, s ? s : ""));
}

static void set_number(struct yn_pool *p, struct ynode *o, const char *member, uint64_t n)
{
	if (n)
		yn_set(p, o, member, yn_int(p, (int64_t)n));
}

/* A member of the configuration that is a list or map, unless it is empty. */
static void set_from_config(struct yn_pool *p, struct ynode *o, const char *member, const struct look *l, const char *key)
{
	struct ynode *v = yn_get(l->config, key);

	if (v && v->count)
		yn_set(p, o, member, v);
}

static void set_message(struct yn_pool *p, struct ynode *o, const struct look *l)
{
	size_t n = l->plan.message ? strlen(l->plan.message) : 0;

	if (n && l->plan.message[n - 1] == '\n')
		n--;
	if (n)
		yn_set(p, o, "message", yn_scalar(p, YN_STRING, l->plan.message, n));
}

static void set_ssh(struct yn_pool *p, struct ynode *o, const struct look *l)
{
	const char *file = yn_printf(p, "%s/ssh.config", l->inst.dir);

	set_number(p, o, "sshLocalPort", l->plan.ssh_port);
	if (l->plan.dns_port)
		set_number(p, o, "dnsLocalPort", l->plan.dns_port);
	if (fs_exists(file))
		set_string(p, o, "sshConfigFile", file);
}

static void set_errors(struct yn_pool *p, struct ynode *o, const struct look *l)
{
	struct ynode *errors = yn_list(p);

	for (size_t i = 0; i < l->errors; i++)
		yn_add(p, errors, yn_string(p, l->error[i]));
	if (l->errors)
		yn_set(p, o, "errors", errors);
}

static void set_host(struct yn_pool *p, struct ynode *o, const char *dir)
{
	auto_free char *home = fs_parent(dir);

	set_string(p, o, "HostOS", look_host_os());
	set_string(p, o, "HostArch", plan_host_arch());
	set_string(p, o, "LimaHome", home);
	set_string(p, o, "IdentityFile", yn_printf(p, "%s/_config/user", home));
}

/* What the kernel is told, of a guest that its own loader starts the part of it that is ours. Lima has no such members. */
static void set_kernel(struct yn_pool *p, struct ynode *o, const struct plan *plan)
{
	const char *first = plan_setting(plan, PLAN_LOADER_ARGS), *last = plan_setting(plan, PLAN_LOADER_LAST_ARGS);

	if (plan->cmdline)
		set_string(p, o, "kernelCmdline", plan->cmdline);
	else if (first && last)
		set_string(p, o, "kernelArgs", yn_printf(p, "%s%s%s", first, *first && *last ? " " : "", last));
}

struct ynode *look_tree(const struct look *l, struct yn_pool *p)
{
	auto_free char *hostname = vars_hostname(l->inst.name);
	struct ynode *o = yn_map(p);

	set_string(p, o, "name", l->inst.name);
	set_string(p, o, "hostname", hostname);
	set_string(p, o, "status", look_status(l));
	set_string(p, o, "dir", l->inst.dir);
	set_string(p, o, "vmType", look_vm_type(l));
	set_string(p, o, "arch", l->plan.arch);
	set_number(p, o, "cpus", l->plan.cpus);
	set_number(p, o, "memory", l->plan.memory);
	set_number(p, o, "disk", l->plan.disk_size);
	set_kernel(p, o, &l->plan);
	set_message(p, o, l);
	set_from_config(p, o, "additionalDisks", l, "additionalDisks");
	set_from_config(p, o, "network", l, "networks");
	set_ssh(p, o, l);
	set_number(p, o, "hostAgentPID", (uint64_t)l->host_agent);
	set_number(p, o, "driverPID", (uint64_t)l->machine);
	set_errors(p, o, l);
	if (l->forwards)
		yn_set(p, o, "portForwards", l->forwards);
	if (l->config)
		yn_set(p, o, "config", (struct ynode *)l->config);
	if (l->plan.ssh_port)
		set_string(p, o, "sshAddress", "127.0.0.1");
	yn_set(p, o, "protected", yn_bool(p, l->is_protected));
	set_string(p, o, "limaVersion", l->lima_version);
	set_from_config(p, o, "param", l, "param");
	set_host(p, o, l->inst.dir);
	return o;
}

size_t look_field_names(const char *const **names)
{
	static const char *list[FIELDS];

	for (size_t i = 0; i < FIELDS; i++)
		list[i] = fields[i].name;
	*names = list;
	return FIELDS;
}

static struct ynode *unset_value(struct yn_pool *p, enum yn_kind kind)
{
	switch (kind) {
	case YN_BOOL:
		return yn_bool(p, false);
	case YN_INT:
		return yn_int(p, 0);
	case YN_LIST:
		return yn_list(p);
	case YN_MAP:
		return yn_map(p);
	case YN_STRING:
		return yn_string(p, "");
	case YN_NULL:
	case YN_FLOAT:
		break;
	}
	return yn_null(p);
}

struct ynode *look_unset(const struct ynode *tree, struct yn_pool *p)
{
	struct ynode *o = yn_map(p);

	for (size_t i = 0; i < FIELDS; i++) {
		struct ynode *v = yn_get(tree, fields[i].member);

		if (!v || strcasecmp(fields[i].name, fields[i].member) != 0)
			yn_set(p, o, fields[i].name, v ? v : unset_value(p, fields[i].unset));
	}
	return o;
}
