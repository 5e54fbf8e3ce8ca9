#include <stdio.h>

#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/completion.h"

static int run(const struct call *call, struct err *e)
{
	const char *script = completion_script(call->arg[0]);

	if (!script)
		return err_set(e, ERR_USAGE, "completion: there is none for \"%s\"; for bash, zsh and fish there is",
			       call->arg[0]);
	fputs(script, stdout);
	return 0;
}

const struct cmd cmd_completion = {
	.name = "completion",
	.args = "bash|zsh|fish",
	.summary = "Print the script that completes command lines in a shell",
	.least = 1,
	.most = 1,
	.run = run,
};
