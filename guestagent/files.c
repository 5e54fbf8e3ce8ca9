#include "guestagent/files.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file_receive.h"
#include "lib/file_send.h"

enum { PIPE_BYTES = 1 << 20, PROBLEMS_MAX = 64 };

/* What could not be made; the host hears of it at the end. */
struct told {
	struct fstream *stream;
	struct buf problems; /* a warning's byte, text and NUL each */
	size_t count;
};

static void ignore_number(void *ctx, uint64_t n)
{
	(void)ctx;
	(void)n;
}

static void ignore_name(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
}

/* A stream that fails now fails again with the next record, where it is noticed. */
static void send_problem(void *ctx, const char *text, bool warning)
{
	struct told *t = ctx;
	struct err ignored;

	fstream_put_problem(t->stream, text, warning, &ignored);
}

static void keep_problem(void *ctx, const char *text, bool warning)
{
	struct told *t = ctx;

	/* The host shows warnings of its own. */
	if (!warning && ++t->count <= PROBLEMS_MAX)
		buf_add(&t->problems, text, strlen(text) + 1);
}

static const char *at_home(const char *path)
{
	if (path[0] != '~' || (path[1] && path[1] != '/'))
		return path;
	path += 1 + strspn(path + 1, "/");
	return *path ? path : ".";
}

/* What a word names: itself, or where there is no such thing the names it is a pattern of. None is left for its error. */
static int send_word(struct file_send *fs, const char *word, bool total, struct err *e)
{
	const char *one[] = { at_home(word) }, *const *path = one;
	size_t paths = 1;
	glob_t g = { 0 };
	struct stat st;
	int rc = 0;

	if (lstat(one[0], &st) < 0 && strpbrk(one[0], "*?[") && glob(one[0], 0, NULL, &g) == 0) {
		path = (const char *const *)g.gl_pathv;
		paths = g.gl_pathc;
	}
	for (size_t i = 0; rc == 0 && i < paths; i++)
		rc = total ? file_send_count(fs, path[i], e) : file_send(fs, path[i], e);
	globfree(&g);
	return rc;
}

static int send_all(struct fstream *s, const char *letters, char *const *word, struct err *e)
{
	struct told told = { .stream = s };
	const struct file_watch watch = { ignore_number, ignore_name, ignore_number, send_problem, &told };
	struct file_send fs = { .stream = s, .watch = &watch, .recursive = strchr(letters, 'r') };
	int rc = 0;

	if (strchr(letters, 't')) {
		for (size_t i = 0; rc == 0 && word[i]; i++)
			rc = send_word(&fs, word[i], true, e);
		if (rc == 0)
			rc = fstream_put_u64(s, FP_TOTAL, fs.total, e);
	}
	for (size_t i = 0; rc == 0 && word[i]; i++)
		rc = send_word(&fs, word[i], false, e);
	if (rc < 0 || fstream_put(s, FP_END, NULL, 0, e) < 0)
		return -1;
	return fstream_flush(s, e);
}

static int say_problems(struct told *t, struct err *e)
{
	char more[80];

	for (size_t at = 0; at < t->problems.len; at += strlen(t->problems.data + at) + 1)
		if (fstream_put_problem(t->stream, t->problems.data + at, false, e) < 0)
			return -1;
	if (t->count <= PROBLEMS_MAX)
		return 0;
	snprintf(more, sizeof(more), "and %zu more", t->count - PROBLEMS_MAX);
	return fstream_put_problem(t->stream, more, false, e);
}

static int receive_all(struct fstream *s, const char *letters, char *const *word, struct err *e)
{
	struct told told = { .stream = s, .problems = BUF_INIT((FP_TEXT_MAX + 1) * PROBLEMS_MAX) };
	const struct file_watch watch = { ignore_number, ignore_name, ignore_number, keep_problem, &told };
	const struct file_receive fr = { .stream = s, .watch = &watch, .target = at_home(word[0]),
					 .folder = strchr(letters, 'd'), .mode_mask = FP_MODE };
	struct err why = { 0 };
	int rc = file_receive(&fr, &why);

	/* Why it ended early is a problem of the same kind, but without END behind it. */
	if (rc < 0)
		buf_add(&told.problems, why.msg, strnlen(why.msg, FP_TEXT_MAX));
	if (say_problems(&told, e) < 0 || (rc == 0 && fstream_put(s, FP_END, NULL, 0, e) < 0) || fstream_flush(s, e) < 0)
		rc = -1;
	buf_free(&told.problems);
	return rc;
}

int files_main(int argc, char **argv)
{
	struct fstream_fds fds = { STDIN_FILENO, STDOUT_FILENO };
	struct fstream s;
	struct err e = { 0 };
	bool sends = argc > 3 && !strcmp(argv[1], "send");
	int rc;

	if (!sends && (argc != 4 || strcmp(argv[1], "receive"))) {
		fputs("usage: files send|receive FLAGS PATH...\n", stderr);
		return 2;
	}
	/* The end of input tells that the host is gone; there is something to be tidied up then. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
	rc = fstream_init(&s, &fstream_over_fds, &fds, &e);
	if (rc == 0)
		rc = sends ? send_all(&s, argv[2], argv + 3, &e) : receive_all(&s, argv[2], argv + 3, &e);
	fstream_fini(&s);
	if (rc < 0 && *e.msg)
		fprintf(stderr, "%s\n", e.msg);
	return rc < 0;
}
