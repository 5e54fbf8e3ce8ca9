#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/look.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/table.h"

struct list_opts {
	bool json, quiet;
};

/* Columns in Lima's order. */
enum { C_NAME, C_STATUS, C_SSH, C_VMTYPE, C_ARCH, C_CPUS, C_MEMORY, C_DISK, C_DIR, COLUMNS };

static char *short_dir(const char *dir)
{
	const char *home = getenv("HOME");
	size_t n = home ? strlen(home) : 0;

	if (n > 1 && !strncmp(dir, home, n) && (dir[n] == '/' || !dir[n]))
		return xasprintf("~%s", dir + n);
	return xstrdup(dir);
}

static char *size_cell(uint64_t bytes)
{
	return bytes ? text_size(bytes) : xstrdup("0B");
}

static void add_row(struct table *t, const struct look *l)
{
	table_add(t, xstrdup(l->inst.name));
	table_add(t, xstrdup(inst_status_word(l->status)));
	table_add(t, xasprintf("127.0.0.1:%u", l->plan.ssh_port));
	table_add(t, xstrdup(look_vm_type(l)));
	table_add(t, xstrdup(l->plan.arch ? l->plan.arch : ""));
	table_add(t, xasprintf("%u", l->plan.cpus));
	table_add(t, size_cell(l->plan.memory));
	table_add(t, size_cell(l->plan.disk_size));
	table_add(t, short_dir(l->inst.dir));
}

static unsigned columns_to_hide(const struct table *t)
{
	/* Those that go first when the terminal is narrow. */
	static const unsigned first[] = { 1u << C_VMTYPE, 1u << C_ARCH, 1u << C_DIR };
	struct winsize w;
	unsigned hidden = 0;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_col)
		return 0;
	for (size_t i = 0; i < sizeof(first) / sizeof(*first) && table_width(t, hidden) > w.ws_col; i++)
		hidden |= first[i];
	return hidden;
}

static void print_json(const struct look *l)
{
	auto_jx *o = look_json(l);
	auto_free char *text = isatty(STDOUT_FILENO) ? jx_dump_pretty(o) : jx_dump(o);

	puts(text);
}

static void warn(const struct look *l)
{
	for (size_t i = 0; i < l->errors; i++)
		say_warn("instance \"%s\": %s", l->inst.name, l->error[i]);
}

static int show(const char *name, const struct list_opts *o, struct table *t, struct err *e)
{
	struct look l = { 0 };

	if (o->quiet) {
		puts(name);
		return 0;
	}
	if (look_at(name, o->json, &l, e) < 0)
		return -1;
	if (o->json) {
		print_json(&l);
	} else {
		add_row(t, &l);
		warn(&l);
	}
	look_free(&l);
	return 0;
}

static int list_all(const struct list_opts *o, struct table *t, struct err *e)
{
	char **names;
	size_t count;

	if (inst_list(&names, &count, e) < 0)
		return -1;
	if (!count)
		say_warn("No instance found. Run `limactl-c create FILE` to create one.");
	for (size_t i = 0; i < count; i++) {
		struct err gone = { 0 };

		/* Deleted since the folder was read: then it is not listed. */
		if (show(names[i], o, t, &gone) < 0 && gone.kind != ERR_NOTFOUND)
			say_warn("instance \"%s\": %s", names[i], gone.msg);
	}
	inst_list_free(names, count);
	return 0;
}

/* All that are there are shown, then the missing ones are an error. */
static int list_named(const struct call *call, struct table *t, struct err *e)
{
	int rc = 0;

	for (size_t n = 0; n < call->args; n++) {
		struct inst i;

		if (inst_open(call->arg[n], &i, e) < 0) {
			rc = -1;
			continue;
		}
		inst_fini(&i);
		if (show(call->arg[n], call->opts, t, e) < 0)
			rc = -1;
	}
	return rc;
}

static int run(const struct call *call, struct err *e)
{
	struct table t = {
		.head = { "NAME", "STATUS", "SSH", "VMTYPE", "ARCH", "CPUS", "MEMORY", "DISK", "DIR" },
		.columns = COLUMNS,
	};
	int rc = call->args ? list_named(call, &t, e) : list_all(call->opts, &t, e);

	if (t.cells)
		table_print(&t, columns_to_hide(&t), stdout);
	table_free(&t);
	return rc;
}

static const struct opt opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct list_opts, json), .help = "one JSON object a line" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct list_opts, quiet), .help = "names only" },
	{ 0 },
};

const struct cmd cmd_list = {
	.name = "list",
	.alias = { "ls" },
	.args = "[INSTANCE...]",
	.summary = "List instances",
	.opt = opts,
	.opts_size = sizeof(struct list_opts),
	.most = CMD_ARGS_ANY,
	.run = run,
};
