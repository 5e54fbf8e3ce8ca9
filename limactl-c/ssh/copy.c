#include "limactl-c/ssh/copy.h"

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/ssh/sftp_receive.h"
#include "limactl-c/ssh/sftp_send.h"

enum { PROBLEMS_MAX = 64 };

/* What could not be made; the host hears of it at the end. */
struct told {
	struct buf problems; /* text and NUL each */
	size_t count;
};

static void keep_problem(void *ctx, const char *text)
{
	struct told *t = ctx;

	if (++t->count <= PROBLEMS_MAX)
		buf_add(&t->problems, text, strnlen(text, FP_TEXT_MAX - 1) + 1);
}

static int say_problems(struct told *t, struct fstream *s, struct err *e)
{
	char more[80];

	for (size_t at = 0; at < t->problems.len; at += strlen(t->problems.data + at) + 1)
		if (fstream_put_problem(s, t->problems.data + at, false, e) < 0)
			return -1;
	if (t->count <= PROBLEMS_MAX)
		return 0;
	snprintf(more, sizeof(more), "and %zu more", t->count - PROBLEMS_MAX);
	return fstream_put_problem(s, more, false, e);
}

static int send_all(struct sftp *sftp, struct fstream *s, const char *letters, char *const *word, struct err *e)
{
	struct sftp_send fs = { .sftp = sftp, .stream = s, .recursive = strchr(letters, 'r') };
	int rc = 0;

	if (strchr(letters, 't')) {
		for (size_t i = 0; rc == 0 && word[i]; i++)
			rc = sftp_send_count(&fs, word[i], e);
		if (rc == 0)
			rc = fstream_put_u64(s, FP_TOTAL, fs.total, e);
	}
	for (size_t i = 0; rc == 0 && word[i]; i++)
		rc = sftp_send(&fs, word[i], e);
	if (rc < 0 || fstream_put(s, FP_END, NULL, 0, e) < 0)
		return -1;
	return fstream_flush(s, e);
}

/* Why it ended early is a problem of the same kind, but without END behind it. */
static int receive_all(struct sftp *sftp, struct fstream *s, const char *letters, const char *target, struct err *e)
{
	struct told told = { .problems = BUF_INIT(FP_TEXT_MAX * (PROBLEMS_MAX + 1)) };
	const struct sftp_receive fr = { .sftp = sftp, .stream = s, .target = target, .folder = strchr(letters, 'd'),
					 .problem = keep_problem, .ctx = &told };
	struct err why = { 0 };
	int rc = sftp_receive(&fr, &why);

	if (rc < 0)
		keep_problem(&told, why.msg);
	if (say_problems(&told, s, e) < 0 || (rc == 0 && fstream_put(s, FP_END, NULL, 0, e) < 0) || fstream_flush(s, e) < 0)
		rc = -1;
	buf_free(&told.problems);
	return rc;
}

int copying_run(struct server *server, int fd, char *const *word, struct err *e)
{
	struct fstream_fds fds = { fd, fd };
	struct fstream s;
	struct sftp sftp;
	bool sends = word[0] && !strcmp(word[0], "send");
	int rc;

	if (!word[0] || !word[1] || !word[2] || (!sends && strcmp(word[0], "receive")))
		return err_set(e, ERR_USAGE, "usage: ssh " COPY_WORD " DIR KEY send|receive FLAGS PATH...");
	rc = sftp_begin(&sftp, server, fd, e) < 0 ? -1 : fstream_init(&s, &fstream_over_fds, &fds, e);
	if (rc == 0) {
		rc = sends ? send_all(&sftp, &s, word[1], word + 2, e) : receive_all(&sftp, &s, word[1], word[2], e);
		fstream_fini(&s);
	}
	sftp_end(&sftp);
	return rc;
}
