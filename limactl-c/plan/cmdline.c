/* The kernel's command line, put together from what the image, we and the user have to say. */
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/cmdline.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

enum { CMDLINE_MAX = 2047 }; /* what every kernel here accepts */

struct words {
	char **v;
	size_t n;
};

static void words_free(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
}
#define auto_words CLEANUP(words_free) struct words

static void add(struct words *w, const char *word, size_t len)
{
	w->v = xrealloc_array(w->v, w->n + 1, sizeof(*w->v));
	w->v[w->n++] = xstrndup(word, len);
}

static void split(struct words *w, const char *text)
{
	size_t n;

	for (const char *at = text; at && (n = cmdline_word(&at)); at += n)
		add(w, at, n);
}

static bool has_key(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (cmdline_has_key(w->v[i], word, strlen(word)))
			return true;
	return false;
}

static bool has(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->v[i], word))
			return true;
	return false;
}

bool plan_names_root(const char *args)
{
	return args && cmdline_has_key(args, "root=", strlen("root="));
}

/* A guest with an init of its own runs thousands of small programs before ours comes. QEMU's emulation keeps translated
 * code by virtual address: as long as each lands elsewhere all of it is translated anew, and a page that held such a
 * program takes seconds to be written again (docs/tuning.md). The seed's first script puts an end to it. */
bool plan_fixes_addresses(const struct making *m)
{
	static const char word[] = "norandmaps";
	const char *image = m->images->boot_args;
	bool said = image && cmdline_has(image, word, strlen(word));

	for (size_t i = 0; i < m->c->guest.kernel_args_count; i++)
		said |= cmdline_has(m->c->guest.kernel_args[i], word, strlen(word));
	return m->p->accel == PLAN_TCG && m->p->boot == PLAN_BOOT_DIRECT && !m->p->initrd_base && !said;
}

/* What we say where nobody else has said otherwise. */
static void add_ours(struct words *ours, const struct making *m, const struct platform *pf, bool overlay, bool fixed)
{
	auto_free char *console = xasprintf("console=%s", pf->console);
	/* A kernel that panics boots again instead of standing there until the user's deadline. */
	const char *const list[] = {
		console, "quiet", "psi=1", "panic=-1",
		overlay ? "rdinit=/lima/init" : NULL,
		m->p->accel == PLAN_TCG ? pf->tcg_args[0] : NULL,
		m->p->accel == PLAN_TCG ? pf->tcg_args[1] : NULL,
		fixed ? "norandmaps" : NULL,
		m->c->tuning.init_on_free ? "init_on_free=1" : NULL,
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (list[i])
			add(ours, list[i], strlen(list[i]));
}

char *plan_cmdline(const struct making *m, const struct platform *pf, bool overlay, struct err *e)
{
	auto_words image = { 0 }, ours = { 0 }, user = { 0 };
	auto_buf b = BUF_INIT(CMDLINE_MAX + 1);
	int rc = 0;

	split(&image, m->images->boot_args);
	for (size_t i = 0; i < m->c->guest.kernel_args_count; i++)
		split(&user, m->c->guest.kernel_args[i]);
	add_ours(&ours, m, pf, overlay, plan_fixes_addresses(m));
	/* Of two roots and of two first programs the kernel takes the last; only one is said. */
	for (size_t i = 0; rc == 0 && i < image.n; i++)
		if (!(has_key(&user, image.v[i]) && !strncmp(image.v[i], "root=", 5)) &&
		    !(overlay && !strncmp(image.v[i], "rdinit=", 7)) && !has(&user, image.v[i]))
			rc = buf_addf(&b, "%s ", image.v[i]);
	for (size_t i = 0; rc == 0 && i < ours.n; i++)
		if (!has_key(&user, ours.v[i]) && (!has_key(&image, ours.v[i]) || !strncmp(ours.v[i], "rdinit=", 7)))
			rc = buf_addf(&b, "%s ", ours.v[i]);
	for (size_t i = 0; rc == 0 && i < user.n; i++)
		rc = buf_addf(&b, "%s ", user.v[i]);
	if (rc < 0) {
		err_set(e, ERR_INVALID, "guest.kernelArgs: the kernel's command line would exceed %d bytes", CMDLINE_MAX);
		return NULL;
	}
	b.data[b.len - 1] = '\0';
	return steal(&b.data);
}

void plan_tell_loader(struct making *m, const struct platform *pf)
{
	const struct cfg *c = m->c;
	auto_words ours = { 0 }, first = { 0 };
	auto_free char *args = NULL, *last_args = plan_join(c->guest.kernel_args, c->guest.kernel_args_count, " ");

	if (!c->tuning.init_on_free && !c->guest.kernel_args_count)
		return;
	/* Fixed addresses are for starts that we make ourselves and the seed knows of. */
	add_ours(&ours, m, pf, false, false);
	for (size_t i = 0; i < ours.n; i++)
		if (!cmdline_has_key(last_args, ours.v[i], strlen(ours.v[i])))
			add(&first, ours.v[i], strlen(ours.v[i]));
	args = plan_join(first.v, first.n, " ");
	plan_set(m->p, "tuning.kernelArgs", "true");
	plan_set(m->p, PLAN_LOADER_ARGS, args);
	plan_set(m->p, PLAN_LOADER_LAST_ARGS, last_args);
}
