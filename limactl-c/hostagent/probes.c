#include "limactl-c/hostagent/probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/run.h"

enum {
	RETRY_FIRST_MS = 250, /* doubled each time */
	RETRY_MOST_MS = 3000,
	OUT_MAX = 1 << 20,    /* a probe that writes more is broken */
	WORDS_MAX = 16,       /* of a script's first line */
};

/* Guests without bash have a shell that mostly does: Lima's Alpine calls it bash. */
static const char by_sh[] = "case $1 in */env) [ $# = 1 ] || shift ;; esac\n"
			    "command -v \"$1\" >/dev/null || { shift; set -- sh \"$@\"; }\n"
			    "exec \"$@\"";

struct probes {
	struct guest *guest;
	const struct plan *plan;
	void (*over)(void *ctx);
	void *ctx;
	bool started;
	size_t at;       /* the one that runs; plan->probes: all have ended */
	char **error;    /* of each, NULL: none */
	char *words;     /* the first line, taken apart */
	char **env;      /* PARAM_NAME=value */
	size_t envs;
	struct run run;
	struct deadline *next; /* the next try, or the end of the present one */
	int64_t end;     /* of the present probe, on the clock */
	int retry_ms;
	char *last;      /* how its last try ended, NULL: none did */
};

/* --- one try --- */

/* Interpreter and arguments of "#!/usr/bin/env bash"; the script itself goes to standard input, as Lima does it. */
static void take_interpreter(struct probes *p, const char *script)
{
	struct ep_start *s = &p->run.start;
	char *save = NULL, *word;

	free(p->words);
	p->words = NULL;
	s->argv[s->argc++] = "exec";
	s->argv[s->argc++] = "sh";
	s->argv[s->argc++] = "-c";
	s->argv[s->argc++] = by_sh;
	s->argv[s->argc++] = "sh";
	if (!strncmp(script, "#!", 2)) {
		p->words = xstrndup(script + 2, strcspn(script + 2, "\n"));
		for (word = strtok_r(p->words, " \t\r", &save); word && s->argc < WORDS_MAX;
		     word = strtok_r(NULL, " \t\r", &save))
			s->argv[s->argc++] = word;
	}
	if (s->argc == 5)
		s->argv[s->argc++] = "sh";
}

static void make_env(struct probes *p)
{
	static const char param[] = "param.";

	for (size_t i = 0; i < p->plan->settings && p->envs < EP_ENV_MAX; i++) {
		const struct plan_pair *s = &p->plan->setting[i];

		if (strncmp(s->key, param, strlen(param)))
			continue;
		p->env = xrealloc_array(p->env, p->envs + 1, sizeof(*p->env));
		p->env[p->envs++] = xasprintf("PARAM_%s=%s", s->key + strlen(param), s->value);
	}
}

static void try_now(struct probes *p)
{
	const struct plan_probe *probe = &p->plan->probe[p->at];

	p->run.start = (struct ep_start){ .term = "", .workdir = "", .shell = "", .envc = p->envs };
	for (size_t i = 0; i < p->envs; i++)
		p->run.start.env[i] = p->env[i];
	take_interpreter(p, probe->script);
	p->run.input = probe->script;
	p->run.input_len = strlen(probe->script);
	deadline_at(p->next, p->end);
	run_start(p->guest, &p->run);
}

static void begin_probe(struct probes *p)
{
	p->end = clock_ms() + (int64_t)p->plan->probe_seconds * 1000;
	p->retry_ms = RETRY_FIRST_MS;
	free(steal(&p->last));
	try_now(p);
}

/* --- what becomes of it --- */

static void next_probe(struct probes *p)
{
	if (++p->at < p->plan->probes)
		begin_probe(p);
	else
		p->over(p->ctx);
}

static char *outcome(const struct run *r)
{
	const char *colon = r->err_len ? ": " : "";

	if (r->status == RUN_TOO_LARGE)
		return xstrdup("it writes too much");
	if (r->status < 0)
		return xasprintf("it could not be run%s%s", colon, r->err);
	return xasprintf("%s %d%s%s", r->status > 128 ? "signal" : "exit code", r->status > 128 ? r->status - 128 : r->status,
			 colon, r->err);
}

static void give_up(struct probes *p)
{
	const struct plan_probe *probe = &p->plan->probe[p->at];
	char within[40] = "";

	/* One asked once that has answered did not need all of its time. */
	if (!probe->once || !p->last)
		snprintf(within, sizeof(within), " within %u s", p->plan->probe_seconds);
	run_cancel(&p->run);
	p->error[p->at] = xasprintf("probe \"%s\" did not succeed%s: %s%s%s", probe->description, within,
				    p->last ? p->last : "it did not end", *probe->hint ? "; hint: " : "", probe->hint);
	log_warn("%s", p->error[p->at]);
	next_probe(p);
}

static void on_done(struct run *r)
{
	struct probes *p = r->ctx;
	int64_t now = clock_ms();

	deadline_stop(p->next);
	if (r->status == 0) {
		log_info("probe \"%s\" succeeded", p->plan->probe[p->at].description);
		next_probe(p);
		return;
	}
	free(p->last);
	p->last = outcome(r);
	if (p->plan->probe[p->at].once && r->status > 0) {
		give_up(p);
		return;
	}
	deadline_at(p->next, now + p->retry_ms < p->end ? now + p->retry_ms : p->end);
	p->retry_ms = 2 * p->retry_ms < RETRY_MOST_MS ? 2 * p->retry_ms : RETRY_MOST_MS;
}

static void on_deadline(void *ctx)
{
	struct probes *p = ctx;

	if (p->run.busy || clock_ms() >= p->end)
		give_up(p);
	else
		try_now(p);
}

/* --- the whole --- */

struct probes *probes_new(struct loop *l, struct guest *g, const struct plan *plan, void (*over)(void *ctx), void *ctx)
{
	struct probes *p = xcalloc(1, sizeof(*p));

	*p = (struct probes){ .guest = g, .plan = plan, .over = over, .ctx = ctx,
			      .run = { .out_fd = -1, .out = BUF_INIT(OUT_MAX), .done = on_done, .ctx = p } };
	p->error = xcalloc(plan->probes, sizeof(*p->error));
	p->next = deadline_new(l, on_deadline, p);
	make_env(p);
	return p;
}

void probes_stop(struct probes *p)
{
	deadline_stop(p->next);
	run_cancel(&p->run);
	p->started = false;
	p->at = 0;
	for (size_t i = 0; i < p->plan->probes; i++) {
		free(p->error[i]);
		p->error[i] = NULL;
	}
}

void probes_start(struct probes *p)
{
	if (p->started)
		return;
	p->started = true;
	if (p->plan->probes)
		begin_probe(p);
}

bool probes_over(const struct probes *p)
{
	return p->at == p->plan->probes;
}

void probes_waiting(const struct probes *p, struct jx *list)
{
	for (size_t i = p->at; i < p->plan->probes; i++) {
		auto_free char *name = xasprintf("probe \"%s\"", p->plan->probe[i].description);

		jx_add_string(list, name);
	}
}

void probes_errors(const struct probes *p, struct jx *list)
{
	for (size_t i = 0; i < p->plan->probes; i++) {
		if (p->error[i])
			jx_add_string(list, p->error[i]);
	}
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	probes_stop(p);
	run_fini(&p->run);
	deadline_free(p->next);
	for (size_t i = 0; i < p->envs; i++)
		free(p->env[i]);
	free(p->env);
	free(p->error);
	free(p->words);
	free(p->last);
	free(p);
}
