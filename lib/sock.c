#include "lib/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"

enum { SOCK_FDS_MAX = 32 };

int sock_unix_addr(const char *path, struct sockaddr_un *sa, struct err *e)
{
	size_t n = strlen(path);

	if (n > SOCK_PATH_MAX)
		return err_set(e, ERR_INVALID,
			       "socket path \"%s\" has %zu bytes, at most %zu are possible: use a shorter folder or name",
			       path, n, SOCK_PATH_MAX);
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path, path, n + 1);
	return 0;
}

socklen_t sock_ip_addr(int family, const uint8_t *addr, uint16_t port, struct sockaddr_storage *sa)
{
	struct sockaddr_in *in = (struct sockaddr_in *)sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

	memset(sa, 0, sizeof(*sa));
	if (family == 6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, addr, 16);
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	memcpy(&in->sin_addr, addr, 4);
	return sizeof(*in);
}

static int new_socket(int family, bool nonblock, struct err *e)
{
#ifdef SOCK_CLOEXEC
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), 0);

	return fd >= 0 ? fd : err_errno(e, "socket");
#else
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		return err_errno(e, "socket");
	if (io_set_cloexec(fd, true) < 0 || (nonblock && io_set_nonblock(fd, true) < 0)) {
		err_errno(e, "fcntl");
		close(fd);
		return -1;
	}
	return fd;
#endif
}

int sock_connect_unix(const char *path, struct err *e)
{
	struct sockaddr_un sa;
	auto_close int fd = -1;

	if (sock_unix_addr(path, &sa, e) < 0 || (fd = new_socket(AF_UNIX, false, e)) < 0)
		return -1;
	while (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		if (errno != EINTR)
			return err_errno(e, "connect %s", path);
	}
	return steal_fd(&fd);
}

int sock_bind_unix(const char *path, struct err *e)
{
	struct sockaddr_un sa;
	struct err probe = { 0 };
	struct stat st;
	auto_close int fd = -1, other = -1;
	bool pending;

	if (sock_unix_addr(path, &sa, e) < 0)
		return -1;
	/* Only a socket nobody listens on is in the way; connecting to any other file is refused just the same. */
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_set(e, ERR_EXISTS, "%s is there and is not a socket", path);
	other = sock_start_connect((struct sockaddr *)&sa, sizeof(sa), &pending, &probe);
	/* EAGAIN: who listens is busy or stands still. */
	if (other >= 0 || probe.errnum == EAGAIN)
		return err_set(e, ERR_EXISTS, "%s: another process is listening there", path);
	if (probe.errnum == ECONNREFUSED)
		unlink(path);
	if ((fd = new_socket(AF_UNIX, true, e)) < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return err_errno(e, "bind %s", path);
	return steal_fd(&fd);
}

int sock_listen_unix(const char *path, mode_t mode, struct err *e)
{
	auto_close int fd = sock_bind_unix(path, e);

	if (fd < 0)
		return -1;
	if (chmod(path, mode) < 0 || listen(fd, SOCK_BACKLOG) < 0) {
		err_errno(e, "listen %s", path);
		unlink(path);
		return -1;
	}
	return steal_fd(&fd);
}

int sock_listen_tcp(const struct sockaddr *sa, socklen_t len, struct err *e)
{
	auto_close int fd = new_socket(sa->sa_family, true, e);
	int one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (sa->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, sa, len) < 0 || listen(fd, SOCK_BACKLOG) < 0)
		return err_errno(e, "listen");
	return steal_fd(&fd);
}

int sock_start_connect(const struct sockaddr *sa, socklen_t len, bool *pending, struct err *e)
{
	auto_close int fd = new_socket(sa->sa_family, true, e);

	if (fd < 0)
		return -1;
	*pending = false;
	if (connect(fd, sa, len) < 0) {
		if (errno != EINPROGRESS && errno != EINTR)
			return err_errno(e, "connect");
		*pending = true;
	}
	return steal_fd(&fd);
}

int sock_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 ? errno : err;
}

void sock_relay_options(int fd)
{
	static const struct {
		int level, name;
	} on[] = { { IPPROTO_TCP, TCP_NODELAY }, { SOL_SOCKET, SO_KEEPALIVE }, { SOL_SOCKET, SO_OOBINLINE } };
	const int one = 1;

	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		setsockopt(fd, on[i].level, on[i].name, &one, sizeof(one));
}

void sock_reset_on_close(int fd)
{
	struct linger l = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

ssize_t sock_send_fds(int fd, const void *p, size_t n, const int *fds, size_t nfds)
{
	union {
		char bytes[CMSG_SPACE(SOCK_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)p, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t k;

	if (nfds > SOCK_FDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (nfds) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		k = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (k < 0 && errno == EINTR);
	return k;
}

ssize_t sock_recv_fds(int fd, void *p, size_t n, int *fds, size_t *nfds)
{
	union {
		char bytes[CMSG_SPACE(SOCK_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = p, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	size_t room = *nfds;
	ssize_t k;

	*nfds = 0;
	do
		k = recvmsg(fd, &msg, 0);
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(got));
			io_set_cloexec(got, true);
			if (*nfds < room)
				fds[(*nfds)++] = got;
			else
				close(got);
		}
	}
	return k;
}
