/* What the completion scripts ask: the words before the cursor in, what may stand there out, one a line. */
#include <stdio.h>

#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/completion.h"

static int run(const struct call *call, struct err *e)
{
	struct completion c;

	(void)e;
	completion_find((const char *const *)call->arg, call->args, &c);
	for (size_t i = 0; i < c.count; i++)
		printf("%s%s%s\n", c.item[i].word, *c.item[i].help ? "\t" : "", c.item[i].help);
	if (c.files)
		puts(":files");
	completion_fini(&c);
	return 0;
}

const struct cmd cmd_complete = {
	.name = "__complete",
	.args = "-- WORD...",
	.summary = "Say what may stand at the last word",
	.hidden = true,
	.in_order = true,
	.most = CMD_ARGS_ANY,
	.run = run,
};
