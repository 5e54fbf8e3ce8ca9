#include "guestagent/script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/user.h"
#include "lib/buf.h"
#include "lib/io.h"
#include "lib/log.h"

enum {
	TAIL_LINES = 20,
	LOG_BYTES_MAX = 1 << 20, /* a log that has reached it starts anew with the next script */
	STATE_BYTES_MAX = AP_TAIL_MAX + 64,
};

int script_index(const char *key)
{
	unsigned n;
	char back[40];

	if (sscanf(key, "provision.%3u.mode", &n) != 1 || n >= SCRIPTS_MAX)
		return -1;
	snprintf(back, sizeof(back), "provision.%02u.mode", n);
	return strcmp(back, key) == 0 ? (int)n : -1;
}

static void log_path(char *path, size_t size, const char *run_dir)
{
	/* In a guest where everybody looks for it; elsewhere (tests, the fake driver) the run folder is all we own. */
	if (strcmp(run_dir, RUN_DIR) == 0)
		snprintf(path, size, "/var/log/lima-provision.log");
	else
		snprintf(path, size, "%s/provision.log", run_dir);
}

/* --- state on file --- */

static const char *const state_words[] = {
	[AP_PROVISION_RUNNING] = "running",
	[AP_PROVISION_OK] = "ok",
	[AP_PROVISION_ASKS] = "asks",
};
enum { STATE_WORDS = sizeof(state_words) / sizeof(state_words[0]) };

void script_save(const char *run_dir, const struct ap_provision *v)
{
	char path[300], tmp[304], line[40];
	bool written;
	FILE *f;

	snprintf(path, sizeof(path), "%s/provision/%02u.status", run_dir, v->index);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	if (v->state == AP_PROVISION_FAILED)
		snprintf(line, sizeof(line), "failed %d", v->status);
	else
		snprintf(line, sizeof(line), "%s", state_words[v->state]);
	f = fopen(tmp, "we");
	written = f && fprintf(f, "%s\n%s", line, v->tail) >= 0;
	if (f && fclose(f) != 0)
		written = false;
	if (written && rename(tmp, path) == 0)
		return;
	log_error("%s: %s", path, strerror(errno));
}

int script_load(const char *run_dir, int index, struct ap_provision *v)
{
	auto_buf text = BUF_INIT(STATE_BYTES_MAX);
	char path[300], *tail;
	struct err e;

	snprintf(path, sizeof(path), "%s/provision/%02d.status", run_dir, index);
	if (io_read_file(path, &text, &e) < 0 || !text.len || !(tail = strchr(text.data, '\n')))
		return -1;
	*tail++ = '\0';
	*v = (struct ap_provision){ .index = (uint16_t)index };
	for (uint8_t i = 0; i < STATE_WORDS; i++)
		if (state_words[i] && strcmp(text.data, state_words[i]) == 0)
			v->state = i;
	if (!v->state && sscanf(text.data, "failed %d", &v->status) == 1)
		v->state = AP_PROVISION_FAILED;
	if (!v->state)
		return -1;
	snprintf(v->tail, sizeof(v->tail), "%s", tail);
	return 0;
}

/* --- the run --- */

/* The last lines the log got since start. */
static void read_tail(int log, off_t start, char *tail, size_t size)
{
	off_t end = lseek(log, 0, SEEK_END);
	size_t lines = 0, at;
	ssize_t n;

	if (end - start >= (off_t)size)
		start = end - (off_t)size + 1;
	n = pread(log, tail, size - 1, start);
	tail[n > 0 ? n : 0] = '\0';
	/* A NUL would end the text early for everyone who reads it. */
	for (ssize_t i = 0; i < n; i++)
		if (!tail[i])
			tail[i] = '?';
	at = strlen(tail);
	if (at)
		at--; /* the newline of the last line ends it, it does not start one */
	while (at > 0 && (tail[at - 1] != '\n' || ++lines < TAIL_LINES))
		at--;
	memmove(tail, tail + at, strlen(tail + at) + 1);
}

static int open_log(const char *run_dir)
{
	char path[300];
	struct stat st;
	int fd;

	log_path(path, sizeof(path), run_dir);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_BYTES_MAX && ftruncate(fd, 0) < 0)
		log_error("%s: %s", path, strerror(errno));
	return fd;
}

/* --- one mode each --- */

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run_script(const struct script *sc, struct err *e)
{
	pid_t pid = fork();
	int status;

	(void)e;
	if (pid == 0)
		script_become(sc);
	status = pid < 0 ? 126 : wait_for(pid);
	if (sc->as_user)
		script_remove_copy(sc);
	return status;
}

static const struct {
	const char *mode;
	bool as_user;
	/* Exit code or -signal; with a sentence in *e it is no script's output that tells why. */
	int (*run)(const struct script *sc, struct err *e);
} modes[] = {
	{ "boot", false, run_script },
	{ "dependency", false, run_script },
	{ "data", false, script_put_data },
	{ "yq", false, script_edit },
	{ "system", false, run_script },
	{ "user", true, run_script },
	{ SCRIPT_UPGRADE, false, run_script },
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

static int run_mode(struct script *sc, const char *mode, struct err *e)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(modes[i].mode, mode) != 0)
			continue;
		sc->as_user = modes[i].as_user;
		return modes[i].run(sc, e);
	}
	err_set(e, ERR_INVALID, "mode %.40s is not known to this guest agent", mode);
	return 1;
}

/* Of one found "running" nobody knows how far it came. */
static void give_up(const char *run_dir, struct ap_provision *v)
{
	v->state = AP_PROVISION_FAILED;
	v->status = -SIGKILL;
	snprintf(v->tail, sizeof(v->tail), "it was interrupted");
	script_save(run_dir, v);
}

bool script_run(const char *run_dir, const struct settings *s, int index, const char *mode)
{
	struct script sc = { .run_dir = run_dir, .settings = s, .index = index };
	struct ap_provision v;
	struct err e = { 0 };
	off_t start = 0;

	if (script_load(run_dir, index, &v) == 0) {
		if (v.state != AP_PROVISION_OK && v.state != AP_PROVISION_FAILED)
			give_up(run_dir, &v);
		return v.state == AP_PROVISION_OK;
	}
	v = (struct ap_provision){ .index = (uint16_t)index, .state = AP_PROVISION_RUNNING };
	script_save(run_dir, &v);
	sc.log = open_log(run_dir);
	if (sc.log >= 0)
		start = lseek(sc.log, 0, SEEK_END);
	v.status = run_mode(&sc, mode, &e);
	v.state = v.status ? AP_PROVISION_FAILED : AP_PROVISION_OK;
	if (e.kind)
		snprintf(v.tail, sizeof(v.tail), "%s", e.msg);
	else if (v.status && sc.log >= 0)
		read_tail(sc.log, start, v.tail, sizeof(v.tail));
	if (v.status)
		log_warn("provision %d (%s) failed with status %d%s%s", index, mode, v.status, e.kind ? ": " : "",
			 e.kind ? e.msg : "");
	script_save(run_dir, &v);
	if (sc.log >= 0)
		close(sc.log);
	return !v.status;
}
