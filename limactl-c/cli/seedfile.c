#include "limactl-c/cli/seedfile.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/plan/seed.h"

enum { LIST_MAX = 1 << 20, ANSWER_MAX = 8192, TEXT_MAX = 1 << 20 };

/* What seed_make() wants to be given as texts. */
struct texts {
	const char **v;
	char **own; /* the same */
	size_t n;
};

static void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->own[i]);
	free(t->own);
	free(t->v);
}

static void take(struct texts *t, char *text)
{
	t->v = xrealloc_array(t->v, t->n + 1, sizeof(*t->v));
	t->own = xrealloc_array(t->own, t->n + 1, sizeof(*t->own));
	t->own[t->n] = text;
	t->v[t->n++] = text;
}

static int take_file(struct texts *t, const char *path, struct err *e)
{
	auto_buf b = BUF_INIT(TEXT_MAX);

	if (io_read_file(path, &b, e) < 0)
		return -1;
	take(t, xstrdup(b.data ? b.data : ""));
	return 0;
}

static int write_list(const struct seed *s, const char *work, const char *list, struct err *e)
{
	auto_buf text = BUF_INIT(LIST_MAX);

	for (size_t i = 0; i < s->files; i++) {
		const struct seed_file *f = &s->file[i];
		auto_free char *own = xasprintf("%s/%zu", work, i);

		if (f->data && fs_write_atomic(own, f->data, f->len, 0600, e) < 0)
			return -1;
		if (buf_addf(&text, "%o %s %s\n", f->mode, f->path, f->data ? own : f->source) < 0)
			return err_set(e, ERR_INVALID, "too many files for the seed volume");
	}
	return fs_write_atomic(list, text.data ? text.data : "", text.len, 0600, e);
}

static int write_volume(const struct seed *s, const struct plan *p, struct err *e)
{
	auto_free char *work = xasprintf("%s.files", p->seed), *list = xasprintf("%s/list", work);
	const char *argv[] = { "", "seed", "--label", "cidata", "--out", p->seed, "--list", list, NULL };
	auto_buf out = BUF_INIT(ANSWER_MAX);
	struct err none;
	int rc;

	if (fs_remove_tree(work, e) < 0 || fs_mkdir(work, 0700, e) < 0)
		return -1;
	rc = write_list(s, work, list, e) < 0 || images_run(argv, &out, false, e) < 0 ? -1 : 0;
	fs_remove_tree(work, &none);
	return rc;
}

static int take_certificates(struct texts *t, const struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->files; i++)
		if (!strncmp(p->file[i].guest_path, PLAN_CA, strlen(PLAN_CA)) && take_file(t, p->file[i].source, e) < 0)
			return err_wrap(e, "caCerts.files[%zu]", t->n);
	return 0;
}

int seedfile_write(const struct cfg *c, const struct plan_host *h, const struct plan *p, struct err *e)
{
	CLEANUP(texts_free) struct texts certificates = { 0 };
	struct seed_input in = { .c = c, .p = p, .host_home = h->home, .provision = h->provision };
	auto_seed s = { 0 };

	if (!p->seed)
		return 0;
	if (take_certificates(&certificates, p, e) < 0)
		return -1;
	in.key = (const char *const *)h->ssh_key;
	in.keys = h->ssh_keys;
	in.certificate = certificates.v;
	in.certificates = certificates.n;
	return seed_make(&in, &s, e) < 0 || write_volume(&s, p, e) < 0 ? err_wrap(e, "seed volume") : 0;
}
