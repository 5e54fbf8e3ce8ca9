/* image initrd - an instance's initramfs, written at every start. */
#include "limactl-c/image/command.h"
#include "limactl-c/image/initrd.h"

enum { OPT_BASE, OPT_OUT, OPT_LIST };

static int run(const struct command_line *c, struct err *e)
{
	const char *out = c->opt[OPT_OUT];
	auto_manifest m = MANIFEST_INIT;
	auto_newfile f = NEWFILE_INIT;

	if (manifest_read(&m, c->opt[OPT_LIST], e) < 0 || newfile_open(&f, out, e) < 0 ||
	    initrd_write(&f, c->opt[OPT_BASE], &m, e) < 0)
		return -1;
	/* Not synced: it is made anew at every start. It carries the instance's settings, so it is the owner's alone. */
	return newfile_commit(&f, out, 0600, false, e);
}

const struct command command_initrd = {
	.name = "initrd",
	.args = "",
	.help = "write the initramfs BASE and behind it an archive of the listed files (MODE GUEST_PATH HOST_PATH)",
	.opt = {
		[OPT_BASE] = { "base", "BASE", true },
		[OPT_OUT] = { "out", "OUT", true },
		[OPT_LIST] = { "list", "LIST", true },
	},
	.run = run,
};
