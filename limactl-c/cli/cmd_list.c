#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/list.h"
#include "limactl-c/cli/opts.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/folder.h"

struct list_opts {
	bool json, quiet, all_fields, list_fields;
	const char *format;
	struct opt_list yq, filter;
};

static enum list_form form_of(const struct list_opts *o)
{
	static const struct {
		const char *word;
		enum list_form form;
	} forms[] = { { "table", LIST_TABLE }, { "json", LIST_JSON }, { "yaml", LIST_YAML } };

	if (!o->format)
		return o->json || o->yq.count ? LIST_JSON : o->quiet ? LIST_NAMES : LIST_TABLE;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(o->format, forms[i].word))
			return forms[i].form == LIST_TABLE && o->quiet ? LIST_NAMES : forms[i].form;
	return LIST_TEMPLATE;
}

/* Lima's sentences. */
static int check(const struct list_opts *o, enum list_form form, struct err *e)
{
	const struct {
		bool wrong;
		const char *why;
	} rules[] = {
		{ o->json && o->format, "option --json conflicts with option --format" },
		{ o->list_fields && o->format, "option --list-fields conflicts with option --format" },
		{ o->yq.count && o->format && form != LIST_JSON && form != LIST_YAML,
		  "option --yq only works with --format json or yaml" },
		{ o->list_fields && o->yq.count, "option --list-fields conflicts with option --yq" },
		{ o->list_fields && o->filter.count, "option --list-fields conflicts with option --filter" },
		{ o->quiet && (o->json || (o->format && form != LIST_NAMES)),
		  "option --quiet can only be used with '--format table'" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].wrong)
			return err_set(e, ERR_USAGE, "%s", rules[i].why);
	return 0;
}

static int print_fields(void)
{
	const char *const *name;
	size_t n = look_field_names(&name);

	for (size_t i = 0; i < n; i++)
		puts(name[i]);
	return 0;
}

/* "A | B", each one between before and after; NULL when there is none. */
static char *join(const struct opt_list *l, const char *before, const char *after, const char *last)
{
	auto_buf b = BUF_INIT(1 << 20);

	for (size_t i = 0; i < l->count; i++)
		buf_addf(&b, "%s%s%s%s", i ? " | " : "", before, l->item[i], after);
	if (l->count)
		buf_adds(&b, last);
	return steal(&b.data);
}

static int list_all(struct list *l, struct err *e)
{
	char **names;
	size_t count;
	int rc = 0;

	if (inst_list(&names, &count, e) < 0)
		return -1;
	if (!count)
		say_warn("No instance found. Run `limactl-c create FILE` to create one.");
	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = list_instance(l, names[i], e);
		if (rc == 0 || e->kind != ERR_NOTFOUND)
			continue;
		/* Deleted since the folder was read: then it is not listed. */
		*e = (struct err){ 0 };
		rc = 0;
	}
	folder_list_free(names, count);
	return rc;
}

/* All that are there are shown, then the missing ones are an error. */
static int list_named(struct list *l, const struct call *call, struct err *e)
{
	size_t missing = 0;

	for (size_t n = 0; n < call->args; n++) {
		struct inst i;

		if (inst_open(call->arg[n], &i, e) < 0) {
			say_warn("%s", e->msg);
			missing++;
			continue;
		}
		inst_fini(&i);
		if (list_instance(l, call->arg[n], e) < 0)
			return -1;
	}
	return missing ? err_set(e, ERR_NOTFOUND, "%zu of the named instances could not be listed", missing) : 0;
}

static int run(const struct call *call, struct err *e)
{
	const struct list_opts *o = call->opts;
	enum list_form form = form_of(o);
	auto_free char *filter = join(&o->filter, "select(", ")", ""), *yq = join(&o->yq, "", "", o->quiet ? " | .name" : "");
	struct list l = {
		.form = form,
		.template = o->format,
		.filter = filter,
		.yq = yq,
		.all_fields = o->all_fields,
		.pretty = isatty(STDOUT_FILENO),
	};
	int rc;

	if (check(o, form, e) < 0)
		return -1;
	if (o->list_fields)
		return print_fields();
	list_begin(&l);
	rc = call->args ? list_named(&l, call, e) : list_all(&l, e);
	list_end(&l);
	return rc;
}

static const struct opt opts[] = {
	{ "format", 'f', OPT_STRING, offsetof(struct list_opts, format), "FORMAT",
	  .help = "table (default), json, yaml or a Go template: '{{.Name}}'", .words = "table|json|yaml" },
	{ "json", 0, OPT_FLAG, offsetof(struct list_opts, json), .help = "one JSON object a line, as --format json" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct list_opts, quiet), .help = "names only" },
	{ "filter", 'l', OPT_LIST, offsetof(struct list_opts, filter), "EXPR",
	  .help = "only those for which the yq expression holds: '.status == \"Running\"'" },
	{ "yq", 0, OPT_LIST, offsetof(struct list_opts, yq), "EXPR", .help = "what the yq expression makes of each" },
	{ "all-fields", 0, OPT_FLAG, offsetof(struct list_opts, all_fields), .help = "no column less on a narrow terminal" },
	{ "list-fields", 0, OPT_FLAG, offsetof(struct list_opts, list_fields), .help = "the fields templates may name" },
	{ 0 },
};

const struct cmd cmd_list = {
	.name = "list",
	.alias = { "ls" },
	.args = "[INSTANCE...]",
	.summary = "List instances",
	.opt = opts,
	.opts_size = sizeof(struct list_opts),
	.most = CMD_ARGS_ANY,
	.run = run,
};
