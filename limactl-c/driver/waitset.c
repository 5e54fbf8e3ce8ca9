#include "limactl-c/driver/waitset.h"

#include <stdlib.h>
#include <unistd.h>

#include "limactl-c/base/mem.h"

#ifdef __linux__
#include <errno.h>
#include <sys/epoll.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

struct waitset {
	int fd;
};

struct waitset *waitset_new(struct err *e)
{
	struct waitset *w;
#ifdef __linux__
	int fd = epoll_create1(EPOLL_CLOEXEC);
#else
	int fd = kqueue();

	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
	if (fd < 0) {
		err_errno(e, "a set of descriptors to wait on");
		return NULL;
	}
	w = xcalloc(1, sizeof(*w));
	w->fd = fd;
	return w;
}

void waitset_free(struct waitset *w)
{
	if (!w)
		return;
	close(w->fd);
	free(w);
}

int waitset_fd(const struct waitset *w)
{
	return w->fd;
}

#ifdef __linux__
int waitset_put(struct waitset *w, int fd, bool output, struct err *e)
{
	struct epoll_event ev = { .events = EPOLLIN | (output ? EPOLLOUT : 0U), .data.fd = fd };

	if (epoll_ctl(w->fd, EPOLL_CTL_MOD, fd, &ev) < 0 &&
	    (errno != ENOENT || epoll_ctl(w->fd, EPOLL_CTL_ADD, fd, &ev) < 0))
		return err_errno(e, "wait on a descriptor");
	return 0;
}

void waitset_del(struct waitset *w, int fd)
{
	epoll_ctl(w->fd, EPOLL_CTL_DEL, fd, NULL);
}
#else
int waitset_put(struct waitset *w, int fd, bool output, struct err *e)
{
	struct kevent ev[2];

	EV_SET(&ev[0], fd, EVFILT_READ, EV_ADD, 0, 0, NULL);
	EV_SET(&ev[1], fd, EVFILT_WRITE, EV_ADD | (output ? EV_ENABLE : EV_DISABLE), 0, 0, NULL);
	return kevent(w->fd, ev, 2, NULL, 0, NULL) < 0 ? err_errno(e, "wait on a descriptor") : 0;
}

void waitset_del(struct waitset *w, int fd)
{
	struct kevent ev[2];

	EV_SET(&ev[0], fd, EVFILT_READ, EV_DELETE, 0, 0, NULL);
	EV_SET(&ev[1], fd, EVFILT_WRITE, EV_DELETE, 0, 0, NULL);
	kevent(w->fd, ev, 2, NULL, 0, NULL);
}
#endif
