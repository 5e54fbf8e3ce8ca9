#include "guestagent/setup_util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "lib/cleanup.h"
#include "lib/io.h"

enum {
	LAST_LINE = 200,    /* bytes of a failed program's last words */
	PIPE_BYTES = 65536, /* a pipe has room for */
};
#define BLOCK_BEGIN "# lima: begin (kept by lima-guestagent, written anew at each boot)\n"
#define BLOCK_END "# lima: end\n"

extern char **environ;

const char *su_path(const struct setup *su, const char *path, char buf[SU_PATH_MAX])
{
	if (snprintf(buf, SU_PATH_MAX, "%s%s", su->root, path) >= SU_PATH_MAX)
		buf[0] = '\0';
	return buf;
}

void su_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			*text = ' ';
}

void su_warn(const struct setup *su, const char *fmt, ...)
{
	char path[SU_PATH_MAX], line[1200];
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	su_one_line(line);
	fprintf(stderr, "lima-guestagent: setup: %s\n", line);
	fd = open(su_path(su, RUN_DIR "/setup.warnings", path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	line[strlen(line) + 1] = '\0';
	line[strlen(line)] = '\n';
	io_write_full(fd, line, strlen(line));
	close(fd);
}

bool su_exists(const struct setup *su, const char *path)
{
	char full[SU_PATH_MAX];

	return access(su_path(su, path, full), F_OK) == 0;
}

bool su_says(const struct setup *su, const char *path, const char *text)
{
	auto_buf have = BUF_INIT(SU_FILE_MAX);
	struct err e;

	return su_read(su, path, &have, &e) == 0 && strcmp(have.data, text) == 0;
}

bool su_has(const struct setup *su, const char *path, const char *text)
{
	auto_buf have = BUF_INIT(SU_FILE_MAX);
	struct err e;

	return su_read(su, path, &have, &e) == 0 && strstr(have.data, text) != NULL;
}

int su_read(const struct setup *su, const char *path, struct buf *b, struct err *e)
{
	char full[SU_PATH_MAX];

	b->max = SU_FILE_MAX;
	if (io_read_file(su_path(su, path, full), b, e) < 0 && e->errnum != ENOENT)
		return -1;
	if (!b->data && buf_adds(b, "") < 0)
		return err_set(e, ERR_SYS, "no memory");
	return 0;
}

static bool same(const struct setup *su, const char *path, const void *bytes, size_t n, mode_t mode)
{
	char full[SU_PATH_MAX];
	struct stat st;
	auto_buf old = BUF_INIT(SU_FILE_MAX);
	struct err e;

	if (lstat(su_path(su, path, full), &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 07777) != mode)
		return false;
	return su_read(su, path, &old, &e) == 0 && old.len == n && memcmp(old.data, bytes, n) == 0;
}

int su_write(const struct setup *su, const char *path, const char *text, mode_t mode, struct err *e)
{
	return su_write_bytes(su, path, text, strlen(text), mode, e);
}

int su_write_bytes(const struct setup *su, const char *path, const void *bytes, size_t n, mode_t mode, struct err *e)
{
	char full[SU_PATH_MAX], tmp[SU_PATH_MAX + 8];
	auto_close int fd = -1;

	if (same(su, path, bytes, n, mode))
		return 0;
	su_path(su, path, full);
	snprintf(tmp, sizeof(tmp), "%s.lima~", full);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_errno(e, "cannot make %s", tmp);
	/* The data must be on disk before the name is, else a crash leaves an empty file. */
	if (fchmod(fd, mode) < 0 || io_write_full(fd, bytes, n) < 0 || fdatasync(fd) < 0 ||
	    rename(tmp, full) < 0) {
		err_errno(e, "cannot write %s", full);
		unlink(tmp);
		return -1;
	}
	return 0;
}

int su_block(const struct setup *su, const char *path, const char *text, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX), new = BUF_INIT(SU_FILE_MAX);
	char full[SU_PATH_MAX], *begin, *end;
	struct stat st;
	int bad;

	if (su_read(su, path, &old, e) < 0)
		return -1;
	begin = strstr(old.data, BLOCK_BEGIN);
	end = begin ? strstr(begin, BLOCK_END) : NULL;
	if (!end && !*text)
		return 0;
	if (!end) {
		begin = end = old.data + old.len;
		bad = buf_add(&new, old.data, old.len);
		if (old.len && old.data[old.len - 1] != '\n')
			bad |= buf_adds(&new, "\n");
	} else {
		bad = buf_add(&new, old.data, (size_t)(begin - old.data));
		end += strlen(BLOCK_END);
	}
	if (*text)
		bad |= buf_addf(&new, "%s%s%s", BLOCK_BEGIN, text, BLOCK_END);
	bad |= buf_adds(&new, end);
	if (bad)
		return err_set(e, ERR_INVALID, "%s is too large", path);
	if (new.len == old.len && memcmp(new.data, old.data, new.len) == 0)
		return 0;
	return su_write(su, path, new.data, stat(su_path(su, path, full), &st) == 0 ? st.st_mode & 07777 : 0644, e);
}

int su_mkdirs(const struct setup *su, const char *path, mode_t mode, struct err *e)
{
	char full[SU_PATH_MAX];

	su_path(su, path, full);
	for (char *p = full + strlen(su->root) + 1; full[0] && (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "cannot make folder %s", full);
		*p = '/';
	}
	if (mkdir(full, mode) < 0 && errno != EEXIST)
		return err_errno(e, "cannot make folder %s", full);
	return 0;
}

/* said: takes its standard error; -1: that is ours. */
static pid_t start(const char *const argv[], int said, struct err *e)
{
	posix_spawn_file_actions_t fa;
	pid_t pid = -1;
	int rc;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (said >= 0)
		posix_spawn_file_actions_adddup2(&fa, said, STDERR_FILENO);
	rc = posix_spawnp(&pid, argv[0], &fa, NULL, (char *const *)(const void *)argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (rc) {
		errno = rc;
		return err_errno(e, "cannot run %s", argv[0]);
	}
	return pid;
}

pid_t su_start(const char *const argv[], struct err *e)
{
	return start(argv, -1, e);
}

int su_wait(pid_t pid, const char *name, struct err *e)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "%s", name);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		return err_set(e, ERR_STATE, "%s ended with exit code %d", name, WEXITSTATUS(status));
	return err_set(e, ERR_STATE, "%s was killed by signal %d", name, WTERMSIG(status));
}

/* The last line, as far as it has come. */
struct last_line {
	char text[LAST_LINE];
	size_t len;
	bool ended;
};

static void keep_last(struct last_line *l, const char *p, size_t n)
{
	for (; n; n--, p++) {
		if (*p == '\n') {
			l->ended = true;
			continue;
		}
		if (l->ended)
			l->len = 0;
		l->ended = false;
		if (l->len < sizeof(l->text) - 1)
			l->text[l->len++] = *p;
	}
	l->text[l->len] = '\0';
}

/* What a program says goes on to where it would have gone, until it has ended: what lives on in the background may keep the
 * pipe. */
static void pass_on(int said, pid_t pid, struct last_line *last)
{
	static char chunk[PIPE_BYTES];
	auto_close int ended = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[] = { { said, POLLIN, 0 }, { ended, POLLIN, 0 } };
	ssize_t n;

	do {
		while (poll(p, 2, -1) < 0 && errno == EINTR)
			;
		n = read(said, chunk, sizeof(chunk)); /* all there is; after the end, all there will be */
		if (n <= 0)
			break;
		io_write_full(STDERR_FILENO, chunk, (size_t)n);
		keep_last(last, chunk, (size_t)n);
	} while (!p[1].revents);
}

int su_run(const char *const argv[], struct err *e)
{
	struct last_line last = { 0 };
	auto_close int said = -1;
	int ends[2], rc;
	struct err why;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "cannot run %s", argv[0]);
	said = ends[0];
	io_set_nonblock(said, true);
	pid = start(argv, ends[1], e);
	close(ends[1]);
	if (pid < 0)
		return -1;
	pass_on(said, pid, &last);
	rc = su_wait(pid, argv[0], e);
	if (rc == 0 || !last.len)
		return rc;
	why = *e;
	return err_set(e, why.kind, "%s: %s", why.msg, last.text);
}

const char *su_item(const struct setup *su, const char *list, size_t i, const char *key, const char *otherwise)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%02zu.%s", list, i, key);
	return settings_get(su->settings, name, otherwise);
}

unsigned long long su_number(const struct setup *su, const char *key, unsigned long long otherwise)
{
	const char *text = settings_get(su->settings, key, "");
	char *end;
	unsigned long long n;

	if (*text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	n = strtoull(text, &end, 10);
	return *end || errno ? otherwise : n;
}

bool su_flag(const struct setup *su, const char *key, bool otherwise)
{
	const char *text = settings_get(su->settings, key, NULL);

	return text ? strcmp(text, "true") == 0 : otherwise;
}
