#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/config/config.h"

struct schema_opts {
	const char *file;
};

static int run(const struct call *call, struct err *e)
{
	const struct schema_opts *o = call->opts;
	auto_free char *schema = cfg_json_schema();
	const struct buf text = { .data = schema, .len = strlen(schema) };

	return print_to(o->file ? o->file : "-", &text, e);
}

static const struct opt opts[] = {
	{ "schemafile", 0, OPT_STRING, offsetof(struct schema_opts, file), "FILE", .help = "write it there" },
	{ 0 },
};

const struct cmd cmd_jsonschema = {
	.name = "generate-jsonschema",
	.args = "",
	.summary = "Print the JSON schema of templates, for editors",
	.opt = opts,
	.opts_size = sizeof(struct schema_opts),
	.run = run,
};
