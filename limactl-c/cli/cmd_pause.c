/* pause, suspend and resume: what idle.* does by itself, by hand. */
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/say.h"

/* One that cannot go on from its memory boots. */
enum { ANSWER_MS = 600 * 1000 };

static int ask(const struct call *call, const char *path, const char *body, const char *done, struct err *e)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct inst i;
	int rc;

	if (inst_open(call->args ? call->arg[0] : "default", &i, e) < 0)
		return -1;
	rc = hac_request(i.dir, "POST", path, body, ANSWER_MS, &a, e);
	if (rc < 0)
		hac_not_running(&i, e);
	else
		say_info("The instance \"%s\" %s", i.name, done);
	buf_free(&a.body);
	inst_fini(&i);
	return rc;
}

static int run_pause(const struct call *call, struct err *e)
{
	return ask(call, "/v1/pause", "{\"untilUsed\":true}", "is paused. Who uses it wakes it up.", e);
}

static int run_suspend(const struct call *call, struct err *e)
{
	return ask(call, "/v1/save", "{\"untilUsed\":true}", "is suspended: its memory is a file. Who uses it wakes it up.", e);
}

static int run_resume(const struct call *call, struct err *e)
{
	return ask(call, "/v1/wake", NULL, "runs", e);
}

const struct cmd cmd_pause = {
	.name = "pause",
	.args = "[INSTANCE]",
	.summary = "Let an instance stand still until it is used again",
	.most = 1,
	.run = run_pause,
};

const struct cmd cmd_suspend = {
	.name = "suspend",
	.args = "[INSTANCE]",
	.summary = "Keep an instance in a file until it is used again",
	.most = 1,
	.run = run_suspend,
};

const struct cmd cmd_resume = {
	.name = "resume",
	.args = "[INSTANCE]",
	.summary = "Let an instance that sleeps go on",
	.most = 1,
	.run = run_resume,
};
