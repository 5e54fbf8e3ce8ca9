/* image digest FILE - its SHA-256, as import and get take it. */
#include <fcntl.h>
#include <stdio.h>

#include "lib/cleanup.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/digest.h"

static int run(const struct command_line *c, struct err *e)
{
	auto_close int fd = open(c->arg[0], O_RDONLY | O_CLOEXEC);
	struct digest d;

	if (fd < 0)
		return err_errno(e, "cannot open %s", c->arg[0]);
	if (hash_fd(fd, NULL, &d, e) < 0)
		return err_wrap(e, "%s", c->arg[0]);
	printf("%s:%s\n", d.algo, d.hex);
	return 0;
}

const struct command command_digest = {
	.name = "digest",
	.args = "FILE",
	.nargs = 1,
	.help = "print the file's digest as sha256:HEX",
	.run = run,
};
