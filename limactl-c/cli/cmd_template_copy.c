#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/findings.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/cli/source.h"
#include "limactl-c/config/embed.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/config/vars.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"

struct copy_opts {
	bool embed, embed_all, fill, verbatim;
};

enum { COPY_MAX = 64 << 20 };

/* The template as YAML with what the options ask for; comments and order stay. */
static int rewrite(const struct buf *text, const char *locator, const struct copy_opts *o, struct buf *out, struct err *e)
{
	const struct embed how = { .reader = &source_reader, .all = o->embed_all };
	auto_pool p = yn_pool_new();
	struct findings f = { .count = 0 };
	const struct ynode *was = yn_parse(p, locator, text->data ? text->data : "", text->len, &f);
	struct ynode *now = NULL;
	int rc;

	if (was && was->kind != YN_MAP)
		finding_error(&f, yn_place(was), NULL, "a template is a mapping of keys to values, not %s",
			      yn_kind_word(was->kind));
	else if (was && (o->embed || o->embed_all))
		now = embed_template(p, was, locator, &how, &f);
	else if (was)
		embed_absolute(p, now = yn_copy(p, was), locator, &f);
	rc = findings_result(&f, locator, e);
	findings_say(&f);
	findings_fini(&f);
	return rc < 0 ? -1 : yn_patch(was, now, out, e);
}

static int fill(const char *locator, struct buf *out, struct err *e)
{
	auto_setup s = SETUP_INIT;
	auto_pool p = yn_pool_new();
	struct ynode *tree;

	if (setup_read(&s, locator, e) < 0 || setup_embed(&s, e) < 0 || setup_check(&s, e) < 0)
		return -1;
	tree = cfg_tree(&s.cfg, p);
	vars_restore(&s.cfg, p, tree);
	return yn_emit(tree, out) < 0
		       ? err_set(e, ERR_INVALID, "the template is larger than %d bytes", COPY_MAX)
		       : 0;
}

static int run(const struct call *call, struct err *e)
{
	const struct copy_opts *o = call->opts;
	const char *from = call->arg[0], *to = call->args > 1 ? call->arg[1] : "-";
	auto_buf text = BUF_INIT(SETUP_TEXT_MAX), out = BUF_INIT(COPY_MAX);

	if (o->verbatim && (o->embed || o->embed_all || o->fill))
		return err_set(e, ERR_USAGE,
			       "--verbatim cannot be used with any of --embed, --embed-all, or --fill");
	if (o->fill)
		return fill(from, &out, e) < 0 ? -1 : print_to(to, &out, e);
	if (locator_read(from, NULL, &source_reader, &text, e) < 0)
		return -1;
	if (o->verbatim)
		return print_to(to, &text, e);
	return rewrite(&text, from, o, &out, e) < 0 ? -1 : print_to(to, &out, e);
}

static const struct opt opts[] = {
	{ "embed", 0, OPT_FLAG, offsetof(struct copy_opts, embed), .help = "its bases and script files in it, but for template:" },
	{ "embed-all", 0, OPT_FLAG, offsetof(struct copy_opts, embed_all), .help = "template: too" },
	{ "fill", 0, OPT_FLAG, offsetof(struct copy_opts, fill), .help = "all embedded, and every default written out" },
	{ "verbatim", 0, OPT_FLAG, offsetof(struct copy_opts, verbatim), .help = "relative bases and files stay relative" },
	{ 0 },
};

const struct cmd cmd_template_copy = {
	.name = "copy",
	.group = "template",
	.args = "FILE|template:NAME|URL|- [FILE|-]",
	.summary = "Copy a template to a file or standard output",
	.opt = opts,
	.opts_size = sizeof(struct copy_opts),
	.least = 1,
	.most = 2,
	.run = run,
};
