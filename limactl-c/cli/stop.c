/* Stopping an instance, whatever is left of it. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/paths.h"

enum {
	STOP_MS = 190 * 1000,      /* Lima's: three minutes for the guest, ten seconds more */
	STOP_FORCE_MS = 2500,
	END_TRIES = 500,           /* 20 ms apart: from the answer to the end of the processes */
};

static bool wait_stopped(const struct inst *i)
{
	for (int n = 0; n < END_TRIES; n++) {
		enum inst_status st = inst_status(i);

		if (st == INST_STOPPED || st == INST_BROKEN)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return false;
}

/* *killed, which may be NULL: the guest did not power off, so the host agent ended its machine. */
static int ask(const struct inst *i, bool force, bool *killed, struct err *e)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	int rc = hac_request(i->dir, "POST", "/v1/stop", force ? "{\"force\":true}" : "{}",
			    force ? STOP_FORCE_MS : STOP_MS, &a, e);
	struct err ignored = { 0 };
	auto_jx *o = rc == 0 && a.body.data ? jx_parse(a.body.data, a.body.len, "stop", &ignored) : NULL;

	if (killed)
		*killed = !strcmp(jx_string_or(o, "state", ""), "killed");
	buf_free(&a.body);
	return rc;
}

/* Removes what processes that were killed have left. */
static void sweep(const struct inst *i)
{
	auto_free char *pid = path_in(i->dir, PATH_HA_PID), *sock = path_in(i->dir, PATH_HA_SOCK);
	struct err busy;
	/* Held meanwhile: the files of a start that begins just now are not ours. */
	auto_close int lock = inst_lock(i, false, false, &busy);

	if (lock < 0)
		return;
	unlink(pid);
	unlink(sock);
	paths_remove_machine(i->dir);
}

static int stop_forced(const struct inst *i, struct err *e)
{
	struct err ignored = { 0 };

	if (inst_status(i) == INST_RUNNING && ask(i, true, NULL, &ignored) == 0 && wait_stopped(i))
		return 0;
	if (inst_kill(i, e) < 0)
		return -1;
	sweep(i);
	return 0;
}

enum { SUSPEND_MS = 240 * 1000, WAKE_MS = 600 * 1000 };

/* An order for one that runs; refused is no error where *e says so. */
static int order(const struct inst *i, const char *path, int ms, struct err *e)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	int rc = hac_request(i->dir, "POST", path, NULL, ms, &a, e);

	buf_free(&a.body);
	return rc;
}

static int end_orderly(const struct inst *i, struct err *e)
{
	bool killed;

	if (ask(i, false, &killed, e) < 0)
		return err_wrap(e, "stop of instance \"%s\" (stop -f ends it at once)", i->name);
	if (killed)
		say_warn("The guest did not power off in time: its machine was killed, and what it had not written to its disk is lost");
	if (!wait_stopped(i))
		return err_set(e, ERR_TIMEOUT, "instance \"%s\" did not end (stop -f ends it at once)", i->name);
	return 0;
}

static int stop_orderly(const struct inst *i, struct err *e)
{
	struct err refused = { 0 };

	if (inst_status(i) == INST_ORPHAN)
		return err_set(e, ERR_STATE,
			       "the machine of instance \"%s\" runs without its host agent: `limactl-c start %s` takes it "
			       "over, `limactl-c stop -f %s` ends it", i->name, i->name, i->name);
	/* A suspended guest would not be powered off; one that starts or stops is not asleep. */
	order(i, "/v1/wake", WAKE_MS, &refused);
	return end_orderly(i, e);
}

int launch_suspend(const struct inst *i, struct err *e)
{
	if (inst_status(i) != INST_RUNNING)
		return err_set(e, ERR_STATE, "instance \"%s\" is not running", i->name);
	say_info("Suspending the instance \"%s\"", i->name);
	if (order(i, "/v1/save", SUSPEND_MS, e) < 0)
		return err_wrap(e, "instance \"%s\"", i->name);
	return end_orderly(i, e);
}

int launch_stop(const struct inst *i, bool force, struct err *e)
{
	enum inst_status st = inst_status(i);

	if (st == INST_STOPPED || st == INST_BROKEN) {
		sweep(i);
		say_info("The instance \"%s\" is not running", i->name);
		return 0;
	}
	if (force || st == INST_RUNNING)
		say_info("Stopping the instance \"%s\"%s", i->name, force ? " at once" : "");
	return force ? stop_forced(i, e) : stop_orderly(i, e);
}
