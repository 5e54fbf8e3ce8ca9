#include "limactl-c/hostagent/agentless.h"

#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "limactl-c/base/prefix.h"

enum { REST_MS = 1000 }; /* from one's start to the next one's */

int agentless_carrier(struct agentless *a, const struct plan *plan, struct spawner *spawner, struct err *e)
{
	auto_free char *program = prefix_libexec("ssh", e);
	const char *argv[] = { program, plan->dir, NULL };
	struct spawn s = { .argv = argv, .fds = 1 };
	int ends[2];

	if (!program)
		return -1;
	if (a->started && clock_ms() - a->started < REST_MS)
		return err_set(e, ERR_STATE, "the program that drives it by ssh has just ended");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return err_errno(e, "socketpair");
	for (int i = 0; i < 2; i++)
		io_set_cloexec(ends[i], true);
	s.fd[0] = ends[1];
	a->started = clock_ms();
	if (spawner_start(spawner, &s, e) < 0)
		close(steal_fd(&ends[0]));
	close(ends[1]);
	return ends[0];
}
