#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/cli/setup.h"

static int run(const struct call *call, struct err *e)
{
	auto_setup s = SETUP_INIT;
	auto_pool p = yn_pool_new();
	struct yq_result r;

	if (setup_read(&s, call->arg[0], e) < 0 || setup_embed(&s, e) < 0 || setup_check(&s, e) < 0)
		return -1;
	if (yq_run(p, call->arg[1], cfg_tree(&s.cfg, p), &r, e) < 0)
		return -1;
	return print_nodes(&r, PRINT_YAML, e);
}

const struct cmd cmd_template_yq = {
	.name = "yq",
	.group = "template",
	.args = "FILE|template:NAME|URL|- EXPRESSION",
	.summary = "Query a template with a yq expression, its bases embedded and its defaults filled in",
	.least = 2,
	.most = 2,
	.run = run,
};
