/* Two channels to the spawner: a stream socket for requests (with descriptors) and their answers, and a pipe on which
 * it reports exits, so that waiting for an exit and asking for a start never mix. Both ends are the same program
 * image, so structs travel as they are. The spawner ends when the request socket reaches its end. */
#include "limactl-c/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn_child.h"

enum {
	REQUEST_MAX = 1 << 20, /* bytes of all strings of one request */
	FOR_NEXT_MAX = 64,
};

struct spawner {
	int sock;  /* requests and answers, blocking */
	int exits; /* struct exit_record, non-blocking */
	pid_t pid; /* of the spawner */
};

struct request {
	uint32_t bytes; /* of the NUL-terminated strings that follow: argv, env, log, readonly */
	uint32_t args, envs, fds;
	bool log, readonly, new_session, new_net, for_next;
};

struct answer {
	pid_t pid; /* -1: error */
	struct err error;
};

struct exit_record {
	pid_t pid;
	int status;
};

/* --- in the spawner --- */

static int wake_pipe[2]; /* written by the SIGCHLD handler */

/* Started for one that has not been started yet. */
static struct {
	pid_t pid[FOR_NEXT_MAX];
	size_t count;
} early;

static void on_child(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(wake_pipe[1], "", 1) < 0) {
		/* Full: a wake-up is pending anyway. */
	}
	errno = saved;
}

static void report_exits(int exits)
{
	char drop[64];
	struct exit_record r;

	while (read(wake_pipe[0], drop, sizeof(drop)) > 0)
		;
	while ((r.pid = waitpid(-1, &r.status, WNOHANG)) > 0) {
		/* Its number may be another's from here on. */
		for (size_t i = 0; i < early.count; i++)
			if (early.pid[i] == r.pid)
				early.pid[i] = early.pid[--early.count];
		io_write_full(exits, &r, sizeof(r));
	}
}

/* Points list at n strings starting at *at. -1 when they do not end before end. */
static int take_strings(const char **list, size_t n, char **at, const char *end)
{
	for (size_t i = 0; i < n; i++) {
		char *nul = memchr(*at, '\0', (size_t)(end - *at));

		if (!nul)
			return -1;
		list[i] = *at;
		*at = nul + 1;
	}
	list[n] = NULL;
	return 0;
}

static pid_t carry_out(const struct request *q, char *strings, const int *fds, struct err *e)
{
	const char *argv[SPAWN_ARGS_MAX + 1], *env[SPAWN_ARGS_MAX + 1], *log[2], *readonly[2];
	char *at = strings;
	struct spawn s = { .argv = argv,
			   .env = env,
			   .fds = q->fds,
			   .new_session = q->new_session,
			   .new_net = q->new_net };

	if (q->args > SPAWN_ARGS_MAX || q->envs > SPAWN_ARGS_MAX ||
	    take_strings(argv, q->args, &at, strings + q->bytes) < 0 ||
	    take_strings(env, q->envs, &at, strings + q->bytes) < 0 ||
	    take_strings(log, q->log ? 1 : 0, &at, strings + q->bytes) < 0 ||
	    take_strings(readonly, q->readonly ? 1 : 0, &at, strings + q->bytes) < 0)
		return err_set(e, ERR_INVALID, "malformed request to the spawner");
	s.log = log[0];
	s.readonly = readonly[0];
	memcpy(s.fd, fds, q->fds * sizeof(*fds));
	return spawn_start(&s, e);
}

static pid_t start(const struct request *q, char *strings, const int *fds, struct err *e)
{
	pid_t pid;

	if (q->for_next && early.count == FOR_NEXT_MAX)
		return err_set(e, ERR_INVALID, "at most %d programs can be started for another", FOR_NEXT_MAX);
	pid = carry_out(q, strings, fds, e);
	if (pid > 0 && q->for_next)
		early.pid[early.count++] = pid;
	else if (pid > 0)
		early.count = 0;
	return pid;
}

/* The caller is gone, and nobody will use what it had started so far. */
static void end_early(void)
{
	while (early.count)
		kill(early.pid[--early.count], SIGTERM);
}

/* False at the end of the stream: the host agent is gone. */
static bool serve_request(int sock)
{
	struct request q;
	struct answer a = { .pid = -1 };
	int fds[SPAWN_FDS_MAX];
	size_t nfds = SPAWN_FDS_MAX;
	auto_free char *strings = NULL;

	if (sock_recv_fds(sock, &q, sizeof(q), fds, &nfds) != (ssize_t)sizeof(q) || q.bytes > REQUEST_MAX)
		return false;
	strings = xmalloc(q.bytes + 1);
	if (io_read_full(sock, strings, q.bytes) != (ssize_t)q.bytes)
		return false;
	if (nfds == q.fds)
		a.pid = start(&q, strings, fds, &a.error);
	else
		err_set(&a.error, ERR_SYS, "the spawner got %zu of %u descriptors", nfds, q.fds);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	return io_write_full(sock, &a, sizeof(a)) == 0;
}

/* Whoever waits for the end of a pipe the host agent had open must not wait for the spawner too. */
static void let_go(int *sock, int *exits)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, 0);
	dup2(null, 1);
	if (null < 0 || spawn_keep_two(sock, exits) < 0)
		_exit(1);
}

static _Noreturn void run(int sock, int exits)
{
	struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct err e;

	let_go(&sock, &exits);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (io_pipe(wake_pipe, &e) < 0)
		_exit(1);
	io_set_nonblock(wake_pipe[0], true);
	io_set_nonblock(wake_pipe[1], true);
	sigaction(SIGCHLD, &child, NULL);
	p[0].fd = sock;
	p[1].fd = wake_pipe[0];
	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents && !serve_request(sock)) {
			end_early();
			_exit(0);
		}
		if (p[1].revents)
			report_exits(exits);
	}
}

/* --- in the host agent --- */

struct spawner *spawner_new(struct err *e)
{
	int sock[2], exits[2];
	struct spawner *s;
	pid_t pid;

	if (io_socketpair(sock, e) < 0)
		return NULL;
	if (io_pipe(exits, e) < 0) {
		close(sock[0]);
		close(sock[1]);
		return NULL;
	}
	pid = fork();
	if (pid == 0)
		run(sock[1], exits[1]);
	close(sock[1]);
	close(exits[1]);
	if (pid < 0) {
		err_errno(e, "fork");
		close(sock[0]);
		close(exits[0]);
		return NULL;
	}
	io_set_nonblock(exits[0], true);
	s = xcalloc(1, sizeof(*s));
	*s = (struct spawner){ .sock = sock[0], .exits = exits[0], .pid = pid };
	return s;
}

void spawner_free(struct spawner *s)
{
	if (!s)
		return;
	close(s->sock);
	close(s->exits);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(s);
}

int spawner_fd(const struct spawner *s)
{
	return s->exits;
}

static int add_strings(struct buf *b, const char *const *list, uint32_t *n)
{
	for (*n = 0; list && list[*n]; (*n)++) {
		if (*n == SPAWN_ARGS_MAX || buf_add(b, list[*n], strlen(list[*n]) + 1) < 0)
			return -1;
	}
	return 0;
}

pid_t spawner_start(struct spawner *s, const struct spawn *what, struct err *e)
{
	auto_buf strings = BUF_INIT(REQUEST_MAX);
	struct request q = { .fds = (uint32_t)what->fds,
			     .log = what->log,
			     .readonly = what->readonly,
			     .new_session = what->new_session,
			     .new_net = what->new_net,
			     .for_next = what->for_next };
	const char *const log[] = { what->log, NULL }, *const readonly[] = { what->readonly, NULL };
	uint32_t ones;
	struct answer a;

	if (what->fds > SPAWN_FDS_MAX || add_strings(&strings, what->argv, &q.args) < 0 ||
	    add_strings(&strings, what->env, &q.envs) < 0 || add_strings(&strings, log, &ones) < 0 ||
	    add_strings(&strings, readonly, &ones) < 0)
		return err_set(e, ERR_INVALID, "%s: too many arguments", what->argv[0]);
	q.bytes = (uint32_t)strings.len;
	if (sock_send_fds(s->sock, &q, sizeof(q), what->fd, what->fds) != (ssize_t)sizeof(q) ||
	    sock_send_fds(s->sock, strings.data, strings.len, NULL, 0) != (ssize_t)strings.len ||
	    io_read_full(s->sock, &a, sizeof(a)) != (ssize_t)sizeof(a))
		return err_set(e, ERR_STATE, "%s: the spawner process is gone", what->argv[0]);
	if (a.pid < 0)
		*e = a.error;
	return a.pid;
}

int spawner_connect(struct spawner *s, const struct spawn *what, pid_t *pid, struct err *e)
{
	struct spawn with = *what;
	auto_close int its = -1, ours = -1;
	int pair[2];

	if (io_socketpair(pair, e) < 0)
		return -1;
	ours = pair[0];
	its = pair[1];
	if (what->fds == SPAWN_FDS_MAX)
		return err_set(e, ERR_INVALID, "%s: too many descriptors", what->argv[0]);
	memcpy(with.fd + 1, what->fd, what->fds * sizeof(*what->fd));
	with.fd[0] = its;
	with.fds++;
	*pid = spawner_start(s, &with, e);
	return *pid < 0 ? -1 : steal_fd(&ours);
}

int spawner_next(struct spawner *s, pid_t *pid, int *status)
{
	struct exit_record r;
	ssize_t k;

	do
		k = read(s->exits, &r, sizeof(r)); /* records are far below PIPE_BUF, so never split */
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return errno == EAGAIN ? 0 : -1;
	if (k != (ssize_t)sizeof(r))
		return -1;
	*pid = r.pid;
	*status = r.status;
	return 1;
}
