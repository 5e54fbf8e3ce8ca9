#include "guestagent/file_events.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guestagent/relay.h"
#include "guestagent/user.h"
#include "guestagent/wake.h"
#include "lib/io.h"

enum { CHILD_SOCKET = 3 };

static _Noreturn void run_child(const struct ga *ga, int sock)
{
	struct rlimit files; /* as raised by the daemon: each folder that is held takes a descriptor */

	if (dup2(sock, CHILD_SOCKET) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		_exit(1);
	ga_child_alone(&files, CHILD_SOCKET + 1);
	prctl(PR_SET_NAME, "file-events");
	_exit(wake_main(CHILD_SOCKET, ga->settings));
}

void ga_file_events_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	int pair[2];
	pid_t pid;

	(void)o;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		mux_reset(m, MUX_RESET_LIMIT);
		return;
	}
	pid = fork();
	if (pid == 0)
		run_child(ga, pair[1]);
	close(pair[1]);
	if (pid > 0 && io_set_nonblock(pair[0], true) == 0) {
		ga_relay_take(ga, m, pair[0]);
		return;
	}
	close(pair[0]); /* a child that has come ends with it */
	mux_reset(m, MUX_RESET_LIMIT);
}
