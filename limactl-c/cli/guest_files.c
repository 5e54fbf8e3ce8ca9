#include "limactl-c/cli/guest_files.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/execproto.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/haclient.h"

enum { IN_MAX = 256 * 1024 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

void guest_files_catch(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_interrupt };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
}

void guest_files_obey(void)
{
	if (!interrupted)
		return;
	signal(interrupted, SIG_DFL);
	raise(interrupted);
}

static int lost(const struct guest_files *g, struct err *e)
{
	return err_set(e, ERR_STATE, "the connection to instance \"%s\" was lost; the same command goes on where this one ended",
		       g->inst->name);
}

/* Waits for any of events; returns those that came, -1 when interrupted. */
static int wait_for(const struct guest_files *g, short events, struct err *e)
{
	struct pollfd p = { .fd = g->fd, .events = events };

	while (!interrupted) {
		if (poll(&p, 1, -1) > 0)
			return p.revents;
		if (errno != EINTR)
			return err_errno(e, "poll");
	}
	return err_set(e, ERR_STATE, "interrupted");
}

/* --- in --- */

/* At least one byte, at most n. */
static ssize_t take(struct guest_files *g, void *p, size_t n, struct err *e)
{
	ssize_t k;

	if (g->in.len) {
		n = n < g->in.len ? n : g->in.len;
		memcpy(p, g->in.data, n);
		buf_drop_front(&g->in, n);
		return (ssize_t)n;
	}
	do {
		if (wait_for(g, POLLIN, e) < 0)
			return -1;
		k = recv(g->fd, p, n, MSG_DONTWAIT);
	} while (k < 0 && (errno == EAGAIN || errno == EINTR));
	return k <= 0 ? lost(g, e) : k;
}

static int take_full(struct guest_files *g, void *p, size_t n, struct err *e)
{
	for (size_t got = 0; got < n;) {
		ssize_t k = take(g, (char *)p + got, n - got, e);

		if (k < 0)
			return -1;
		got += (size_t)k;
	}
	return 0;
}

/* Why it ended without saying it by the protocol. */
static int ended(struct guest_files *g, struct err *e)
{
	g->said[g->said_len] = '\0';
	text_make_plain(g->said);
	while (g->said_len && (g->said[g->said_len - 1] == '?' || g->said[g->said_len - 1] == ' '))
		g->said[--g->said_len] = '\0';
	return err_set(e, ERR_STATE, "instance \"%s\" ended the copy%s%s", g->inst->name, *g->said ? ": " : "", g->said);
}

/* The next record; g->left is then what it has of output. */
static int next_record(struct guest_files *g, struct err *e)
{
	uint8_t header[EP_HEADER], payload[EP_PAYLOAD_MAX];
	enum ep_type type;
	size_t len, room = sizeof(g->said) - 1 - g->said_len;

	if (take_full(g, header, sizeof(header), e) < 0)
		return -1;
	if (ep_header_unpack(header, &type, &len) < 0)
		return fstream_malformed(e);
	if (type == EP_STDOUT) {
		g->left = len;
		return 0;
	}
	if (type != EP_STDERR && type != EP_EXIT && type != EP_FAILED)
		return fstream_malformed(e);
	if (take_full(g, payload, len, e) < 0)
		return -1;
	if (type != EP_EXIT) {
		memcpy(g->said + g->said_len, payload, len < room ? len : room);
		g->said_len += len < room ? len : room;
	}
	g->ended = type != EP_STDERR;
	return 0;
}

static ssize_t read_output(void *ctx, void *p, size_t n, struct err *e)
{
	struct guest_files *g = ctx;
	ssize_t k;

	while (!g->left && !g->ended)
		if (next_record(g, e) < 0)
			return -1;
	if (!g->left)
		return ended(g, e);
	k = take(g, p, n < g->left ? n : g->left, e);
	if (k > 0)
		g->left -= (size_t)k;
	return k;
}

/* --- out --- */

/* What the guest says while we write is little, unless it means harm. */
static int set_aside(struct guest_files *g, struct err *e)
{
	char *to = buf_reserve(&g->in, EP_PAYLOAD_MAX);
	ssize_t k = to ? recv(g->fd, to, EP_PAYLOAD_MAX, MSG_DONTWAIT) : -1;

	if (!to)
		return fstream_malformed(e);
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k <= 0)
		return lost(g, e);
	buf_commit(&g->in, (size_t)k);
	return 0;
}

static int send_all(struct guest_files *g, struct iovec *v, size_t count, struct err *e)
{
	while (count) {
		struct msghdr m = { .msg_iov = v, .msg_iovlen = count };
		ssize_t k = sendmsg(g->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		int events;

		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return lost(g, e);
		if (k < 0) {
			events = wait_for(g, POLLIN | POLLOUT, e);
			if (events < 0 || (events & POLLIN && set_aside(g, e) < 0))
				return -1;
			continue;
		}
		for (; count && (size_t)k >= v->iov_len; v++, count--)
			k -= (ssize_t)v->iov_len;
		if (count) {
			v->iov_base = (char *)v->iov_base + k;
			v->iov_len -= (size_t)k;
		}
	}
	return 0;
}

static int write_input(void *ctx, const void *p, size_t n, struct err *e)
{
	struct guest_files *g = ctx;

	while (n) {
		uint8_t header[EP_HEADER];
		size_t part = n < EP_PAYLOAD_MAX ? n : EP_PAYLOAD_MAX;
		struct iovec v[] = { { header, sizeof(header) }, { (void *)p, part } };

		ep_header_pack(header, EP_STDIN, part);
		if (send_all(g, v, 2, e) < 0)
			return -1;
		p = (const char *)p + part;
		n -= part;
	}
	return 0;
}

const struct fstream_ops guest_files_ops = { .read = read_output, .write = write_input };

/* --- the whole --- */

static int send_start(struct guest_files *g, const struct ep_start *start, struct err *e)
{
	uint8_t payload[EP_START_MAX], header[EP_HEADER];
	ssize_t n = ep_start_pack(start, payload, sizeof(payload));
	struct iovec v[] = { { header, sizeof(header) }, { payload, n < 0 ? 0 : (size_t)n } };

	if (n < 0)
		return err_set(e, ERR_USAGE, "the paths are too long: at most %d bytes in all", EP_START_MAX);
	ep_header_pack(header, EP_START, (size_t)n);
	return send_all(g, v, 2, e);
}

int guest_files_open(struct guest_files *g, const struct inst *i, const char *const *word, size_t words, struct err *e)
{
	struct ep_start start = { .files = true, .term = "", .workdir = "", .shell = "", .argc = words };

	*g = (struct guest_files){ .inst = i, .fd = -1, .in = BUF_INIT(IN_MAX) };
	for (size_t n = 0; n < words; n++)
		start.argv[n] = word[n];
	g->fd = hac_exec(i->dir, &g->in, e);
	return g->fd < 0 ? hac_not_running(i, e) : send_start(g, &start, e);
}

void guest_files_close(struct guest_files *g)
{
	if (g->fd >= 0)
		close(steal_fd(&g->fd));
	buf_free(&g->in);
}
