/* image seed - the ISO a guest's cloud-init, or alpine-lima's lima-init, reads at its first boot. */
#include "limactl-c/image/command.h"
#include "limactl-c/image/iso_write.h"

enum { OPT_LABEL, OPT_OUT, OPT_LIST };

static int run(const struct command_line *c, struct err *e)
{
	const char *out = c->opt[OPT_OUT];
	auto_manifest m = MANIFEST_INIT;
	auto_newfile f = NEWFILE_INIT;

	if (manifest_read(&m, c->opt[OPT_LIST], e) < 0 || newfile_open(&f, out, e) < 0 || iso_write(&f, c->opt[OPT_LABEL], &m, e) < 0)
		return -1;
	/* It carries the instance's settings, so it is the owner's alone. */
	return newfile_commit(&f, out, 0600, false, e);
}

const struct command command_seed = {
	.name = "seed",
	.args = "",
	.help = "write an ISO volume of the listed files (MODE GUEST_PATH HOST_PATH); the same input gives the same bytes",
	.opt = {
		[OPT_LABEL] = { "label", "LABEL", true },
		[OPT_OUT] = { "out", "OUT", true },
		[OPT_LIST] = { "list", "LIST", true },
	},
	.run = run,
};
