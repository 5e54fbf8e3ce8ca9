#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/explain.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/config/vars.h"
#include "limactl-c/yaml/emit.h"

struct validate_opts {
	struct setup_rules rules;
	bool fill, explain;
};

enum { FILLED_MAX = 64 << 20 };

/* The filled template; documents of several are set apart. */
static int print_filled(const struct setup *s, const struct validate_opts *o, bool apart, struct err *e)
{
	auto_buf text = BUF_INIT(FILLED_MAX);
	auto_pool p = yn_pool_new();
	struct ynode *tree = cfg_tree(&s->cfg, p);
	int rc = apart ? buf_adds(&text, "---\n") : 0;

	if (o->fill)
		vars_restore(&s->cfg, p, tree);
	if (rc == 0)
		rc = o->explain ? explain(tree, &text) : yn_emit(tree, &text);
	if (rc < 0)
		return err_set(e, ERR_INVALID, "the template is larger than %d bytes", FILLED_MAX);
	return print_to("-", &text, e);
}

static int run(const struct call *call, struct err *e)
{
	const struct validate_opts *o = call->opts;

	if (o->fill && o->explain)
		return err_set(e, ERR_USAGE, "--fill and --explain cannot be used together");
	for (size_t n = 0; n < call->args; n++) {
		auto_setup s = SETUP_INIT;

		s.rules = o->rules;
		if (setup_read(&s, call->arg[n], e) < 0 || setup_embed(&s, e) < 0 || setup_check(&s, e) < 0)
			return -1;
		say_info("\"%s\": OK", call->arg[n]);
		if ((o->fill || o->explain) && print_filled(&s, o, n > 0, e) < 0)
			return -1;
	}
	return 0;
}

static const struct opt opts[] = {
	{ "fill", 0, OPT_FLAG, offsetof(struct validate_opts, fill), .help = "print it with every default written out" },
	{ "explain", 0, OPT_FLAG, offsetof(struct validate_opts, explain),
	  .help = "the same, with the file and line each value came from" },
	{ 0 },
};

#define VALIDATE \
	.name = "validate", .args = "FILE|template:NAME|URL|-...", .summary = "Check templates", .opt = opts, \
	.shared = { { setup_rules_opts, offsetof(struct validate_opts, rules) } }, \
	.opts_size = sizeof(struct validate_opts), .least = 1, .most = CMD_ARGS_ANY, .run = run

const struct cmd cmd_validate = { VALIDATE };
const struct cmd cmd_template_validate = { VALIDATE, .group = "template" };
