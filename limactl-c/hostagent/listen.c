#include "limactl-c/hostagent/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/acceptor.h"

struct listener {
	struct conns *conns;
	struct tally *tally;
	enum conn_kind kind;
	struct acceptor *acceptor;
	char *path; /* of a unix socket */
	uint8_t request[AP_PATH_MAX + 32];
	size_t request_len;
};

static void on_connection(void *ctx, int fd)
{
	struct listener *ln = ctx;

	conn_start(ln->conns, ln->tally, fd, ln->kind, ln->request, ln->request_len, NULL, 0);
}

static struct listener *listener_new(struct loop *l, struct conns *cs, struct tally *t, int fd)
{
	struct listener *ln = xcalloc(1, sizeof(*ln));

	ln->conns = cs;
	ln->tally = tally_keep(t);
	ln->acceptor = acceptor_new(l, fd, on_connection, ln);
	return ln;
}

void listen_kind(struct listener *ln, enum conn_kind kind)
{
	ln->kind = kind;
}

void listen_retarget(struct listener *ln, const struct ap_open *guest)
{
	ssize_t n = ap_open_pack(guest, ln->request, sizeof(ln->request));

	if (n < 0)
		abort(); /* an address and a path of AP_PATH_MAX always fit */
	ln->request_len = (size_t)n;
}

struct listener *listen_tcp(struct loop *l, struct conns *cs, struct tally *t, const struct ap_port *host,
			    const struct ap_open *guest, struct err *e)
{
	struct sockaddr_storage ss;
	socklen_t len = sock_ip_addr(host->family, host->addr, host->port, &ss);
	int fd = sock_listen_tcp((struct sockaddr *)&ss, len, e);
	struct listener *ln;

	if (fd < 0)
		return NULL;
	sock_relay_options(fd);
	ln = listener_new(l, cs, t, fd);
	listen_kind(ln, CONN_PORT);
	listen_retarget(ln, guest);
	listen_accept(ln);
	return ln;
}

uint16_t listen_port(const struct listener *ln)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getsockname(acceptor_fd(ln->acceptor), (struct sockaddr *)&ss, &len) < 0)
		abort(); /* it is bound */
	/* the port is at the same place in both families */
	return ntohs(((const struct sockaddr_in *)(const void *)&ss)->sin_port);
}

const char *listen_reason(int errnum, unsigned port, char out[LISTEN_REASON_MAX])
{
	if (errnum != EACCES)
		return strerror(errnum);
#ifdef __linux__
	snprintf(out, LISTEN_REASON_MAX,
		 "port %u of this host needs root, or net.ipv4.ip_unprivileged_port_start of at most %u", port, port);
#else
	snprintf(out, LISTEN_REASON_MAX, "port %u of this host needs root", port);
#endif
	return out;
}

/* Wider rights come last: until then nobody else can connect. */
static int give_access(const char *path, mode_t mode, const char *group, struct err *e)
{
	const struct group *g = group ? getgrnam(group) : NULL;

	if (group && !g)
		return err_set(e, ERR_INVALID, "%s: this host has no group \"%s\"", path, group);
	if (g && chown(path, (uid_t)-1, g->gr_gid) < 0)
		return err_errno(e, "%s: group \"%s\"", path, group);
	return chmod(path, mode) < 0 ? err_errno(e, "%s", path) : 0;
}

struct listener *listen_unix(struct loop *l, struct conns *cs, struct tally *t, const char *path, mode_t mode,
			     const char *group, const struct ap_open *guest, struct err *e)
{
	auto_free char *dir = fs_parent(path);
	struct listener *ln;
	int fd;

	if (fs_mkdirs(dir, 0700, e) < 0)
		return NULL;
	fd = fs_listen_unix(path, 0600, e);
	if (fd < 0)
		return NULL;
	ln = listener_new(l, cs, t, fd);
	ln->path = xstrdup(path);
	listen_retarget(ln, guest);
	if (give_access(path, mode, group, e) == 0)
		return ln;
	listen_free(ln);
	return NULL;
}

void listen_accept(struct listener *ln)
{
	acceptor_start(ln->acceptor);
}

void listen_free(struct listener *ln)
{
	if (!ln)
		return;
	acceptor_free(ln->acceptor);
	if (ln->path)
		unlink(ln->path);
	free(ln->path);
	tally_drop(ln->tally);
	free(ln);
}
