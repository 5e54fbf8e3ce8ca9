#include "guestagent/zero_write.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"

static uint32_t *word(uint8_t *ring, uint32_t at)
{
	return (uint32_t *)(void *)(ring + at);
}

static void *map(int ring, size_t n, off_t at)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, at);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

void zero_write_close(struct zero_write *z)
{
	unmap(z->sq, z->sq_len);
	unmap(z->cq, z->cq_len);
	unmap(z->sqes, z->sqes_len);
	if (z->ring >= 0)
		close(z->ring);
	*z = (struct zero_write){ .ring = -1 };
}

static int open_ring(struct zero_write *z, struct err *e)
{
	struct io_uring_params p = { 0 };

	z->ring = (int)syscall(SYS_io_uring_setup, 1, &p);
	if (z->ring < 0)
		return err_errno(e, "io_uring");
	z->sq_len = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	z->cq_len = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	z->sqes_len = p.sq_entries * sizeof(struct io_uring_sqe);
	z->sq = map(z->ring, z->sq_len, IORING_OFF_SQ_RING);
	z->cq = map(z->ring, z->cq_len, IORING_OFF_CQ_RING);
	z->sqes = map(z->ring, z->sqes_len, IORING_OFF_SQES);
	if (!z->sq || !z->cq || !z->sqes)
		return err_errno(e, "io_uring: memory");
	z->sq_tail = p.sq_off.tail;
	z->sq_mask = *word(z->sq, p.sq_off.ring_mask);
	z->sq_array = p.sq_off.array;
	z->cq_head = p.cq_off.head;
	z->cq_tail = p.cq_off.tail;
	z->cq_mask = *word(z->cq, p.cq_off.ring_mask);
	z->cq_cqes = p.cq_off.cqes;
	return 0;
}

static bool is_done(struct zero_write *z)
{
	return __atomic_load_n(word(z->cq, z->cq_tail), __ATOMIC_ACQUIRE) != *word(z->cq, z->cq_head);
}

/* The result of the one request there is. */
static int result(struct zero_write *z)
{
	uint32_t *head = word(z->cq, z->cq_head);
	const struct io_uring_cqe *all = (const struct io_uring_cqe *)(const void *)(z->cq + z->cq_cqes);
	int res = all[*head & z->cq_mask].res;

	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	if (res >= 0)
		return 0;
	errno = -res;
	return -1;
}

/* Hands it over and waits. */
static int carry_out(struct zero_write *z)
{
	unsigned wanted = 1;

	do {
		long k = syscall(SYS_io_uring_enter, z->ring, wanted, 1, IORING_ENTER_GETEVENTS, NULL, 0);

		if (k < 0 && errno != EINTR)
			return -1;
		if (k > 0)
			wanted = 0; /* it was taken; the waiting may have been interrupted */
	} while (!is_done(z));
	return 0;
}

int zero_write(struct zero_write *z, int fd)
{
	static char nothing[1];
	struct io_uring_sqe *sqe;
	uint32_t *tail, slot;

	if (z->ring < 0) {
		errno = ENOSYS;
		return -1;
	}
	tail = word(z->sq, z->sq_tail);
	slot = *tail & z->sq_mask;
	sqe = (struct io_uring_sqe *)z->sqes + slot;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_WRITE;
	sqe->fd = fd;
	sqe->addr = (uint64_t)(uintptr_t)nothing;
	word(z->sq, z->sq_array)[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (carry_out(z) == 0)
		return result(z);
	zero_write_close(z); /* what became of the request is not known */
	errno = EIO;
	return -1;
}

/* Kernels before 5.17 did not tell. The file is opened again: newer ones tell nobody of what is done to a file without a name by
 * the descriptor that made it. */
static int try_it(struct zero_write *z, struct err *e)
{
	auto_close int file = memfd_create("zero_write", MFD_CLOEXEC), watcher = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd told = { .fd = watcher, .events = POLLIN };
	auto_close int again = -1;
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	again = open(link, O_WRONLY | O_CLOEXEC);
	if (again < 0 || watcher < 0 || inotify_add_watch(watcher, link, IN_MODIFY) < 0 || zero_write(z, again) < 0)
		return err_errno(e, "io_uring: a write of nothing");
	return poll(&told, 1, 0) == 1 ? 0 : err_set(e, ERR_STATE, "io_uring: this kernel does not tell of a write of nothing");
}

int zero_write_open(struct zero_write *z, struct err *e)
{
	*z = (struct zero_write){ .ring = -1 };
	if (open_ring(z, e) == 0 && try_it(z, e) == 0)
		return 0;
	zero_write_close(z);
	return -1;
}
