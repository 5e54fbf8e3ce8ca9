#include "limactl-c/hostagent/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/run.h"

enum { MISSING = 66 }; /* exit code of ours: there is no such file */

/* As root: what Lima falls back to where the user may not read. */
static const char by_sh[] = "[ -e \"$1\" ] || exit 66\n"
			    "[ -f \"$1\" ] || { echo 'it is no file' >&2; exit 1; }\n"
			    "exec cat <\"$1\"";

struct copies {
	struct guest *guest;
	const struct plan *plan;
	void (*over)(void *ctx);
	void *ctx;
	bool started;
	size_t at;
	char **error;
	char *tmp; /* of the present one */
	struct run run;
};

static void copy_next(struct copies *c);

/* A temporary file beside the target, which no link can lead astray. */
static int open_target(struct copies *c, const char *path, struct err *e)
{
	auto_free char *dir = fs_parent(path);

	if (fs_mkdirs(dir, 0700, e) < 0)
		return -1;
	c->tmp = xasprintf("%s.XXXXXX.tmp", path);
	c->run.out_fd = mkostemps(c->tmp, strlen(".tmp"), O_CLOEXEC);
	if (c->run.out_fd >= 0)
		return 0;
	fs_error("cannot make", c->tmp, e);
	free(steal(&c->tmp));
	return -1;
}

static void drop_target(struct copies *c)
{
	if (c->tmp)
		unlink(c->tmp);
	free(steal(&c->tmp));
	if (c->run.out_fd >= 0)
		close(steal_fd(&c->run.out_fd));
}

/* The name comes when all bytes are there to stay; a link at its place is replaced, not followed. */
static int put_target(struct copies *c, const char *path, struct err *e)
{
	if (fsync(c->run.out_fd) < 0 || rename(c->tmp, path) < 0)
		return fs_write_error(path, e);
	free(steal(&c->tmp));
	return fs_sync_parent(path, e);
}

static int judge(struct copies *c, const struct plan_copy *f, struct err *e)
{
	switch (c->run.status) {
	case 0:
		return put_target(c, f->host_path, e);
	case MISSING:
		return f->skip_if_missing ? 0 : err_set(e, ERR_NOTFOUND, "the guest has no such file");
	default:
		return run_failed(&c->run, f->host_path, "it could not be read", e);
	}
}

static void fail(struct copies *c, const struct err *e)
{
	const struct plan_copy *f = &c->plan->copy[c->at];

	c->error[c->at] = xasprintf("copyToHost: %s was not copied to %s: %s", f->guest_path, f->host_path, e->msg);
	log_warn("%s", c->error[c->at]);
}

static void on_done(struct run *r)
{
	struct copies *c = r->ctx;
	struct err e = { 0 };

	if (judge(c, &c->plan->copy[c->at], &e) < 0)
		fail(c, &e);
	drop_target(c);
	c->at++;
	copy_next(c);
}

static void copy_next(struct copies *c)
{
	const struct plan_copy *f;
	struct err e = { 0 };

	for (; c->at < c->plan->copies; c->at++) {
		f = &c->plan->copy[c->at];
		if (open_target(c, f->host_path, &e) < 0) {
			fail(c, &e);
			continue;
		}
		run_sh(c->guest, &c->run, by_sh, f->guest_path, NULL);
		return;
	}
	c->over(c->ctx);
}

struct copies *copies_new(struct guest *g, const struct plan *plan, void (*over)(void *ctx), void *ctx)
{
	struct copies *c = xcalloc(1, sizeof(*c));

	*c = (struct copies){ .guest = g, .plan = plan, .over = over, .ctx = ctx,
			      .run = { .out_fd = -1, .out = BUF_INIT(COPY_MAX), .done = on_done, .ctx = c } };
	c->error = xcalloc(plan->copies, sizeof(*c->error));
	return c;
}

void copies_start(struct copies *c)
{
	if (c->started)
		return;
	c->started = true;
	if (c->plan->copies)
		copy_next(c);
}

void copies_stop(struct copies *c)
{
	run_cancel(&c->run);
	drop_target(c);
	c->started = false;
	c->at = 0;
	for (size_t i = 0; i < c->plan->copies; i++) {
		free(c->error[i]);
		c->error[i] = NULL;
	}
}

bool copies_over(const struct copies *c)
{
	return c->at == c->plan->copies;
}

void copies_waiting(const struct copies *c, struct jx *list)
{
	for (size_t i = c->at; i < c->plan->copies; i++) {
		auto_free char *name = xasprintf("%s is copied to the host", c->plan->copy[i].guest_path);

		jx_add_string(list, name);
	}
}

void copies_errors(const struct copies *c, struct jx *list)
{
	for (size_t i = 0; i < c->plan->copies; i++) {
		if (c->error[i])
			jx_add_string(list, c->error[i]);
	}
}

void copies_free(struct copies *c)
{
	if (!c)
		return;
	copies_stop(c);
	run_fini(&c->run);
	free(c->error);
	free(c);
}

void copies_delete(const struct plan *plan)
{
	for (size_t i = 0; i < plan->copies; i++) {
		const struct plan_copy *f = &plan->copy[i];

		if (f->delete_on_stop && unlink(f->host_path) < 0 && errno != ENOENT)
			log_warn("copyToHost: %s stays: %s", f->host_path, strerror(errno));
	}
}
