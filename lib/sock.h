/* sock.h - unix and TCP sockets: listen and connect, path length, close-on-exec. */
#ifndef LIMA_SOCK_H
#define LIMA_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "lib/err.h"

/* Bytes a unix socket path may have, without its NUL: 107 on Linux, 103 on macOS. */
#define SOCK_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

enum { SOCK_BACKLOG = 1024 }; /* connections that wait until they are accepted */

/* All descriptors returned are close-on-exec and non-blocking unless said; the caller owns them. */

/* Binds to path; removes a file left there by a dead listener, refuses when a living one answers. It does not listen yet,
 * so nobody can connect. */
int sock_bind_unix(const char *path, struct err *e);
/* The same, and listens there with mode. It follows a link that somebody else puts at path meanwhile: only for folders that
 * nobody less trusted writes to. */
int sock_listen_unix(const char *path, mode_t mode, struct err *e);

/* Connects at once or fails; ERR_SYS with ENOENT or ECONNREFUSED when nobody listens. Blocking descriptor. */
int sock_connect_unix(const char *path, struct err *e);

/* Listens on a TCP address. SO_REUSEADDR is set, so lingering connections do not block the port. */
int sock_listen_tcp(const struct sockaddr *sa, socklen_t len, struct err *e);

/* Starts a TCP or unix connect; *pending says whether it is still under way (wait for POLLOUT, then sock_error). */
int sock_start_connect(const struct sockaddr *sa, socklen_t len, bool *pending, struct err *e);

int sock_error(int fd); /* SO_ERROR, as an errno value */

/* For a TCP connection that is relayed, or a listening socket whose connections inherit it: small writes are not held
 * back, a peer that vanished is noticed in the kernel's own time (tcp_keepalive_time), urgent bytes stay where they were
 * sent in the stream. */
void sock_relay_options(int fd);

/* Makes close() send a reset instead of an orderly end (TCP; ignored elsewhere). */
void sock_reset_on_close(int fd);

/* Fills sa for a path; ERR_INVALID with the number of bytes when it does not fit. */
int sock_unix_addr(const char *path, struct sockaddr_un *sa, struct err *e);

/* Fills sa for an address of family 4 or 6 (network order) and a port; returns its length. */
socklen_t sock_ip_addr(int family, const uint8_t *addr, uint16_t port, struct sockaddr_storage *sa);

/* Sends n bytes and nfds descriptors in one message / receives the same; -1 with errno set.
 * sock_recv_fds returns the byte count and sets *nfds to the number received (at most its value on entry);
 * received descriptors are close-on-exec and the caller's. */
ssize_t sock_send_fds(int fd, const void *p, size_t n, const int *fds, size_t nfds);
ssize_t sock_recv_fds(int fd, void *p, size_t n, int *fds, size_t *nfds);

#endif
