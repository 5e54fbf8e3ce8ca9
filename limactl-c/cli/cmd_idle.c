#include <stdio.h>

#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/haclient.h"

enum { ANSWER_MS = 5000 };

static int tell(const struct inst *i, struct err *e)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	auto_jx *status = NULL;
	const char *sentence;
	int rc = hac_request(i->dir, "GET", "/v1/status", NULL, ANSWER_MS, &a, e);

	if (rc < 0)
		hac_not_running(i, e);
	else if (!(status = jx_parse(a.body.data, a.body.len, "the host agent's answer", e)))
		rc = -1;
	else if (!(sentence = jx_string(jx_member(status, "idle"), "sentence", e)))
		rc = -1;
	else
		printf("%s: %s\n", i->name, sentence);
	buf_free(&a.body);
	return rc;
}

static int run(const struct call *call, struct err *e)
{
	struct inst i;
	int rc;

	if (inst_open(call->args ? call->arg[0] : "default", &i, e) < 0)
		return -1;
	rc = tell(&i, e);
	inst_fini(&i);
	return rc;
}

const struct cmd cmd_idle = {
	.name = "idle",
	.args = "[INSTANCE]",
	.summary = "Say why an instance sleeps or does not",
	.most = 1,
	.run = run,
};
