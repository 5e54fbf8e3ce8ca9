#include "guestagent/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ANSWER_MAX = 65536 };

struct dump {
	uint32_t seq;
	int (*fn)(void *ctx, const struct nlmsghdr *h);
	void *ctx;
	bool complete;
	int error;
};

static int refusal(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	return h->nlmsg_len >= NLMSG_LENGTH(sizeof(*e)) && e->error < 0 ? -e->error : EPROTO;
}

/* One datagram of the answer. */
static void take(struct dump *d, const char *p, ssize_t len)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)p;

	for (; NLMSG_OK(h, len) && !d->complete; h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_seq != d->seq)
			continue;
		d->complete = h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR;
		if (d->error)
			continue;
		if (h->nlmsg_type == NLMSG_ERROR)
			d->error = refusal(h);
		else if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			d->error = EAGAIN;
		else if (!d->complete)
			d->error = d->fn(d->ctx, h);
	}
}

int netlink_dump(int fd, struct nlmsghdr *req, int (*fn)(void *ctx, const struct nlmsghdr *h), void *ctx)
{
	static _Alignas(struct nlmsghdr) char buf[ANSWER_MAX];
	static uint32_t seq;
	struct dump d = { .seq = ++seq, .fn = fn, .ctx = ctx };

	req->nlmsg_seq = d.seq;
	if (send(fd, req, req->nlmsg_len, 0) < 0)
		return errno;
	while (!d.complete) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n > 0)
			take(&d, buf, n);
		else if (n == 0 || errno != EINTR)
			return n == 0 ? EPIPE : errno;
	}
	return d.error;
}
