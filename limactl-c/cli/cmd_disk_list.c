#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/table.h"
#include "limactl-c/store/disk.h"
#include "limactl-c/store/folder.h"

struct disk_list_opts {
	bool json;
};

/* Lima's members in its order; they are there also when they are empty. */
static void print_json(const struct disk *d, const char *user)
{
	auto_jx *o = jx_new_object();
	auto_free char *mount = disk_mount_point(d->name), *text = NULL;

	jx_set_string(o, "name", d->name);
	jx_set_int(o, "size", (int64_t)d->size);
	jx_set_string(o, "format", d->format);
	jx_set_string(o, "dir", d->dir);
	jx_set_string(o, "instance", disk_user_name(user));
	jx_set_string(o, "instanceDir", user);
	jx_set_string(o, "mountPoint", mount);
	text = jx_dump(o);
	puts(text);
}

static void add_row(struct table *t, const struct disk *d, const char *user)
{
	table_add(t, xstrdup(d->name));
	table_add(t, text_size(d->size));
	table_add(t, xstrdup(d->format));
	table_add(t, xstrdup(d->dir));
	table_add(t, xstrdup(disk_user_name(user)));
}

static void show(struct table *t, bool json, const char *name)
{
	auto_disk d = DISK_INIT;
	auto_free char *user = NULL;
	struct err e = { 0 };

	if (disk_open(name, &d, &e) < 0) {
		say_error("%s", e.msg);
		return;
	}
	user = disk_user(&d);
	if (json)
		print_json(&d, user ? user : "");
	else
		add_row(t, &d, user ? user : "");
}

static bool is_known(char **names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Those asked for, in the order they were; returns how many there are. */
static size_t show_some(struct table *t, bool json, const struct call *call, char **names, size_t count)
{
	size_t shown = 0;

	for (size_t i = 0; i < call->args; i++) {
		if (is_known(names, count, call->arg[i])) {
			show(t, json, call->arg[i]);
			shown++;
		} else {
			say_warn("No disk matching %s found.", call->arg[i]);
		}
	}
	return shown;
}

static int run(const struct call *call, struct err *e)
{
	const struct disk_list_opts *o = call->opts;
	CLEANUP(table_free) struct table t = { .head = { "NAME", "SIZE", "FORMAT", "DIR", "IN-USE-BY" }, .columns = 5 };
	char **names;
	size_t count, shown;

	if (disk_list(&names, &count, e) < 0)
		return -1;
	shown = call->args ? show_some(&t, o->json, call, names, count) : count;
	for (size_t i = 0; i < count && !call->args; i++)
		show(&t, o->json, names[i]);
	folder_list_free(names, count);
	if (o->json)
		return 0;
	if (!shown)
		say_warn("No disk found. Run `limactl-c disk create DISK --size SIZE` to create a disk.");
	table_print(&t, 0, stdout);
	return 0;
}

static const struct opt opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct disk_list_opts, json), .help = "one JSON object a line" },
	{ 0 },
};

const struct cmd cmd_disk_list = {
	.name = "list",
	.alias = { "ls" },
	.group = "disk",
	.args = "[DISK...]",
	.summary = "List disks and who uses them",
	.opt = opts,
	.opts_size = sizeof(struct disk_list_opts),
	.most = CMD_ARGS_ANY,
	.run = run,
};
