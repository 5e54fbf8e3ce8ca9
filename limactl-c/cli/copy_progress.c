#include "limactl-c/cli/copy_progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/clock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/say.h"

enum { SHOW_MS = 200 };
#define MIB 1048576.0

static void clear(const struct copy_progress *p)
{
	if (p->bar && p->shown)
		fprintf(stderr, "\r\033[K");
}

static unsigned percent(const struct copy_progress *p)
{
	double share = p->total ? (double)p->moved * 100 / (double)p->total : 0;

	return share > 100 ? 100 : (unsigned)share; /* a file may have grown since it was counted */
}

static void on_total(void *ctx, uint64_t bytes)
{
	struct copy_progress *p = ctx;

	p->total += bytes < UINT64_MAX - p->total ? bytes : 0;
}

static void on_began(void *ctx, const char *name)
{
	struct copy_progress *p = ctx;

	snprintf(p->name, sizeof(p->name), "%s", name);
	text_make_plain(p->name);
	if (!p->verbose)
		return;
	clear(p);
	say_info("%s", p->name);
}

static void show_bar(struct copy_progress *p)
{
	int64_t ms = clock_ms(), taken = ms - p->started;
	double rate = taken > 0 ? (double)p->moved * 1000 / (double)taken : 0;
	double left = p->total > p->moved ? (double)(p->total - p->moved) : 0;

	if (ms - p->shown < SHOW_MS)
		return;
	p->shown = ms;
	fprintf(stderr, "\r%.40s %u%% of %.1f MiB, %.1f MiB/s, %.0f s left\033[K", p->name, percent(p), (double)p->total / MIB,
		rate / MIB, rate > 0 ? left / rate : 0);
}

static void on_moved(void *ctx, uint64_t bytes)
{
	struct copy_progress *p = ctx;

	p->moved += bytes;
	if (p->bar && p->total)
		show_bar(p);
	if (p->verbose && !p->bar && percent(p) / 10 > p->tenth) {
		p->tenth = percent(p) / 10;
		say_info("%u%% of %.1f MiB", p->tenth * 10, (double)p->total / MIB);
	}
}

static void on_problem(void *ctx, const char *text, bool warning)
{
	struct copy_progress *p = ctx;

	clear(p);
	if (warning) {
		say_warn("%s", text);
		return;
	}
	if (p->held)
		say_error("%s", p->held);
	free(p->held);
	p->held = xstrdup(text);
	p->problems++;
}

void copy_progress_begin(struct copy_progress *p, bool bar, bool verbose)
{
	*p = (struct copy_progress){ .bar = bar && isatty(STDERR_FILENO), .verbose = verbose, .started = clock_ms() };
}

struct file_watch copy_progress_watch(struct copy_progress *p)
{
	return (struct file_watch){ on_total, on_began, on_moved, on_problem, p };
}

int copy_progress_end(struct copy_progress *p, int rc, struct err *e)
{
	clear(p);
	if (rc == 0 && p->problems == 1) {
		rc = err_set(e, ERR_STATE, "%s", p->held);
	} else if (p->held) {
		say_error("%s", p->held);
		if (rc == 0)
			rc = err_set(e, ERR_STATE, "%zu things were not copied, the rest was", p->problems);
	}
	free(p->held);
	return rc;
}
