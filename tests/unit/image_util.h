/* image_util.h - what the image program's tests share: a scratch folder, files in it, a command run with its output kept. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/image/command.h"

static char dir[] = "/tmp/image-test.XXXXXX";

static inline char *at(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static inline int make_dir(void **state)
{
	auto_free char *cache = NULL;

	(void)state;
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	if (!mkdtemp(dir))
		return -1;
	cache = at("cache");
	return setenv("XDG_CACHE_HOME", cache, 1);
}

static inline int remove_dir(void **state)
{
	struct err e;

	(void)state;
	return fs_remove_tree(dir, &e);
}

/* Path of the new file, malloc'd. */
static inline char *put(const char *name, const void *p, size_t n)
{
	char *path = at(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
	return path;
}

static inline char *put_text(const char *name, const char *text)
{
	return put(name, text, strlen(text));
}

/* Runs a command with the words of argv (NULL-terminated); its stdout, without the line end, goes to out[1024]. */
static inline int run_command(const struct command *cmd, const char *const *argv, char *out, struct err *e)
{
	auto_free char *path = at("stdout");
	struct command_line line;
	int saved, fd, r;
	FILE *f;

	r = command_parse(cmd, (char **)(uintptr_t)argv, &line, e);
	if (r < 0)
		return r;
	fflush(stdout);
	saved = dup(1);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(fd, 1);
	close(fd);
	r = cmd->run(&line, e);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	f = fopen(path, "r");
	if (!f || !fgets(out, 1024, f))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
	return r;
}

#define RUN(cmd, out, e, ...) run_command(&(cmd), (const char *const[]){ __VA_ARGS__, NULL }, out, e)

/* Files in a folder of the scratch folder, those with a leading dot left out. */
static inline size_t count_files(const char *name)
{
	auto_free char *command = xasprintf("ls %s/%s 2>/dev/null | wc -l", dir, name);
	FILE *f = popen(command, "r");
	unsigned n = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

/* Whether the kernel's list of locks has this process among those that wait. */
static inline bool waits_for_lock(pid_t pid)
{
	auto_free char *wanted = xasprintf(" %d ", (int)pid);
	auto_fclose FILE *f = fopen("/proc/locks", "r");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "->") && strstr(line, wanted))
			return true;
	}
	return false;
}

static inline void assert_waits_for_lock(pid_t pid)
{
	for (int i = 0; i < 1000 && !waits_for_lock(pid); i++)
		usleep(5000);
	assert_true(waits_for_lock(pid));
}
