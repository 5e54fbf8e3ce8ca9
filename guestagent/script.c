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

static void state_save(const char *run_dir, const struct ap_provision *v)
{
	char path[300], tmp[304], line[40];
	bool written;
	FILE *f;

	snprintf(path, sizeof(path), "%s/provision/%02u.status", run_dir, v->index);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	if (v->state == AP_PROVISION_FAILED)
		snprintf(line, sizeof(line), "failed %d", v->status);
	else
		snprintf(line, sizeof(line), "%s", v->state == AP_PROVISION_OK ? "ok" : "running");
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
	if (strcmp(text.data, "running") == 0)
		v->state = AP_PROVISION_RUNNING;
	else if (strcmp(text.data, "ok") == 0)
		v->state = AP_PROVISION_OK;
	else if (sscanf(text.data, "failed %d", &v->status) == 1)
		v->state = AP_PROVISION_FAILED;
	else
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

static _Noreturn void run_child(const char *run_dir, const struct settings *s, const char *path, int log)
{
	struct ga_user root;
	struct err e;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	ga_child_signals();
	setsid();
	dup2(null, STDIN_FILENO);
	dup2(log >= 0 ? log : null, STDOUT_FILENO);
	dup2(log >= 0 ? log : null, STDERR_FILENO);
	if (ga_user_find(&root, s, true, &e) < 0)
		_exit(126);
	ga_user_environment(&root, s, run_dir);
	for (size_t i = 0; i < s->count; i++) {
		char name[128];

		if (strncmp(s->item[i].key, "param.", 6) == 0 &&
		    snprintf(name, sizeof(name), "PARAM_%s", s->item[i].key + 6) < (int)sizeof(name))
			setenv(name, s->item[i].value, 1);
	}
	umask(022);
	if (chdir(root.home) < 0 && chdir("/") < 0)
		_exit(126);
	execl(path, path, (char *)NULL);
	if (errno == ENOEXEC || errno == EACCES)
		execl("/bin/sh", "sh", path, (char *)NULL);
	dprintf(STDERR_FILENO, "%s: %s\n", path, strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void wait_for(pid_t pid, struct ap_provision *v)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			v->status = 126;
			return;
		}
	v->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void script_run(const char *run_dir, const struct settings *s, int index)
{
	struct ap_provision v;
	char path[300];
	off_t start = 0;
	int log;
	pid_t pid;

	if (script_load(run_dir, index, &v) == 0) {
		if (v.state != AP_PROVISION_RUNNING)
			return;
		v.state = AP_PROVISION_FAILED;
		v.status = -SIGKILL;
		snprintf(v.tail, sizeof(v.tail), "it was interrupted");
		state_save(run_dir, &v);
		return;
	}
	v = (struct ap_provision){ .index = (uint16_t)index, .state = AP_PROVISION_RUNNING };
	state_save(run_dir, &v);
	snprintf(path, sizeof(path), "%s/provision/%02d", run_dir, index);
	chmod(path, 0700);
	log = open_log(run_dir);
	if (log >= 0)
		start = lseek(log, 0, SEEK_END);
	pid = fork();
	if (pid == 0)
		run_child(run_dir, s, path, log);
	if (pid > 0)
		wait_for(pid, &v);
	else
		v.status = 126;
	v.state = v.status ? AP_PROVISION_FAILED : AP_PROVISION_OK;
	if (v.status && log >= 0)
		read_tail(log, start, v.tail, sizeof(v.tail));
	if (v.status)
		log_warn("provision script %d failed with status %d", index, v.status);
	state_save(run_dir, &v);
	if (log >= 0)
		close(log);
}
