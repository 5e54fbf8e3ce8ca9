#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/setup.h"

static int run(const struct call *call, struct err *e)
{
	for (size_t n = 0; n < call->args; n++) {
		auto_setup s = SETUP_INIT;

		if (setup_read(&s, call->arg[n], e) < 0 || setup_check(&s, e) < 0)
			return -1;
		say_info("\"%s\": OK", call->arg[n]);
	}
	return 0;
}

const struct cmd cmd_validate = {
	.name = "validate",
	.args = "FILE|template:NAME|-...",
	.summary = "Check templates",
	.least = 1,
	.most = CMD_ARGS_ANY,
	.run = run,
};
