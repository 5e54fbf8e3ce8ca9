#include "lib/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int io_write_full(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t k = write(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

ssize_t io_read_full(int fd, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = read(fd, (char *)p + got, n - got);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

int io_read_end(int fd, const char *name, struct buf *b, struct err *e)
{
	for (;;) {
		size_t want = b->max - b->len < 65536 ? b->max - b->len + 1 : 65536;
		char chunk[65536];
		ssize_t k = io_read_full(fd, chunk, want > sizeof(chunk) ? sizeof(chunk) : want);

		if (k < 0)
			return err_errno(e, "read %s", name);
		if (buf_add(b, chunk, (size_t)k) < 0)
			return err_set(e, ERR_INVALID, "%s is larger than %zu bytes", name, b->max);
		if ((size_t)k < want)
			return 0;
	}
}

int io_read_file(const char *path, struct buf *b, struct err *e)
{
	/* To open a pipe nobody writes to would wait for a writer. */
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is not a regular file", path);
	return io_read_end(fd, path, b, e);
}

void io_keep_std(void)
{
	int fd;

	/* The lowest free number is taken first. The wrong way round, so that a read or write still fails. */
	while ((fd = open("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO)
		if (fd == STDIN_FILENO && close(fd) == 0)
			open("/dev/null", O_WRONLY);
	if (fd >= 0)
		close(fd);
}

/* macOS has no pipe2(). */
int io_pipe(int fd[2], struct err *e)
{
	if (pipe(fd) < 0)
		return err_errno(e, "pipe");
	io_set_cloexec(fd[0], true);
	io_set_cloexec(fd[1], true);
	return 0;
}

void *io_map_shared(int fd, size_t *n)
{
	struct stat st;
	void *p;

	*n = 0;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return NULL;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	*n = (size_t)st.st_size;
	return p;
}

int io_socketpair(int fd[2], struct err *e)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
		return err_errno(e, "socketpair");
	io_set_cloexec(fd[0], true);
	io_set_cloexec(fd[1], true);
	return 0;
}

static int change_flag(int fd, int get, int set, int flag, bool on)
{
	int flags = fcntl(fd, get);

	if (flags < 0)
		return -1;
	return fcntl(fd, set, on ? flags | flag : flags & ~flag) < 0 ? -1 : 0;
}

int io_set_nonblock(int fd, bool on)
{
	return change_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

int io_set_cloexec(int fd, bool on)
{
	return change_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}
