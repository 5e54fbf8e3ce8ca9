/* snapshot: what an instance was at a moment, inside its own disk. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/snapshot_disk.h"
#include "limactl-c/plan/snapshot.h"

struct snapshot_opts {
	const char *tag;
	bool quiet;
};

enum { RUNNING_MS = 620 * 1000 }; /* a little more than the host agent gives QEMU */

/* What is done to the disk of an instance that stands still, or asked of the host agent of one that runs. */
static const struct way {
	const char *done, *path;
	int (*still)(const struct inst *i, const char *tag, struct err *e);
} create_way = { "Made", "/v1/snapshot/create", snapshot_disk_create },
  apply_way = { "Went back to", "/v1/snapshot/apply", snapshot_disk_apply },
  delete_way = { "Deleted", "/v1/snapshot/delete", snapshot_disk_delete };

static int ask(const struct inst *i, const struct way *w, const char *tag, struct err *e)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	auto_jx *o = jx_new_object();
	auto_free char *body = NULL;
	int rc;

	jx_set_string(o, "tag", tag);
	body = jx_dump(o);
	rc = hac_request(i->dir, "POST", w->path, body, RUNNING_MS, &a, e);
	buf_free(&a.body);
	return rc;
}

static int change(const struct inst *i, const struct way *w, const char *tag, struct err *e)
{
	bool answers;

	switch (launch_status(i, &answers)) {
	case INST_RUNNING:
		return ask(i, w, tag, e);
	case INST_ORPHAN:
		return hac_orphan(i, e);
	default:
		return w->still(i, tag, e);
	}
}

static int run_way(const struct call *call, const struct way *w, struct err *e)
{
	const struct snapshot_opts *o = call->opts;
	struct inst i;
	int rc;

	if (!o->tag)
		return err_set(e, ERR_USAGE, "--tag is needed: the name of the snapshot");
	if ((w == &create_way && snapshot_check_tag(o->tag, e) < 0) || inst_open(call->arg[0], &i, e) < 0)
		return -1;
	rc = change(&i, w, o->tag, e);
	if (rc == 0)
		say_info("%s snapshot \"%s\" of \"%s\"", w->done, o->tag, i.name);
	inst_fini(&i);
	return rc;
}

static int run_create(const struct call *call, struct err *e)
{
	return run_way(call, &create_way, e);
}

static int run_apply(const struct call *call, struct err *e)
{
	return run_way(call, &apply_way, e);
}

static int run_delete(const struct call *call, struct err *e)
{
	return run_way(call, &delete_way, e);
}

/* --- list: as qemu-img writes it, which Lima hands on --- */

#define ROW "%-9s %-16s %8s%20s%13s%11s\n"

static char *size_word(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)bytes;
	size_t u = 0;

	for (; n >= 1000; u++)
		n /= 1024;
	return xasprintf("%.3g %s", n, units[u]);
}

static void print_row(const struct qcow2_snapshot *s)
{
	auto_free char *size = size_word(s->memory), *clock = NULL, *icount = NULL;
	uint64_t seconds = s->clock / 1000000000;
	time_t when = (time_t)s->date;
	char date[32] = "";
	struct tm tm;

	if (localtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	clock = xasprintf("%02" PRIu64 ":%02u:%02u.%03u", seconds / 3600, (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
			  (unsigned)(s->clock / 1000000 % 1000));
	icount = s->icount == QCOW2_NO_ICOUNT ? xstrdup("") : xasprintf("%" PRIu64, s->icount);
	printf(ROW, s->id, s->tag, size, date, clock, icount);
}

static int print(const struct inst *i, bool quiet, struct err *e)
{
	CLEANUP(plan_free) struct plan p = { 0 };
	auto_snapshots s = QCOW2_SNAPSHOTS_INIT;

	if (make_load(i, &p, e) < 0 || (!p.disks && snapshot_possible(&p, false, e) < 0) || snapshot_list(&p, &s, e) < 0)
		return -1;
	if (s.count && !quiet)
		printf(ROW, "ID", "TAG", "VM SIZE", "DATE", "VM CLOCK", "ICOUNT");
	for (size_t n = 0; n < s.count; n++) {
		text_make_plain(s.one[n].tag);
		text_make_plain(s.one[n].id);
		if (quiet)
			puts(s.one[n].tag);
		else
			print_row(&s.one[n]);
	}
	return 0;
}

static int run_list(const struct call *call, struct err *e)
{
	const struct snapshot_opts *o = call->opts;
	struct inst i;
	int rc;

	if (inst_open(call->arg[0], &i, e) < 0)
		return -1;
	rc = print(&i, o->quiet, e);
	inst_fini(&i);
	return rc;
}

static const struct opt tag_opts[] = {
	{ "tag", 0, OPT_STRING, offsetof(struct snapshot_opts, tag), "TAG", .help = "name of the snapshot" },
	{ 0 },
};

static const struct opt list_opts[] = {
	{ "quiet", 'q', OPT_FLAG, offsetof(struct snapshot_opts, quiet), .help = "only the tags" },
	{ 0 },
};

#define SNAPSHOT_CMD(word, first, second, text, rows, fn) \
	{ \
		.name = word, .alias = { first, second }, .group = "snapshot", .args = "INSTANCE", .summary = text, .opt = rows, \
		.opts_size = sizeof(struct snapshot_opts), .least = 1, .most = 1, .run = fn, \
	}

static const struct cmd create_cmd = SNAPSHOT_CMD("create", "save", NULL, "Make a snapshot, with the memory of an instance that runs",
						  tag_opts, run_create);
static const struct cmd apply_cmd = SNAPSHOT_CMD("apply", "load", NULL, "Go back to a snapshot", tag_opts, run_apply);
static const struct cmd delete_cmd = SNAPSHOT_CMD("delete", "del", NULL, "Delete a snapshot", tag_opts, run_delete);
static const struct cmd list_cmd = SNAPSHOT_CMD("list", "ls", NULL, "List snapshots", list_opts, run_list);

static const struct cmd *const sub[] = { &create_cmd, &apply_cmd, &delete_cmd, &list_cmd, NULL };

const struct cmd cmd_snapshot = {
	.name = "snapshot",
	.summary = "Make, apply, list and delete snapshots",
	.sub = sub,
};
