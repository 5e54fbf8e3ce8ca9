/* disk: extra disks, which templates name in additionalDisks. */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/config/size.h"
#include "limactl-c/store/disk.h"

struct disk_opts {
	const char *size, *format;
};

enum { ANSWER_MAX = 256 };
#define SIZE_MAX_BYTES (16ULL << 40) /* as the guest's own disk */

static int parse_size(const char *text, uint64_t *size, struct err *e)
{
	if (!text)
		return err_set(e, ERR_USAGE, "--size is needed, as in --size 10GiB");
	if (size_parse(text, size, e) < 0)
		return err_wrap(e, "--size");
	if (!*size || *size > SIZE_MAX_BYTES)
		return err_set(e, ERR_USAGE, "--size %s: 1 byte to 16TiB are possible", text);
	return 0;
}

static int run_create(const struct call *call, struct err *e)
{
	const struct disk_opts *o = call->opts;
	const char *name = call->arg[0], *format = o->format ? o->format : "qcow2";
	auto_free char *text = NULL;
	uint64_t size;

	if (parse_size(o->size, &size, e) < 0 || disk_check_new(name, e) < 0)
		return -1;
	text = text_size(size);
	say_info("Creating %s disk \"%s\" with size %s", format, name, text);
	return disk_create(name, size, format, e);
}

/* Whose template and size are for later: the machine knows the size it was started with. */
static int run_resize(const struct call *call, struct err *e)
{
	const struct disk_opts *o = call->opts;
	auto_disk d = DISK_INIT;
	auto_free char *user = NULL, *words = NULL;
	uint64_t size;

	if (parse_size(o->size, &size, e) < 0 || disk_open(call->arg[0], &d, e) < 0)
		return -1;
	user = disk_user(&d);
	words = disk_user_words(user);
	if (words)
		return err_set(e, ERR_STATE, "disk \"%s\" cannot be resized: %s uses it; stop that first", d.name, words);
	if (disk_resize(&d, size, e) < 0)
		return -1;
	say_info("Resized disk \"%s\" (%s)", d.name, d.dir);
	return 0;
}

/* "qcow2 1048576": cut at the blank. */
static int inspect(const char *file, struct buf *answer, struct err *e)
{
	const char *argv[] = { "", "inspect", file, NULL };
	char *blank;

	if (images_run(argv, answer, false, e) < 0)
		return -1;
	blank = answer->data ? strchr(answer->data, ' ') : NULL;
	if (!blank)
		return err_set(e, ERR_INVALID, "%s: what kind of image it is cannot be told", file);
	*blank = '\0';
	return 0;
}

static int run_import(const struct call *call, struct err *e)
{
	const char *name = call->arg[0];
	auto_buf format = BUF_INIT(ANSWER_MAX);
	auto_free char *file = NULL, *size = NULL;
	auto_disk d = DISK_INIT;

	if (disk_check_new(name, e) < 0)
		return -1;
	file = images_get(call->arg[1], NULL, e);
	if (!file || inspect(file, &format, e) < 0 || disk_import(name, file, strcmp(format.data, "iso") ? format.data : "raw", e) < 0 ||
	    disk_open(name, &d, e) < 0)
		return -1;
	size = text_size(d.size);
	say_info("Imported %s with size %s", name, size);
	return 0;
}

static const struct opt create_opts[] = {
	{ "size", 0, OPT_STRING, offsetof(struct disk_opts, size), "SIZE", .help = "size of the disk: 10GiB" },
	{ "format", 0, OPT_WORD, offsetof(struct disk_opts, format), "FORMAT", .help = "of its file (default qcow2)",
	  .words = "qcow2|raw" },
	{ 0 },
};

static const struct opt resize_opts[] = {
	{ "size", 0, OPT_STRING, offsetof(struct disk_opts, size), "SIZE", .help = "new size of the disk, no smaller than it is" },
	{ 0 },
};

static const struct cmd disk_create_cmd = {
	.name = "create",
	.group = "disk",
	.args = "NAME",
	.summary = "Create a disk",
	.opt = create_opts,
	.opts_size = sizeof(struct disk_opts),
	.least = 1,
	.most = 1,
	.run = run_create,
};

static const struct cmd disk_resize_cmd = {
	.name = "resize",
	.group = "disk",
	.args = "DISK",
	.summary = "Make a disk larger",
	.opt = resize_opts,
	.opts_size = sizeof(struct disk_opts),
	.least = 1,
	.most = 1,
	.run = run_resize,
};

static const struct cmd disk_import_cmd = {
	.name = "import",
	.group = "disk",
	.args = "NAME FILE",
	.summary = "Copy an image (qcow2 or raw, also packed, also by URL) as a new disk",
	.least = 2,
	.most = 2,
	.run = run_import,
};

static const struct cmd *const sub[] = {
	&disk_create_cmd, &cmd_disk_delete, &disk_import_cmd, &cmd_disk_list, &disk_resize_cmd, &cmd_disk_unlock, NULL,
};

const struct cmd cmd_disk = {
	.name = "disk",
	.summary = "Create, list, resize and delete extra disks",
	.sub = sub,
};
