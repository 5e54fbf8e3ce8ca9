#include "limactl-c/hostagent/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

/* Connections taken in one go, so that one busy port does not hold up the rest. */
enum { ACCEPT_BATCH = 16 };

struct listener {
	struct conns *conns;
	int fd;
	struct watch *watch;
	char *path; /* of a unix socket */
	uint8_t request[AP_PATH_MAX + 32];
	size_t request_len;
};

int listen_next(int fd)
{
	static int spare = -1; /* given up for a moment to take and drop a connection when there is no other */
	int one = 1, c;

	if (spare < 0)
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
#ifdef __linux__
	c = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
	c = accept(fd, NULL, NULL);
	if (c >= 0 && (io_set_nonblock(c, true) < 0 || io_set_cloexec(c, true) < 0)) {
		close(c);
		c = -1;
	}
#endif
	if (c < 0 && (errno == EMFILE || errno == ENFILE) && spare >= 0) {
		close(spare);
		c = accept(fd, NULL, NULL);
		if (c >= 0)
			close(c);
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		log_warn("too many open files: a connection was dropped");
		return -1;
	}
	if (c >= 0)
		setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* fails on a unix socket, which is fine */
	return c;
}

static void on_connection(void *ctx, unsigned events)
{
	struct listener *ln = ctx;
	int fd;

	(void)events;
	for (int i = 0; i < ACCEPT_BATCH && (fd = listen_next(ln->fd)) >= 0; i++)
		conn_start(ln->conns, fd, false, ln->request, ln->request_len, NULL, 0);
}

static struct listener *listener_new(struct loop *l, struct conns *cs, int fd)
{
	struct listener *ln = xcalloc(1, sizeof(*ln));

	ln->conns = cs;
	ln->fd = fd;
	ln->watch = watch_new(l, fd, on_connection, ln);
	if (!ln->watch)
		abort(); /* a socket can always be watched */
	return ln;
}

void listen_retarget(struct listener *ln, const struct ap_port *guest)
{
	struct ap_open o = { .kind = AP_OPEN_TCP, .family = guest->family, .port = guest->port };
	ssize_t n;

	memcpy(o.addr, guest->addr, sizeof(o.addr));
	n = ap_open_pack(&o, ln->request, sizeof(ln->request));
	if (n < 0)
		abort(); /* an address always fits */
	ln->request_len = (size_t)n;
}

struct listener *listen_tcp(struct loop *l, struct conns *cs, const struct ap_port *host, const struct ap_port *guest,
			    struct err *e)
{
	struct sockaddr_storage ss;
	socklen_t len = sock_ip_addr(host->family, host->addr, host->port, &ss);
	int fd = sock_listen_tcp((struct sockaddr *)&ss, len, e);
	struct listener *ln;

	if (fd < 0)
		return NULL;
	ln = listener_new(l, cs, fd);
	listen_retarget(ln, guest);
	listen_accept(ln);
	return ln;
}

struct listener *listen_unix(struct loop *l, struct conns *cs, const char *host_path, const char *guest_path,
			     struct err *e)
{
	struct ap_open o = { .kind = AP_OPEN_UNIX };
	auto_free char *dir = fs_parent(host_path);
	struct listener *ln;
	ssize_t n;
	int fd;

	if (fs_mkdirs(dir, 0700, e) < 0)
		return NULL;
	fd = fs_listen_unix(host_path, 0600, e);
	if (fd < 0)
		return NULL;
	ln = listener_new(l, cs, fd);
	ln->path = xstrdup(host_path);
	snprintf(o.path, sizeof(o.path), "%s", guest_path);
	n = ap_open_pack(&o, ln->request, sizeof(ln->request));
	if (n < 0 || strlen(guest_path) >= sizeof(o.path)) {
		err_set(e, ERR_INVALID, "guest socket path \"%s\" is too long", guest_path);
		listen_free(ln);
		return NULL;
	}
	ln->request_len = (size_t)n;
	return ln;
}

void listen_accept(struct listener *ln)
{
	watch_set(ln->watch, WATCH_READ);
}

void listen_free(struct listener *ln)
{
	if (!ln)
		return;
	watch_free(ln->watch);
	close(ln->fd);
	if (ln->path)
		unlink(ln->path);
	free(ln->path);
	free(ln);
}
