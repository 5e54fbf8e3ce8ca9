/* netlink.h - lists that the kernel gives over netlink sockets. */
#ifndef LIMA_NETLINK_H
#define LIMA_NETLINK_H

#include <linux/netlink.h>

/* Sends req, a request with NLM_F_DUMP (its nlmsg_seq is set here), and gives fn each message of the answer, which is read to its
 * end even when it is of no use: else the next list could not begin. 0 when the list came whole. Else an errno value: fn's (it
 * returns 0 or one, and is not called again), that of the kernel's refusal, of the socket, or EAGAIN: what is listed has
 * changed meanwhile. */
int netlink_dump(int fd, struct nlmsghdr *req, int (*fn)(void *ctx, const struct nlmsghdr *h), void *ctx);

#endif
