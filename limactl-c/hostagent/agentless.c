#include "limactl-c/hostagent/agentless.h"

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "limactl-c/base/prefix.h"

enum { REST_MS = 1000 }; /* from one's start to the next one's */

int agentless_carrier(struct agentless *a, const struct plan *plan, struct spawner *spawner, struct err *e)
{
	auto_free char *program = prefix_libexec("ssh", e);
	const char *argv[] = { program, plan->dir, NULL };
	struct spawn s = { .argv = argv };
	pid_t pid;

	if (!program)
		return -1;
	if (a->started && clock_ms() - a->started < REST_MS)
		return err_set(e, ERR_STATE, "the program that drives it by ssh has just ended");
	a->started = clock_ms();
	return spawner_connect(spawner, &s, &pid, e);
}
