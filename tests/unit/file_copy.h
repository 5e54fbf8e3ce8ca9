/* file_copy.h - a copy within a test: a sender in a thread, the receiver here, a socket pair between them that can be cut; or a
 * stream made by hand instead of the sender. */
#ifndef TESTS_FILE_COPY_H
#define TESTS_FILE_COPY_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file_receive.h"
#include "lib/file_send.h"

/* What an end has told. */
struct told {
	size_t problems, warnings;
	char last[FP_TEXT_MAX + 1];
	uint64_t total, moved;
};

static inline void told_total(void *ctx, uint64_t n) { ((struct told *)ctx)->total += n; }
static inline void told_moved(void *ctx, uint64_t n) { ((struct told *)ctx)->moved += n; }
static inline void told_name(void *ctx, const char *name) { (void)ctx, (void)name; }
static inline void told_problem(void *ctx, const char *text, bool warning)
{
	struct told *t = ctx;

	*(warning ? &t->warnings : &t->problems) += 1;
	snprintf(t->last, sizeof(t->last), "%s", text);
}
static inline struct file_watch told_watch(struct told *t)
{
	return (struct file_watch){ told_total, told_name, told_moved, told_problem, t };
}

struct sender {
	const char *path;
	uint64_t cut;  /* the wire takes so many bytes and no more */
	uint64_t sent;
	struct told told;
	struct fstream_fds fds;
};

static inline ssize_t sender_read(void *ctx, void *p, size_t n, struct err *e)
{
	return fstream_over_fds.read(&((struct sender *)ctx)->fds, p, n, e);
}

static inline int sender_write(void *ctx, const void *p, size_t n, struct err *e)
{
	struct sender *s = ctx;
	size_t may = s->cut - s->sent < n ? (size_t)(s->cut - s->sent) : n;

	s->sent += may;
	return fstream_over_fds.write(&s->fds, p, may, e) < 0 || may < n ? -1 : 0;
}

static inline void *sender_run(void *arg)
{
	static const struct fstream_ops ops = { sender_read, sender_write };
	struct sender *s = arg;
	struct file_watch watch = told_watch(&s->told);
	struct fstream stream;
	struct file_send fs = { .stream = &stream, .watch = &watch, .recursive = true };
	struct err e;

	if (fstream_init(&stream, &ops, s, &e) == 0 && file_send(&fs, s->path, &e) == 0 &&
	    fstream_put(&stream, FP_END, NULL, 0, &e) == 0)
		fstream_flush(&stream, &e);
	fstream_fini(&stream);
	shutdown(s->fds.out, SHUT_RDWR);
	return NULL;
}

/* Copies s->path to target; returns what file_receive() did. */
static inline int file_copy(struct sender *s, const char *target, struct told *told, struct err *e)
{
	struct file_watch watch = told_watch(told);
	struct fstream stream;
	struct file_receive fr = { .stream = &stream, .watch = &watch, .target = target, .mode_mask = 01777 };
	struct fstream_fds fds;
	pthread_t thread;
	int sv[2], rc;

	*told = (struct told){ 0 };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) < 0)
		return -1;
	s->fds = (struct fstream_fds){ sv[0], sv[0] };
	fds = (struct fstream_fds){ sv[1], sv[1] };
	if (!s->cut)
		s->cut = UINT64_MAX;
	pthread_create(&thread, NULL, sender_run, s);
	rc = fstream_init(&stream, &fstream_over_fds, &fds, e) < 0 ? -1 : file_receive(&fr, e);
	shutdown(sv[1], SHUT_RDWR);
	pthread_join(thread, NULL);
	fstream_fini(&stream);
	close(sv[0]);
	close(sv[1]);
	return rc;
}

/* --- a stream in memory --- */

struct script {
	struct buf bytes;
	size_t at;
	struct fstream out; /* records put here go to bytes */
	const struct file_asked *asked; /* by the receiver; NULL: whatever comes */
};

static inline int script_write(void *ctx, const void *p, size_t n, struct err *e)
{
	(void)e;
	return buf_add(&((struct script *)ctx)->bytes, p, n);
}

static inline ssize_t script_read(void *ctx, void *p, size_t n, struct err *e)
{
	struct script *s = ctx;
	size_t left = s->bytes.len - s->at;

	(void)e;
	n = n < left ? n : left;
	if (n)
		memcpy(p, s->bytes.data + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static inline int script_drop(void *ctx, const void *p, size_t n, struct err *e)
{
	(void)ctx, (void)p, (void)n, (void)e;
	return 0;
}

static inline void script_begin(struct script *s)
{
	static const struct fstream_ops ops = { script_read, script_write };
	struct err e;

	*s = (struct script){ .bytes = BUF_INIT(16 << 20) };
	fstream_init(&s->out, &ops, s, &e);
}

static inline void script_entry(struct script *s, enum fp_type type, const char *name, const char *link, uint64_t size)
{
	struct fp_entry v = { .mode = type == FP_LINK ? 0777 : 07755, .mtime = 1, .size = size, .ask = size >= FILE_SEND_ASK };
	struct err e;

	snprintf(v.name, sizeof(v.name), "%s", name);
	snprintf(v.link, sizeof(v.link), "%s", link);
	fstream_put_entry(&s->out, type, &v, &e);
}

/* A file with four bytes that nobody wants. */
static inline void script_evil(struct script *s, const char *name)
{
	struct err e;

	script_entry(s, FP_FILE, name, "", 4);
	fstream_put(&s->out, FP_DATA, "evil", 4, &e);
	fstream_put_u64(&s->out, FP_DONE, 4, &e);
}

/* Receives it into target; the answers are lost. */
static inline int script_play(struct script *s, const char *target, struct told *told, struct err *e)
{
	static const struct fstream_ops ops = { script_read, script_drop };
	struct file_watch watch = told_watch(told);
	struct fstream stream;
	struct file_receive fr = { .stream = &stream, .watch = &watch, .target = target, .mode_mask = 01777, .asked = s->asked };
	int rc;

	*told = (struct told){ 0 };
	*e = (struct err){ 0 };
	fstream_flush(&s->out, e);
	fstream_init(&stream, &ops, s, e);
	rc = file_receive(&fr, e);
	fstream_fini(&stream);
	fstream_fini(&s->out);
	buf_free(&s->bytes);
	return rc;
}

#endif
