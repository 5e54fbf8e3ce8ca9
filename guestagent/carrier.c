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

#include "guestagent/shared.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/sock.h"

enum {
	CARRIER_EVENTS = EPOLLIN | EPOLLRDHUP | EPOLLET,
	CARRIER_BUFFER = 128 * 1024,
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

	if (end == name || (*end && *end != ',') || fd < 3 || fd > INT_MAX)
		return err_set(e, ERR_USAGE, "\"%s\" is no descriptor to listen on", name);
	if (io_set_cloexec((int)fd, true) < 0 || io_set_nonblock((int)fd, true) < 0 || listen((int)fd, 16) < 0)
		return err_errno(e, "listen on descriptor %ld", fd);
	return (int)fd;
}

/* One at a time: the next one waits in the socket's queue. */
static void await_peer(struct ga_carrier *c)
{
	if (ga_accept_start(&c->listener, c->listen_fd) < 0)
		c->loop->quit = true;
}

/* Room for output is told only to who waits for it, or each answer would wake us once more when it is taken. It also tells
 * of a port's next host. */
static void set_interest(struct ga_carrier *c)
{
	ga_loop_change(c->loop, &c->watch, CARRIER_EVENTS | (c->writable && !c->alone ? 0 : EPOLLOUT));
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

/* Fills buf as far as bytes are there. Returns the count; *more: unread bytes may be left; *end: the peer is gone. hup: the end,
 * or an error, stands behind them. */
static size_t fill(struct ga_carrier *c, uint8_t *buf, size_t size, bool hup, bool *more, bool *end)
{
	size_t n = 0;

	/* A virtio port gives at most a page a read, so several make one feed. */
	while (n < size) {
		ssize_t k = read(c->watch.fd, buf + n, size - n);

		if (k > 0) {
			n += (size_t)k;
			/* A socket that gave less than it was asked for has no more, and tells when it has. */
			if (c->port || hup || n == size)
				continue;
			*more = false;
			return n;
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

static void read_all(struct ga_carrier *c, bool hup)
{
	static uint8_t buf[CARRIER_BUFFER];
	bool more = true, end = false;

	for (int i = 0; more && i < CARRIER_ROUNDS; i++) {
		if (sizeof(buf) - c->len < MUX_UNIT_MAX) {
			memmove(buf, buf + c->at, c->len - c->at);
			c->len -= c->at;
			c->at = 0;
		}
		c->len += fill(c, buf + c->len, sizeof(buf) - c->len, hup, &more, &end);
		c->at += mux_feed(c->mux, buf + c->at, c->len - c->at);
		if (c->at == c->len)
			c->at = c->len = 0;
	}
	if (end)
		connection_gone(c);
	else if (more)
		set_interest(c); /* tells the rest again */
}

static void on_event(struct ga_watch *w, uint32_t events)
{
	struct ga_carrier *c = ga_of(w, struct ga_carrier, watch);
	bool room = (events & EPOLLOUT) && !c->writable, alone = c->port && (events & EPOLLHUP), change = alone != c->alone;

	c->writable |= room;
	c->alone = alone;
	if (change && c->alone_changed)
		c->alone_changed(c);
	if (room || change)
		set_interest(c);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR))
		read_all(c, events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR));
}

/* fd is ours from here on. */
static int connected(struct ga_carrier *c, int fd)
{
	c->watch.fd = fd;
	c->at = c->len = 0;
	c->writable = true;
	if (ga_loop_add(c->loop, &c->watch, CARRIER_EVENTS) < 0) {
		c->watch.fd = -1;
		close(fd);
		return -1;
	}
	mux_carrier_open(c->mux);
	return 0;
}

static void on_peer(struct ga_accept *a, int fd)
{
	struct ga_carrier *c = ga_of(a, struct ga_carrier, listener);

	ga_accept_stop(a);
	if (connected(c, fd) < 0)
		c->loop->quit = true;
}

static const struct {
	const char *prefix;
	bool port, listens;
	int (*open)(const char *name, struct err *e);
	void (*share)(struct mux *m, const char *name); /* NULL: there is no memory beside it */
} kinds[] = {
	{ "virtio:", true, false, open_port, ga_share_device },
	{ "unix:", false, false, open_unix, NULL },
	{ "listen:", false, true, open_listener, ga_share_inherited },
};

int ga_carrier_open(struct ga_carrier *c, struct ga_loop *loop, struct mux *mux, const char *spec, struct err *e)
{
	*c = (struct ga_carrier){ .watch = { -1, on_event }, .listen_fd = -1, .loop = loop,
				  .listener = { .loop = loop, .watch.fd = -1, .name = "the channel", .take = on_peer },
				  .mux = mux, .alone_changed = c->alone_changed };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);
		int fd;

		if (strncmp(spec, kinds[i].prefix, n) != 0)
			continue;
		fd = kinds[i].open(spec + n, e);
		if (fd < 0)
			return -1;
		c->port = kinds[i].port;
		if (kinds[i].share)
			kinds[i].share(mux, spec + n);
		if (kinds[i].listens) {
			c->listen_fd = fd;
			await_peer(c);
			return 0;
		}
		return connected(c, fd) < 0 ? err_errno(e, "epoll_ctl") : 0;
	}
	return err_set(e, ERR_USAGE, "carrier \"%s\" is neither virtio:NAME, unix:PATH nor listen:FD[,MEMORY]", spec);
}

/* False: there is nothing to write. *k: what writev() said. A port takes each part by itself, and the machine is told of each,
 * which costs an emulated processor less than copying a long payload behind its header. */
static bool write_some(struct ga_carrier *c, ssize_t *k)
{
	struct iovec part[MUX_PARTS];
	size_t n = mux_output_parts(c->mux, part);

	*k = n ? writev(c->watch.fd, part, (int)n) : 0;
	return n > 0;
}

void ga_carrier_flush(struct ga_carrier *c)
{
	while (c->watch.fd >= 0 && c->writable) {
		ssize_t k;
		int errnum;

		if (!write_some(c, &k))
			return;
		errnum = k < 0 ? errno : 0;
		mux_output_done(c->mux, k > 0 ? (size_t)k : 0);
		if (errnum == EAGAIN) {
			c->writable = false;
			set_interest(c);
		} else if (k == 0 || (errnum && errnum != EINTR)) {
			connection_gone(c);
		}
	}
}

void ga_carrier_close(struct ga_carrier *c)
{
	ga_loop_close(c->loop, &c->watch);
	if (c->listen_fd >= 0)
		ga_accept_stop(&c->listener);
}
