#include "guestagent/carrier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/sock.h"

enum {
	CARRIER_EVENTS = EPOLLIN | EPOLLRDHUP | EPOLLET,
	CARRIER_BUFFER = 64 * 1024,
	CARRIER_ROUNDS = 8, /* buffers read before others have their turn */
};

/* Without udev there is no /dev/virtio-ports; the kernel tells each port's name in sysfs. */
static int open_port_by_sysfs(const char *name, struct err *e)
{
	auto_closedir DIR *d = opendir("/sys/class/virtio-ports");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[300], text[256] = "";
		int fd;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%.200s/name", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (io_read_full(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
		text[strcspn(text, "\n")] = '\0';
		if (strcmp(text, name) != 0)
			continue;
		snprintf(path, sizeof(path), "/dev/%.200s", entry->d_name);
		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		return fd >= 0 ? fd : err_errno(e, "open %s", path);
	}
	return err_set(e, ERR_NOTFOUND, "there is no virtio-serial port \"%s\"", name);
}

static int open_port(const char *name, struct err *e)
{
	char path[256];
	int fd;

	if (snprintf(path, sizeof(path), "/dev/virtio-ports/%s", name) < (int)sizeof(path)) {
		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT)
			return err_errno(e, "open %s", path);
	}
	return open_port_by_sysfs(name, e);
}

static int open_unix(const char *path, struct err *e)
{
	int fd = sock_connect_unix(path, e);

	if (fd >= 0 && io_set_nonblock(fd, true) < 0) {
		err_errno(e, "fcntl");
		close(fd);
		return -1;
	}
	return fd;
}

/* Listening again tells who connects which process to find here. */
static int open_listener(const char *name, struct err *e)
{
	char *end;
	long fd = strtol(name, &end, 10);

	if (end == name || *end || fd < 3 || fd > INT_MAX)
		return err_set(e, ERR_USAGE, "\"%s\" is no descriptor to listen on", name);
	if (io_set_cloexec((int)fd, true) < 0 || io_set_nonblock((int)fd, true) < 0 || listen((int)fd, 16) < 0)
		return err_errno(e, "listen on descriptor %ld", fd);
	return (int)fd;
}

/* One at a time: the next one waits in the socket's queue. */
static void await_peer(struct ga_carrier *c)
{
	c->listener.fd = c->listen_fd;
	if (ga_loop_add(c->loop, &c->listener, EPOLLIN) < 0)
		c->loop->quit = true;
}

/* Room for output is told only to who waits for it, or each answer would wake us once more when it is taken. */
static void set_interest(struct ga_carrier *c)
{
	ga_loop_change(c->loop, &c->watch, CARRIER_EVENTS | (c->writable ? 0 : EPOLLOUT));
}

static void connection_gone(struct ga_carrier *c)
{
	ga_loop_close(c->loop, &c->watch);
	mux_carrier_lost(c->mux);
	if (c->listen_fd >= 0)
		await_peer(c);
	else
		c->loop->quit = true;
}

/* Fills buf as far as bytes are there. Returns the count; *more: unread bytes may be left; *end: the peer is gone. */
static size_t fill(struct ga_carrier *c, uint8_t *buf, size_t size, bool *more, bool *end)
{
	size_t n = 0;

	/* A virtio port gives at most a page a read, so several make one feed. */
	while (n < size) {
		ssize_t k = read(c->watch.fd, buf + n, size - n);

		if (k > 0) {
			n += (size_t)k;
			continue;
		}
		if (k < 0 && errno == EINTR)
			continue;
		*more = false;
		/* A port without a host reads as its end, but the next host comes by the same port. */
		*end = k == 0 ? !c->port : errno != EAGAIN;
		return n;
	}
	return n;
}

static void read_all(struct ga_carrier *c)
{
	static uint8_t buf[CARRIER_BUFFER];
	bool more = true, end = false;

	for (int i = 0; more && i < CARRIER_ROUNDS; i++) {
		size_t n = fill(c, buf, sizeof(buf), &more, &end);

		if (n)
			mux_feed(c->mux, buf, n);
	}
	if (end)
		connection_gone(c);
	else if (more)
		set_interest(c); /* tells the rest again */
}

static void on_event(struct ga_watch *w, uint32_t events)
{
	struct ga_carrier *c = ga_of(w, struct ga_carrier, watch);

	if ((events & EPOLLOUT) && !c->writable) {
		c->writable = true;
		set_interest(c);
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR))
		read_all(c);
}

/* fd is ours from here on. */
static int connected(struct ga_carrier *c, int fd)
{
	c->watch.fd = fd;
	c->writable = true;
	if (ga_loop_add(c->loop, &c->watch, CARRIER_EVENTS) < 0) {
		c->watch.fd = -1;
		close(fd);
		return -1;
	}
	mux_carrier_open(c->mux);
	return 0;
}

static void on_peer(struct ga_watch *w, uint32_t events)
{
	struct ga_carrier *c = ga_of(w, struct ga_carrier, listener);
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0)
		return;
	ga_loop_del(c->loop, w);
	if (connected(c, fd) < 0)
		c->loop->quit = true;
}

static const struct {
	const char *prefix;
	bool port, listens;
	int (*open)(const char *name, struct err *e);
} kinds[] = {
	{ "virtio:", true, false, open_port },
	{ "unix:", false, false, open_unix },
	{ "listen:", false, true, open_listener },
};

int ga_carrier_open(struct ga_carrier *c, struct ga_loop *loop, struct mux *mux, const char *spec, struct err *e)
{
	*c = (struct ga_carrier){ .watch = { -1, on_event }, .listener = { -1, on_peer }, .listen_fd = -1,
				  .loop = loop, .mux = mux };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);
		int fd;

		if (strncmp(spec, kinds[i].prefix, n) != 0)
			continue;
		fd = kinds[i].open(spec + n, e);
		if (fd < 0)
			return -1;
		c->port = kinds[i].port;
		if (kinds[i].listens) {
			c->listen_fd = fd;
			await_peer(c);
			return 0;
		}
		return connected(c, fd) < 0 ? err_errno(e, "epoll_ctl") : 0;
	}
	return err_set(e, ERR_USAGE, "carrier \"%s\" is neither virtio:NAME, unix:PATH nor listen:FD", spec);
}

void ga_carrier_flush(struct ga_carrier *c)
{
	const uint8_t *p;
	size_t n;

	while (c->watch.fd >= 0 && c->writable && (n = mux_output(c->mux, &p)) > 0) {
		ssize_t k = write(c->watch.fd, p, n);

		if (k > 0) {
			mux_output_done(c->mux, (size_t)k);
		} else if (k < 0 && errno == EAGAIN) {
			c->writable = false;
			set_interest(c);
		} else if (k == 0 || errno != EINTR) {
			connection_gone(c);
		}
	}
}

void ga_carrier_close(struct ga_carrier *c)
{
	ga_loop_close(c->loop, &c->watch);
	if (c->listen_fd >= 0)
		ga_loop_del(c->loop, &c->listener);
}
