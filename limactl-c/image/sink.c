#include "limactl-c/image/sink.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

enum { CHUNK = 64 * 1024, HOLE_MIN = 4096 };

int sink_open(struct sink *s, const struct newfile *to, const struct digest *want, struct err *e)
{
	s->to = to;
	s->want = want;
	s->len = 0;
	s->max = SINK_MAX_BYTES;
	s->hash = hash_new(want, e);
	return s->hash ? 0 : -1;
}

int sink_resume(struct sink *s, struct err *e)
{
	auto_free char *chunk = xmalloc(CHUNK);
	ssize_t k;

	if (lseek(s->to->fd, 0, SEEK_SET) < 0)
		return err_errno(e, "seek in %s", s->to->tmp);
	while ((k = io_read_full(s->to->fd, chunk, CHUNK)) > 0) {
		if (hash_add(s->hash, chunk, (size_t)k, e) < 0)
			return -1;
		s->len += (uint64_t)k;
	}
	return k < 0 ? err_errno(e, "cannot read %s", s->to->tmp) : 0;
}

int sink_restart(struct sink *s, struct err *e)
{
	hash_free(s->hash);
	s->hash = hash_new(s->want, e);
	s->len = 0;
	if (!s->hash)
		return -1;
	if (ftruncate(s->to->fd, 0) < 0 || lseek(s->to->fd, 0, SEEK_SET) < 0)
		return fs_write_error(s->to->tmp, e);
	return 0;
}

void sink_fini(struct sink *s)
{
	hash_free(s->hash);
	s->hash = NULL;
}

static bool all_zero(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

int sink_write(struct sink *s, const void *p, size_t n, struct err *e)
{
	if (n == 0)
		return 0;
	if (s->len + n > s->max)
		return err_set(e, ERR_INVALID, "larger than %llu MiB", (unsigned long long)(s->max >> 20));
	if (hash_add(s->hash, p, n, e) < 0)
		return -1;
	s->len += n;
	if (n >= HOLE_MIN && all_zero(p, n)) {
		if (lseek(s->to->fd, (off_t)n, SEEK_CUR) < 0)
			return err_errno(e, "seek in %s", s->to->tmp);
		return 0;
	}
	return io_write_full(s->to->fd, p, n) < 0 ? fs_write_error(s->to->tmp, e) : 0;
}

/* All that is left to read of fd. */
static int copy_rest(struct sink *s, int fd, struct err *e)
{
	auto_free char *chunk = xmalloc(CHUNK);

	for (;;) {
		ssize_t k = read(fd, chunk, CHUNK);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_errno(e, "read");
		if (k == 0)
			return 0;
		if (sink_write(s, chunk, (size_t)k, e) < 0)
			return -1;
	}
}

int sink_end(struct sink *s, struct digest *sha256, struct err *e)
{
	if (ftruncate(s->to->fd, (off_t)s->len) < 0)
		return fs_write_error(s->to->tmp, e);
	return hash_end(s->hash, sha256, e);
}

int sink_copy_file(struct sink *s, int fd, struct err *e)
{
	if (copy_share_blocks(fd, s->to->fd))
		return sink_resume(s, e);
	return lseek(fd, 0, SEEK_SET) < 0 ? err_errno(e, "seek") : copy_rest(s, fd, e);
}
