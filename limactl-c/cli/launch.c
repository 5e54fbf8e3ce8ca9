#include "limactl-c/cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/follow.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/plan/plan.h"
#include "limactl-c/store/harvest.h"
#include "limactl-c/store/paths.h"

enum {
	LOG_LIMIT = 1 << 20,       /* bytes a log may have before a start sets it aside */
	LINE_LIMIT = 1 << 20,      /* of one event line */
	STATUS_MS = 1000,
	STATUS_TRIES = 100,        /* STATUS_PAUSE_NS apart */
	STATUS_PAUSE_NS = 20 * 1000 * 1000,
	END_MS = 40 * 1000,        /* a host agent asked to end is given this long */
	LAST_MS = 2000,            /* from its last event to its end */
	LAST_LINES = 5,
	LAST_BYTES = 16384,
};

/* One start under way. */
struct start {
	const struct inst *inst;
	pid_t pid;           /* of the host agent */
	int status;          /* with which it ended */
	int events;          /* its event lines */
	struct buf line;
	bool adopting;       /* the machine ran before we came: not ours to end */
	bool running, degraded;
	bool elsewhere;      /* another command is starting the same instance */
	struct buf errors;   /* sentences of events, one a line */
	struct follow log;
	off_t log_from;      /* where its log began when we came */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

/* Without SA_RESTART, so that waiting ends. */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_interrupt };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
}

/* A fresh log of events; the last one is kept beside it, so that both have a ceiling. */
static int open_log(const struct inst *i, enum path_name name, struct err *e)
{
	auto_free char *path = path_in(i->dir, name);

	fs_rotate(path, LOG_LIMIT);
	return fs_open_log(path, e);
}

static int spawn_host_agent(struct start *s, bool foreground, struct err *e)
{
	auto_free char *program = prefix_libexec("hostagent", e);
	auto_close int out = open_log(s->inst, PATH_HA_STDOUT, e), log = -1, ready_w = -1;
	const char *argv[] = { program, "--ready-fd", "3", s->inst->dir, NULL };
	struct spawn what = { .argv = argv, .fds = 1, .new_session = !foreground };
	int fd[2];

	if (!program || out < 0 || (log = open_log(s->inst, PATH_HA_STDERR, e)) < 0)
		return -1;
	s->log_from = lseek(log, 0, SEEK_END);
	if (io_pipe(fd, e) < 0)
		return -1;
	s->events = fd[0];
	ready_w = fd[1];
	what.fd[0] = ready_w;
	what.out = out;
	what.err = foreground ? STDERR_FILENO : log;
	if (!foreground) {
		auto_free char *path = path_in(s->inst->dir, PATH_HA_STDERR);

		follow_open(&s->log, path);
	}
	s->pid = spawn_start(&what, e);
	return s->pid < 0 ? err_wrap(e, "host agent") : 0;
}

static void note_event(struct start *s, const char *text, size_t len)
{
	struct err ignored = { 0 };
	auto_jx *o = jx_parse(text, len, "event", &ignored);
	const struct jx *status = jx_member(o, "status"), *errors = jx_member(status, "errors");

	for (size_t i = 0; i < jx_count(errors); i++)
		if (jx_as_string(jx_at(errors, i)))
			buf_addf(&s->errors, "%s%s", s->errors.len ? "\n" : "", jx_as_string(jx_at(errors, i)));
	s->running |= jx_bool_or(status, "running", false);
	s->degraded |= jx_bool_or(status, "degraded", false);
}

/* Takes what has arrived; false at the end of the stream. */
static bool take_events(struct start *s)
{
	char chunk[4096], *end;
	ssize_t k = read(s->events, chunk, sizeof(chunk));

	if (k < 0)
		return errno == EINTR;
	if (k == 0 || buf_add(&s->line, chunk, (size_t)k) < 0)
		return false;
	while ((end = memchr(s->line.data, '\n', s->line.len))) {
		note_event(s, s->line.data, (size_t)(end - s->line.data));
		buf_drop_front(&s->line, (size_t)(end - s->line.data) + 1);
	}
	return true;
}

/* What the host agent says it waits for: "the guest agent, docker.sock", or "" when it does not answer. */
static void waited_for(const struct inst *i, struct buf *out)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct err ignored = { 0 };
	struct jx *o = NULL;
	const struct jx *list;

	if (hac_request(i->dir, "GET", "/v1/status", NULL, STATUS_MS, &a, &ignored) == 0 && a.body.data)
		o = jx_parse(a.body.data, a.body.len, "status", &ignored);
	list = jx_member(o, "waiting");
	for (size_t k = 0; k < jx_count(list); k++)
		if (jx_as_string(jx_at(list, k)))
			buf_addf(out, "%s%s", k ? ", " : "", jx_as_string(jx_at(list, k)));
	jx_free(o);
	buf_free(&a.body);
}

/* The messages of the last lines of the host agent's log (JSON lines) that are of this start. */
static void last_words(const struct start *s, struct buf *out)
{
	auto_free char *log = path_in(s->inst->dir, PATH_HA_STDERR), *text = NULL;
	struct stat st;
	off_t fresh = stat(log, &st) == 0 && st.st_size > s->log_from ? st.st_size - s->log_from : 0;

	text = fs_tail(log, LAST_LINES, fresh < LAST_BYTES ? (size_t)fresh : LAST_BYTES);

	for (char *line = text, *end; *line; line = end) {
		struct err ignored = { 0 };
		struct jx *o;
		const char *msg;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		o = jx_parse(line, strlen(line), "log", &ignored);
		msg = jx_string_or(o, "msg", line);
		buf_addf(out, "\n  %s", msg);
		jx_free(o);
	}
}

/* Waits for the host agent's end; false when it lives on after ms. */
static bool wait_end(struct start *s, int ms)
{
	int64_t until = clock_ms() + ms;

	while (waitpid(s->pid, &s->status, WNOHANG) == 0) {
		if (clock_ms() >= until)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return true;
}

/* Neither host agent nor machine of ours is left. */
static void give_up(struct start *s, int patience_ms)
{
	struct err ignored = { 0 };

	if (!wait_end(s, patience_ms)) {
		kill(s->pid, SIGTERM);
		if (!wait_end(s, END_MS)) {
			kill(s->pid, SIGKILL);
			wait_end(s, END_MS);
		}
	}
	/* Running: another start was faster, and this is its machine. */
	if (!s->adopting && inst_status(s->inst) == INST_ORPHAN)
		inst_kill(s->inst, &ignored);
}

static int died(struct start *s, struct err *e)
{
	auto_buf words = BUF_INIT(800);

	/* It is about to end by itself: only then its exit code tells why. */
	give_up(s, LAST_MS);
	follow_show(&s->log);
	if (inst_status(s->inst) == INST_RUNNING) {
		say_info("Another command is starting the instance \"%s\"", s->inst->name);
		s->elsewhere = true;
		return 0;
	}
	if (!s->errors.len && WIFEXITED(s->status) && !WEXITSTATUS(s->status))
		return err_set(e, ERR_STATE, "instance \"%s\" was stopped before it was ready", s->inst->name);
	if (!s->errors.len)
		last_words(s, &words);
	return err_set(e, ERR_STATE, "instance \"%s\" did not start: %s%s", s->inst->name,
		       s->errors.len ? s->errors.data : "the host agent ended", words.len ? words.data : "");
}

static int timed_out(struct start *s, unsigned timeout, struct err *e)
{
	auto_buf stage = BUF_INIT(600);
	auto_free char *time = text_duration(timeout);

	waited_for(s->inst, &stage);
	say_warn("Stopping \"%s\": not ready within %s", s->inst->name, time);
	give_up(s, 0);
	return err_set(e, ERR_TIMEOUT, "instance \"%s\" was not ready within %s; it waited for %s. It was stopped",
		       s->inst->name, time, stage.len ? stage.data : "the host agent");
}

static int was_interrupted(struct start *s, struct err *e)
{
	say_warn("Interrupted, stopping \"%s\"", s->inst->name);
	give_up(s, 0);
	harvest_mark(s->inst->dir, HARVEST_TRIED, false);
	return err_set(e, ERR_STATE, "start of instance \"%s\" was interrupted; it is stopped now", s->inst->name);
}

static int wait_running(struct start *s, unsigned timeout, struct err *e)
{
	int64_t until = clock_ms() + timeout * 1000LL;

	while (!s->running) {
		struct pollfd p = { .fd = s->events, .events = POLLIN };
		int64_t left = until - clock_ms();
		int n = left > 0 ? poll(&p, 1, (int)(left < FOLLOW_MS ? left : FOLLOW_MS)) : 0;

		follow_show(&s->log);
		if (interrupted)
			return was_interrupted(s, e);
		if (n == 0 && clock_ms() >= until)
			return timed_out(s, timeout, e);
		if (n > 0 && !take_events(s))
			return died(s, e);
	}
	follow_show(&s->log);
	return 0;
}

static void show_message(const struct inst *i)
{
	auto_free char *path = path_in(i->dir, PATH_PLAN);
	struct plan p;
	struct err ignored = { 0 };

	if (plan_load(&p, path, &ignored) < 0)
		return;
	if (*p.message) {
		say_info("Message from the instance \"%s\":", i->name);
		printf("%s%s", p.message, p.message[strlen(p.message) - 1] == '\n' ? "" : "\n");
		fflush(stdout);
	}
	plan_free(&p);
}

static int finished(struct start *s, struct err *e)
{
	const char *name = s->inst->name;

	if (s->degraded)
		return err_set(e, ERR_STATE, "instance \"%s\" runs, but is degraded: %s", name,
			       s->errors.len ? s->errors.data : "see ha.stderr.log");
	say_info("READY. Run `limactl-c shell %s` to open the shell.", name);
	show_message(s->inst);
	return 0;
}

enum inst_status launch_status(const struct inst *i, bool *answers)
{
	enum inst_status st = inst_status(i);

	*answers = false;
	for (int n = 0; st == INST_RUNNING && n < STATUS_TRIES; n++) {
		struct hac_answer a = HAC_ANSWER_INIT;
		struct err silent = { 0 };
		int rc = hac_request(i->dir, "GET", "/v1/info", NULL, STATUS_MS, &a, &silent);

		buf_free(&a.body);
		*answers = rc == 0;
		if (rc == 0 || silent.kind == ERR_TIMEOUT)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = STATUS_PAUSE_NS }, NULL);
		st = inst_status(i);
	}
	return st;
}

int launch(const struct inst *i, unsigned timeout, bool foreground, struct err *e)
{
	struct start s = { .inst = i, .events = -1, .line = BUF_INIT(LINE_LIMIT), .errors = BUF_INIT(900), .log = FOLLOW_INIT };
	int rc;

	s.adopting = inst_status(i) == INST_ORPHAN;
	catch_signals();
	say_info("Starting the instance \"%s\"", i->name);
	rc = spawn_host_agent(&s, foreground, e);
	if (rc == 0)
		rc = wait_running(&s, timeout ? timeout : LAUNCH_TIMEOUT, e);
	if (rc == 0 && !s.elsewhere)
		rc = finished(&s, e);
	if (s.events >= 0)
		close(s.events);
	/* The terminal sends its Ctrl-C to both; the host agent ends the machine, we wait for it. */
	if (s.running && foreground)
		while (waitpid(s.pid, NULL, 0) < 0 && errno == EINTR)
			kill(s.pid, SIGTERM); /* ours may have come to us alone */
	follow_close(&s.log);
	buf_free(&s.line);
	buf_free(&s.errors);
	return rc;
}
