#include "limactl-c/cli/cmd.h"

static const struct cmd *const sub[] = {
	&cmd_template_copy, &cmd_template_url, &cmd_template_validate, &cmd_template_yq, NULL,
};

const struct cmd cmd_template = {
	.name = "template",
	.alias = { "tmpl" },
	.summary = "Copy, check and query templates",
	.sub = sub,
};
