/* image extract ARCHIVE MEMBER OUT - one file of a zip archive or an ISO volume. */
#include "limactl-c/image/command.h"
#include "limactl-c/image/unpack.h"

static int run(const struct command_line *c, struct err *e)
{
	auto_newfile f = NEWFILE_INIT;
	auto_sink s = SINK_INIT;
	struct digest got;

	if (newfile_open(&f, c->arg[2], e) < 0 || sink_open(&s, &f, NULL, e) < 0 ||
	    unpack_member(c->arg[0], c->arg[1], &s, e) < 0 || sink_end(&s, &got, e) < 0)
		return -1;
	return newfile_commit(&f, c->arg[2], 0644, false, e);
}

const struct command command_extract = {
	.name = "extract",
	.args = "ARCHIVE MEMBER OUT",
	.nargs = 3,
	.help = "write one file of a zip archive or an ISO volume to OUT",
	.run = run,
};
