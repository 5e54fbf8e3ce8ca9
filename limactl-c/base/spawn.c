#include "limactl-c/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn_child.h"

enum { TAIL_KEPT = 800 }; /* bytes of stderr that go into an error */

extern char **environ;

/* Looking the program up here, not in the child, gives a clear error and keeps the child free of allocation. */
char *spawn_find(const char *name, struct err *e)
{
	const char *path = getenv("PATH"), *at, *end;

	if (strchr(name, '/'))
		return xstrdup(name);
	for (at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at; at = end ? end + 1 : NULL) {
		char *full;
		struct stat st;

		end = strchr(at, ':');
		full = xasprintf("%.*s/%s", (int)(end ? end - at : (ptrdiff_t)strlen(at)), at, name);
		if (stat(full, &st) == 0 && S_ISREG(st.st_mode) && access(full, X_OK) == 0)
			return full;
		free(full);
	}
	err_set(e, ERR_NOTFOUND, "%s: not found in PATH", name);
	return NULL;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The parent's environment with `added` in place of variables of the same name. Strings are borrowed. */
static const char **merge_env(const char *const *added)
{
	const char *const *own = (const char *const *)environ;
	size_t n = 0, extra = count(added);
	const char **env = xcalloc(count(own) + extra + 1, sizeof(*env));

	for (size_t i = 0; own && own[i]; i++) {
		bool replaced = false;

		for (size_t k = 0; k < extra && !replaced; k++)
			replaced = same_name(added[k], own[i]);
		if (!replaced)
			env[n++] = own[i];
	}
	for (size_t k = 0; k < extra; k++)
		env[n++] = added[k];
	return env;
}

/* What the child could not do, or nothing when the program runs: its end of the pipe was closed by exec. */
static int child_failure(int fd, const char *program, pid_t pid, struct err *e)
{
	struct spawn_failure f;
	ssize_t k = io_read_full(fd, &f, sizeof(f));

	if (k == 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (k != (ssize_t)sizeof(f))
		return err_set(e, ERR_SYS, "cannot run %s: the child process died before exec", program);
	errno = f.errnum;
	return err_errno(e, "cannot run %s: %s", program, f.what);
}

/* Forks with std as 0, 1, 2; see spawn_start. */
static pid_t start_with(const struct spawn *s, const int std[3], struct err *e)
{
	auto_free char *program = spawn_find(s->argv[0], e);
	auto_free const char **env = NULL;
	auto_close int report_r = -1, report_w = -1;
	struct spawn_child c = { .spawn = s };
	sigset_t all, old;
	int fd[2];
	pid_t pid;

	if (!program || io_pipe(fd, e) < 0)
		return -1;
	report_r = fd[0];
	report_w = fd[1];
	env = merge_env(s->env);
	c.program = program;
	c.env = env;
	c.report = report_w;
	memcpy(c.std, std, sizeof(c.std));
	/* No handler of ours may run in the child before it reset them all. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		spawn_child(&c);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return err_errno(e, "fork");
	close(steal_fd(&report_w));
	return child_failure(report_r, program, pid, e) < 0 ? -1 : pid;
}

static int open_null(struct err *e)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fd < 0 ? err_errno(e, "open /dev/null") : fd;
}

pid_t spawn_start(const struct spawn *s, struct err *e)
{
	auto_close int null = open_null(e), log = -1;

	if (null < 0)
		return -1;
	if (s->log) {
		log = fs_open_log(s->log, e);
		if (log < 0)
			return -1;
	}
	return start_with(s, (int[3]){ null, s->out ? s->out : s->log ? log : 1, s->err ? s->err : s->log ? log : 2 }, e);
}

int spawn_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reads what is there. False at the end of the stream. keep_last: only the last bytes are wanted. */
static bool drain(int fd, struct buf *into, bool keep_last)
{
	char chunk[16384];
	ssize_t k = read(fd, chunk, sizeof(chunk));

	if (k < 0)
		return errno == EINTR;
	if (k == 0)
		return false;
	if (into && keep_last) {
		buf_add(into, chunk, (size_t)k);
		if (into->len > TAIL_KEPT)
			buf_drop_front(into, into->len - TAIL_KEPT);
	} else if (into) {
		size_t room = into->max - into->len;

		buf_add(into, chunk, (size_t)k < room ? (size_t)k : room);
	}
	return true;
}

static int ms_left(int64_t from, unsigned seconds)
{
	int64_t ms = from + seconds * (int64_t)1000 - clock_ms();

	if (!seconds)
		return -1;
	return ms > 0 ? (int)(ms < INT_MAX ? ms : INT_MAX) : 0;
}

/* Until both streams have ended. False when that took longer than seconds (0: any time). */
static bool collect(int out_fd, int err_fd, unsigned seconds, struct buf *out, struct buf *tail)
{
	struct pollfd p[2] = { { .fd = out_fd, .events = POLLIN }, { .fd = err_fd, .events = POLLIN } };
	int64_t from = clock_ms();

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		int r = poll(p, 2, ms_left(from, seconds));

		if (r == 0)
			return false;
		if (r < 0)
			continue;
		if (p[0].revents && !drain(out_fd, out, false))
			p[0].fd = -1;
		if (p[1].revents && !drain(err_fd, tail, true))
			p[1].fd = -1;
	}
	return true;
}

static void say_failure(const struct spawn *s, int code, struct buf *tail, struct err *e)
{
	while (tail->len && (tail->data[tail->len - 1] == '\n' || tail->data[tail->len - 1] == '\r'))
		tail->data[--tail->len] = '\0';
	if (code > 128)
		err_set(e, ERR_SYS, "%s was ended by signal %d%s%s", s->argv[0], code - 128,
			tail->len ? ": " : "", tail->len ? tail->data : "");
	else
		err_set(e, ERR_SYS, "%s ended with exit code %d%s%s", s->argv[0], code, tail->len ? ": " : "",
			tail->len ? tail->data : "");
}

int spawn_run(const struct spawn *s, struct buf *out, struct err *e)
{
	auto_close int null = open_null(e), out_r = -1, out_w = -1, err_r = -1, err_w = -1;
	auto_buf tail = BUF_INIT(TAIL_KEPT + 16384);
	int fd[2], code;
	bool in_time;
	pid_t pid;

	if (null < 0 || io_pipe(fd, e) < 0)
		return -1;
	out_r = fd[0];
	out_w = fd[1];
	if (io_pipe(fd, e) < 0)
		return -1;
	err_r = fd[0];
	err_w = fd[1];
	pid = start_with(s, (int[3]){ null, out_w, err_w }, e);
	if (pid < 0)
		return -1;
	close(steal_fd(&out_w));
	close(steal_fd(&err_w));
	in_time = collect(out_r, err_r, s->seconds, out, &tail);
	if (!in_time)
		kill(pid, SIGKILL);
	code = spawn_wait(pid);
	if (code < 0)
		return err_errno(e, "wait for %s", s->argv[0]);
	if (!in_time)
		return err_set(e, ERR_TIMEOUT, "%s did not end within %u s and was killed", s->argv[0], s->seconds);
	if (code)
		say_failure(s, code, &tail, e);
	return code;
}
