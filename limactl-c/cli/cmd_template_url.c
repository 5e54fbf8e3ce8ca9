#include <stdio.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/config/locator.h"

static int run(const struct call *call, struct err *e)
{
	auto_free char *path = locator_path(call->arg[0], e);

	if (!path)
		return -1;
	puts(path);
	return 0;
}

const struct cmd cmd_template_url = {
	.name = "url",
	.group = "template",
	.args = "FILE|template:NAME|URL",
	.summary = "Say which file or URL a template is",
	.least = 1,
	.most = 1,
	.run = run,
};
