#include "limactl-c/hostagent/edits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/hostagent/run.h"

enum {
	FILE_MAX = 1 << 20, /* as the guest agent's */
	MISSING = 66,       /* exit code of ours: there is no such file */
	HELPER_MS = 20000,
	WHY_MAX = 800,
};

static const char fetch_by_sh[] = "[ -e \"$1\" ] || exit 66; exec cat <\"$1\"";
static const char put_by_sh[] = "cat >\"$1.new\" && exec mv \"$1.new\" \"$1\"";

struct edits {
	struct guest *guest;
	struct loop *loop;
	const struct plan *plan;
	bool busy, more;
	size_t index, next; /* next: with more, what the guest asked for meanwhile */
	char *path;        /* in the guest, of what run reads or writes */
	struct run run;
	struct buf answer; /* what run writes */
	pid_t helper;      /* 0: none */
	int out, err;      /* its files, which have no name */
	int ended;         /* end of file when it has ended */
	struct watch *watch;
	struct deadline *deadline;
};

static char *guest_path(const struct edits *x, const char *suffix)
{
	bool fake = x->plan->driver == PLAN_FAKE;

	return xasprintf("%s%s/provision/%02zu%s", fake ? x->plan->dir : "/run", fake ? "/fake" : "/lima", x->index,
			 suffix);
}

static void run_in_guest(struct edits *x, const char *script, const char *suffix, void (*done)(struct run *r))
{
	free(x->path);
	x->path = guest_path(x, suffix);
	x->run.input = x->answer.data;
	x->run.input_len = x->answer.len;
	x->run.done = done;
	run_sh(x->guest, &x->run, script, x->path, NULL);
}

static void on_fetched(struct run *r);

static void begin(struct edits *x, size_t index)
{
	x->busy = true;
	x->more = false;
	x->index = index;
	buf_free(&x->answer);
	run_in_guest(x, fetch_by_sh, ".in", on_fetched);
}

/* --- the answer --- */

/* The guest sees the answer before we hear that it was put there, and may have asked for the next one. */
static void on_put(struct run *r)
{
	struct edits *x = r->ctx;

	if (r->status)
		log_warn("provision[%zu]: the changed file could not be handed to the guest: %s", x->index, r->err);
	x->busy = false;
	if (x->more)
		begin(x, x->next);
}

static void answer(struct edits *x, const char *suffix, const char *text, size_t n)
{
	buf_free(&x->answer);
	if (buf_add(&x->answer, text, n) < 0)
		abort(); /* FILE_MAX was looked at */
	run_in_guest(x, put_by_sh, suffix, on_put);
}

static void refuse(struct edits *x, const char *why)
{
	log_warn("provision[%zu]: %s", x->index, why);
	answer(x, ".err", why, strlen(why));
}

/* --- the helper --- */

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(steal_fd(fd));
}

static void forget_helper(struct edits *x)
{
	watch_free(x->watch);
	x->watch = NULL;
	deadline_stop(x->deadline);
	close_file(&x->ended);
	close_file(&x->out);
	close_file(&x->err);
	x->helper = 0;
}

static int read_file(int fd, struct buf *b, struct err *e)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "lseek");
	return io_read_end(fd, "the answer", b, e);
}

static void on_helper(void *ctx, unsigned events)
{
	struct edits *x = ctx;
	auto_buf out = BUF_INIT(FILE_MAX), words = BUF_INIT(64 * 1024);
	struct err e = { 0 };
	int status, rc;

	(void)events;
	status = spawn_wait(x->helper);
	rc = status == 0 ? read_file(x->out, &out, &e) : read_file(x->err, &words, &e);
	forget_helper(x);
	if (rc == 0 && status == 0) {
		answer(x, ".out", out.data ? out.data : "", out.len);
	} else if (rc == 0 && words.len) {
		words.data[strcspn(words.data, "\n")] = '\0';
		if (words.len > WHY_MAX)
			words.data[WHY_MAX] = '\0';
		refuse(x, words.data);
	} else {
		refuse(x, rc < 0 ? e.msg : "the helper that changes files did not succeed");
	}
}

/* Its end is seen by on_helper(). */
static void on_deadline(void *ctx)
{
	struct edits *x = ctx;

	if (x->helper)
		kill(x->helper, SIGKILL);
}

/* A file without a name. */
static int open_nameless(const struct edits *x, struct err *e)
{
	auto_free char *path = xasprintf("%s/edit.XXXXXX", x->plan->dir);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return fs_write_error(path, e);
	unlink(path);
	return fd;
}

static int start_helper(struct edits *x, const struct buf *text, struct err *e)
{
	const struct plan_script *s = &x->plan->script[x->index];
	auto_free char *prefix = prefix_dir(e), *program = prefix ? xasprintf("%s/bin/limactl-c", prefix) : NULL;
	const char *argv[] = { program, "yq-file", s->format, s->text, text ? "/dev/fd/3" : NULL, NULL };
	struct spawn what = { .argv = argv, .fds = 2 };
	auto_close int in = -1, end = -1;
	int both[2];

	if (!program || (in = open_nameless(x, e)) < 0 || (x->out = open_nameless(x, e)) < 0 ||
	    (x->err = open_nameless(x, e)) < 0 || io_pipe(both, e) < 0)
		return -1;
	x->ended = both[0];
	end = both[1];
	if (text && text->len && io_write_full(in, text->data, text->len) < 0)
		return fs_write_error(x->plan->dir, e);
	/* Where /dev/fd/3 is the descriptor itself (macOS), the helper goes on at our place in the file. */
	if (lseek(in, 0, SEEK_SET) < 0)
		return err_errno(e, "lseek");
	what.fd[0] = in;
	what.fd[1] = end;
	what.out = x->out;
	what.err = x->err;
	x->helper = spawn_start(&what, e);
	if (x->helper < 0) {
		x->helper = 0;
		return -1;
	}
	x->watch = watch_new(x->loop, x->ended, on_helper, x);
	watch_set(x->watch, WATCH_READ);
	deadline_in(x->deadline, HELPER_MS);
	return 0;
}

/* --- the question --- */

static void on_fetched(struct run *r)
{
	struct edits *x = r->ctx;
	struct err e = { 0 };

	if (r->status && r->status != MISSING) {
		run_failed(r, x->path, "the file could not be read", &e);
		refuse(x, e.msg);
		return;
	}
	if (start_helper(x, r->status == MISSING ? NULL : &r->out, &e) < 0) {
		forget_helper(x);
		refuse(x, e.msg);
	}
}

void edits_message(struct edits *x, const uint8_t *body, size_t len)
{
	struct ap_provision v;

	if (ap_provision_unpack(&v, body, len) < 0 || v.state != AP_PROVISION_ASKS)
		return;
	if (v.index >= x->plan->scripts || !x->plan->script[v.index].format)
		return;
	if (!x->busy) {
		begin(x, v.index);
	} else if (v.index != x->index) {
		x->more = true;
		x->next = v.index;
	}
}

struct edits *edits_new(struct loop *l, struct guest *g, const struct plan *plan)
{
	struct edits *x = xcalloc(1, sizeof(*x));

	*x = (struct edits){ .guest = g, .loop = l, .plan = plan, .out = -1, .err = -1, .ended = -1,
			     .answer = BUF_INIT(FILE_MAX), .run = { .out_fd = -1, .out = BUF_INIT(FILE_MAX), .ctx = x } };
	x->deadline = deadline_new(l, on_deadline, x);
	return x;
}

void edits_free(struct edits *x)
{
	if (!x)
		return;
	if (x->helper) {
		kill(x->helper, SIGKILL);
		spawn_wait(x->helper);
	}
	forget_helper(x);
	run_fini(&x->run);
	buf_free(&x->answer);
	deadline_free(x->deadline);
	free(x->path);
	free(x);
}
