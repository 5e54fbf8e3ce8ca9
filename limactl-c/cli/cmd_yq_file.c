/* The host agent's helper for provision[] mode yq: a process of its own for a text the guest made. */
#include <stdio.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/print.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"

enum { FILE_MAX = 1 << 20, JSON_INDENT = 2 };

static const char *text_of(const struct buf *b)
{
	return b->data ? b->data : "";
}

/* What is not changed stays as it is written; where that is not possible the values are what counts. */
static int write_yaml(const struct ynode *was, struct ynode *now, struct buf *out, struct err *e)
{
	if (was && yn_patch(was, now, out, e) == 0)
		return 0;
	buf_free(out);
	return yn_emit(now, out);
}

static int write_json(struct ynode *now, struct buf *out)
{
	return yn_json(now, JSON_INDENT, out) < 0 ? -1 : buf_adds(out, "\n");
}

static int edit(const struct call *call, struct err *e)
{
	const char *format = call->arg[0], *path = call->args > 2 ? call->arg[2] : NULL;
	auto_buf text = BUF_INIT(FILE_MAX), out = BUF_INIT(FILE_MAX);
	auto_pool p = yn_pool_new();
	const struct ynode *was = NULL;
	struct yq_result r;
	int rc;

	if (path && io_read_file(path, &text, e) < 0)
		return -1;
	if (path && !(was = yn_parse_one(p, "the file", text_of(&text), text.len, e)))
		return -1;
	if (yq_run(p, call->arg[1], was ? was : yn_null(p), &r, e) < 0)
		return -1;
	if (r.count != 1)
		return err_set(e, ERR_INVALID, "the expression gives %zu results, not the one changed file", r.count);
	rc = strcmp(format, "json") ? write_yaml(was, r.node[0], &out, e) : write_json(r.node[0], &out);
	if (rc < 0)
		return err_set(e, ERR_INVALID, "the changed file is larger than %d MiB", FILE_MAX >> 20);
	return print_to("-", &out, e);
}

/* The host agent passes the sentence on, so it gets that alone. */
static int run(const struct call *call, struct err *e)
{
	if (edit(call, e) == 0)
		return 0;
	fprintf(stderr, "%s\n", e->msg);
	*e = (struct err){ 0 };
	return 1;
}

const struct cmd cmd_yq_file = {
	.name = "yq-file",
	.args = "yaml|json EXPRESSION [FILE]",
	.summary = "Print a file, or nothing, as an expression changes it",
	.hidden = true,
	.least = 2,
	.most = 3,
	.run = run,
};
