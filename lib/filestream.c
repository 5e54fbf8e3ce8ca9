#include "lib/filestream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/le.h"

enum { MAGIC = sizeof(FILEPROTO_MAGIC) - 1, RECORD_MAX = FP_HEADER + FP_PAYLOAD_MAX, ROOM = 2 * RECORD_MAX };

static ssize_t read_fd(void *ctx, void *p, size_t n, struct err *e)
{
	const struct fstream_fds *f = ctx;
	ssize_t k;

	do
		k = read(f->in, p, n);
	while (k < 0 && errno == EINTR);
	return k < 0 ? err_errno(e, "read") : k;
}

static int write_fd(void *ctx, const void *p, size_t n, struct err *e)
{
	const struct fstream_fds *f = ctx;

	return io_write_full(f->out, p, n) < 0 ? err_errno(e, "write") : 0;
}

const struct fstream_ops fstream_over_fds = { .read = read_fd, .write = write_fd };

int fstream_init(struct fstream *s, const struct fstream_ops *ops, void *ctx, struct err *e)
{
	*s = (struct fstream){ .ops = ops, .ctx = ctx, .out = malloc(ROOM), .in = malloc(ROOM), .out_len = MAGIC };
	if (!s->out || !s->in)
		return err_set(e, ERR_SYS, "not enough memory");
	memcpy(s->out, FILEPROTO_MAGIC, MAGIC);
	return 0;
}

void fstream_fini(struct fstream *s)
{
	free(s->out);
	free(s->in);
	s->out = s->in = NULL;
}

int fstream_malformed(struct err *e)
{
	return err_set(e, ERR_INVALID, "the other side does not keep to the protocol of copying");
}

/* --- out --- */

int fstream_flush(struct fstream *s, struct err *e)
{
	size_t n = s->out_len;

	s->out_len = 0;
	s->greets = true;
	return n ? s->ops->write(s->ctx, s->out, n, e) : 0;
}

static int make_room(struct fstream *s, size_t len, struct err *e)
{
	return s->out_len + FP_HEADER + len > ROOM ? fstream_flush(s, e) : 0;
}

int fstream_put(struct fstream *s, enum fp_type type, const void *payload, size_t len, struct err *e)
{
	if (make_room(s, len, e) < 0)
		return -1;
	fp_header_pack(s->out + s->out_len, type, len);
	if (len)
		memcpy(s->out + s->out_len + FP_HEADER, payload, len);
	s->out_len += FP_HEADER + len;
	return 0;
}

int fstream_put_u64(struct fstream *s, enum fp_type type, uint64_t v, struct err *e)
{
	uint8_t p[8];

	le64_put(p, v);
	return fstream_put(s, type, p, sizeof(p), e);
}

int fstream_put_entry(struct fstream *s, enum fp_type type, const struct fp_entry *v, struct err *e)
{
	uint8_t p[FP_ENTRY_MAX];

	return fstream_put(s, type, p, fp_entry_pack(v, p), e);
}

int fstream_put_problem(struct fstream *s, const char *text, bool warning, struct err *e)
{
	uint8_t p[1 + FP_TEXT_MAX] = { warning };
	size_t n = strnlen(text, FP_TEXT_MAX);

	memcpy(p + 1, text, n);
	return fstream_put(s, FP_PROBLEM, p, 1 + n, e);
}

uint8_t *fstream_data(struct fstream *s, struct err *e)
{
	return make_room(s, FP_PAYLOAD_MAX, e) < 0 ? NULL : s->out + s->out_len + FP_HEADER;
}

void fstream_put_data(struct fstream *s, size_t len)
{
	fp_header_pack(s->out + s->out_len, FP_DATA, len);
	s->out_len += FP_HEADER + len;
}

/* --- in --- */

/* Until there are want unread bytes, at most RECORD_MAX, in one piece. */
static int fill(struct fstream *s, size_t want, struct err *e)
{
	if (s->in_at == s->in_len || s->in_at + want > ROOM) {
		memmove(s->in, s->in + s->in_at, s->in_len - s->in_at);
		s->in_len -= s->in_at;
		s->in_at = 0;
	}
	while (s->in_len - s->in_at < want) {
		ssize_t k = s->ops->read(s->ctx, s->in + s->in_len, ROOM - s->in_len, e);

		if (k == 0)
			return err_set(e, ERR_STATE, "the connection ended in the middle of the copy");
		if (k < 0)
			return -1;
		s->in_len += (size_t)k;
	}
	return 0;
}

static const uint8_t *take(struct fstream *s, size_t n)
{
	const uint8_t *p = s->in + s->in_at;

	s->in_at += n;
	return p;
}

int fstream_next(struct fstream *s, struct fstream_record *r, struct err *e)
{
	/* Who has nothing to say yet does not greet: the other side may have said all and be gone. */
	if ((s->greets || s->out_len > MAGIC) && fstream_flush(s, e) < 0)
		return -1;
	if (!s->greeted) {
		if (fill(s, MAGIC, e) < 0)
			return -1;
		if (memcmp(take(s, MAGIC), FILEPROTO_MAGIC, MAGIC))
			return fstream_malformed(e);
		s->greeted = true;
	}
	if (fill(s, FP_HEADER, e) < 0)
		return -1;
	if (fp_header_unpack(s->in + s->in_at, &r->type, &r->len) < 0)
		return fstream_malformed(e);
	if (fill(s, FP_HEADER + r->len, e) < 0)
		return -1;
	r->payload = take(s, FP_HEADER + r->len) + FP_HEADER;
	return 0;
}

int fstream_u64(const struct fstream_record *r, uint64_t *v, struct err *e)
{
	if (r->len != (r->type == FP_OFFER ? 16 : 8))
		return fstream_malformed(e);
	*v = le64_get(r->payload);
	return *v > FP_SIZE_MAX && *v != FP_UNWANTED ? fstream_malformed(e) : 0;
}

int fstream_problem(const struct fstream_record *r, const struct file_watch *watch, struct err *e)
{
	char text[FP_TEXT_MAX + 1];

	if (r->len < 1 || r->len - 1 > FP_TEXT_MAX)
		return fstream_malformed(e);
	for (size_t i = 0; i < r->len - 1; i++) {
		uint8_t c = r->payload[1 + i];

		text[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	text[r->len - 1] = '\0';
	watch->problem(watch->ctx, text, r->payload[0]);
	return 0;
}

int fstream_offer(struct fstream *s, const struct file_watch *watch, struct fstream_record *r, struct err *e)
{
	if (fstream_next(s, r, e) < 0)
		return -1;
	if (r->type == FP_OFFER)
		return 0;
	if (r->type != FP_PROBLEM)
		return fstream_malformed(e);
	return fstream_problem(r, watch, e) < 0 ? -1 : err_set(e, ERR_STATE, "the target ended the copy early");
}
