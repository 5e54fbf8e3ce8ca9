#include "limactl-c/cli/copy_run.h"

#include <string.h>

#include "lib/file_receive.h"
#include "lib/file_send.h"
#include "lib/filestream.h"
#include "lib/le.h"
#include "limactl-c/cli/guest_files.h"

/* No program of a guest's becomes one that runs with this user's rights for whoever starts it. */
enum { HOST_MODES = FP_MODE & ~06000, FLAGS = 3 };

/* What a guest is to send. */
struct request {
	struct file_asked asked;
	const char *path[COPY_PATHS_MAX];
};

/* A guest's end, opened. */
struct end {
	struct guest_files files;
	struct fstream stream;
};

static int end_open(struct end *end, const struct inst *i, const char *const *word, size_t words, struct err *e)
{
	if (guest_files_open(&end->files, i, word, words, e) < 0)
		return -1;
	return fstream_init(&end->stream, &guest_files_ops, &end->files, e);
}

static void end_close(struct end *end)
{
	fstream_fini(&end->stream);
	guest_files_close(&end->files);
}

static void request_fill(struct request *q, const struct copy_run *c, const struct copy_place *source, size_t sources)
{
	for (size_t i = 0; i < sources; i++)
		q->path[i] = source[i].path;
	q->asked = (struct file_asked){ q->path, sources, c->recursive };
}

static int open_sender(struct end *end, const struct copy_run *c, const struct request *q, const struct inst *inst,
		       struct err *e)
{
	const char *word[2 + COPY_PATHS_MAX] = { "send" };
	char flags[FLAGS + 1];
	size_t n = 0;

	if (c->recursive)
		flags[n++] = 'r';
	if (c->total)
		flags[n++] = 't';
	flags[n] = '\0';
	word[1] = n ? flags : "-";
	memcpy(word + 2, q->path, q->asked.paths * sizeof(*word));
	return end_open(end, inst, word, 2 + q->asked.paths, e);
}

static int open_receiver(struct end *end, const struct copy_run *c, const struct copy_place *target, struct err *e)
{
	const char *word[] = { "receive", c->folder ? "d" : "-", target->path };

	return end_open(end, &target->inst, word, 3, e);
}

/* What the receiver has to say at the end; *told counts it. */
static int take_result(const struct copy_run *c, struct fstream *s, size_t *told, struct err *e)
{
	struct fstream_record r;

	for (;; ++*told) {
		if (fstream_next(s, &r, e) < 0)
			return -1;
		if (r.type == FP_END)
			return 0;
		if (r.type != FP_PROBLEM)
			return fstream_malformed(e);
		if (fstream_problem(&r, c->watch, e) < 0)
			return -1;
	}
}

/* rc: of sending. A receiver that ended early has said why; one that does not keep to the protocol may never end. */
static int finish(const struct copy_run *c, struct fstream *s, int rc, struct err *e)
{
	struct err ignored, *why = rc < 0 ? &ignored : e;
	size_t told = 0;

	if (rc < 0 && e->kind == ERR_INVALID)
		return -1;
	if (rc == 0)
		rc = fstream_put(s, FP_END, NULL, 0, e);
	if (take_result(c, s, &told, why) < 0)
		rc = -1;
	return told ? 0 : rc;
}

static int host_to_guest(const struct copy_run *c, const struct copy_place *source, size_t sources,
			 const struct copy_place *target, struct err *e)
{
	struct end to = { .files = { .fd = -1 } };
	struct file_send fs = { .stream = &to.stream, .watch = c->watch, .recursive = c->recursive };
	int rc = open_receiver(&to, c, target, e);

	if (rc == 0) {
		for (size_t i = 0; c->total && i < sources && rc == 0; i++)
			rc = file_send_count(&fs, source[i].path, e);
		if (c->total)
			c->watch->total(c->watch->ctx, fs.total);
		for (size_t i = 0; i < sources && rc == 0; i++)
			rc = file_send(&fs, source[i].path, e);
		rc = finish(c, &to.stream, rc, e);
	}
	end_close(&to);
	return rc;
}

static int guest_to_host(const struct copy_run *c, const struct copy_place *source, size_t sources,
			 const struct copy_place *target, struct err *e)
{
	struct end from = { .files = { .fd = -1 } };
	struct request q;
	const struct file_receive fr = { .stream = &from.stream, .watch = c->watch, .target = target->path,
					 .folder = c->folder, .mode_mask = HOST_MODES, .asked = &q.asked };
	int rc;

	request_fill(&q, c, source, sources);
	rc = open_sender(&from, c, &q, &source->inst, e);
	if (rc == 0)
		rc = file_receive(&fr, e);
	end_close(&from);
	return rc;
}

/* --- from guest to guest --- */

struct passing {
	const struct copy_run *c;
	struct end from, to;
	struct request request;
	size_t depth; /* folders that are open */
	bool sent;    /* the sender has been heard, and what failed was the receiver's */
};

/* The receiver is asked, the sender gets the answer. */
static int pass_offer(struct passing *p, struct err *e)
{
	struct fstream_record r;

	if (fstream_offer(&p->to.stream, p->c->watch, &r, e) < 0)
		return -1;
	return fstream_put(&p->from.stream, r.type, r.payload, r.len, e);
}

static int check_entry(struct passing *p, const struct fstream_record *r, struct fp_entry *v, struct err *e)
{
	if (fp_entry_unpack(v, r->type, r->payload, r->len) < 0)
		return fstream_malformed(e);
	if (!p->depth && file_asked_check(&p->request.asked, r->type, v->name, e) < 0)
		return -1;
	if (r->type == FP_DIR)
		p->depth++;
	else
		p->c->watch->began(p->c->watch->ctx, v->name);
	return 0;
}

/* A record of the sender's that matters here; whether it is right otherwise is the receiver's to judge. *n: its bytes. */
static int check(struct passing *p, const struct fstream_record *r, struct fp_entry *v, uint64_t *n, struct err *e)
{
	*n = r->len;
	switch (r->type) {
	case FP_TOTAL:
	case FP_HOLE:
	case FP_FROM:
		return fstream_u64(r, n, e);
	case FP_DIR:
	case FP_FILE:
	case FP_LINK:
		return check_entry(p, r, v, e);
	case FP_LEAVE:
		p->depth -= p->depth > 0;
		return 0;
	case FP_PROBLEM:
		return fstream_problem(r, p->c->watch, e);
	default:
		return 0;
	}
}

static int pass(struct passing *p, const struct fstream_record *r, struct err *e)
{
	const struct file_watch *watch = p->c->watch;
	struct fp_entry v = { .ask = false };
	uint64_t n;

	/* What the sender does not say is no fault of the receiver's. */
	p->sent = check(p, r, &v, &n, e) == 0;
	if (!p->sent)
		return -1;
	if (r->type == FP_TOTAL)
		watch->total(watch->ctx, n);
	if (r->type == FP_TOTAL || r->type == FP_PROBLEM)
		return 0;
	if (r->type == FP_DATA || r->type == FP_HOLE || r->type == FP_FROM)
		watch->moved(watch->ctx, n);
	if (fstream_put(&p->to.stream, r->type, r->payload, r->len, e) < 0)
		return -1;
	return v.ask ? pass_offer(p, e) : 0;
}

static int pass_all(struct passing *p, struct err *e)
{
	struct fstream_record r;

	for (;;) {
		p->sent = fstream_next(&p->from.stream, &r, e) == 0;
		if (!p->sent)
			return -1;
		if (r.type == FP_END)
			return 0;
		if (pass(p, &r, e) < 0)
			return -1;
	}
}

static int guest_to_guest(const struct copy_run *c, const struct copy_place *source, size_t sources,
			  const struct copy_place *target, struct err *e)
{
	struct passing p = { .c = c, .from = { .files = { .fd = -1 } }, .to = { .files = { .fd = -1 } } };
	int rc;

	request_fill(&p.request, c, source, sources);
	rc = open_receiver(&p.to, c, target, e) < 0 || open_sender(&p.from, c, &p.request, &source->inst, e) < 0 ? -1 : 0;
	if (rc == 0)
		rc = pass_all(&p, e);
	if (p.sent)
		rc = finish(c, &p.to.stream, rc, e);
	end_close(&p.from);
	end_close(&p.to);
	return rc;
}

int copy_run(const struct copy_run *c, const struct copy_place *source, size_t sources, const struct copy_place *target,
	     struct err *e)
{
	if (!source->inst.name)
		return host_to_guest(c, source, sources, target, e);
	return (target->inst.name ? guest_to_guest : guest_to_host)(c, source, sources, target, e);
}
