/* image inspect FILE - what a disk image is, when it is one we take: "qcow2 BYTES" or "raw BYTES". */
#include <inttypes.h>
#include <stdio.h>

#include "limactl-c/base/qcow2.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/disk_image.h"

static int run(const struct command_line *c, struct err *e)
{
	auto_disk_image d = disk_image_open(c->arg[0], false, e);
	struct qcow2_info info;

	if (!d || qcow2_inspect(c->arg[0], &info, e) < 0)
		return -1;
	printf("%s %" PRIu64 "\n", info.format, info.size);
	return 0;
}

const struct command command_inspect = {
	.name = "inspect",
	.args = "FILE",
	.help = "print format and size of a disk image; one that names other files or is of another format is refused",
	.nargs = 1,
	.run = run,
};
