/* watcher - tells what changes in shared folders. Run by the host agent:
 *   watcher MOUNT=FOLDER...
 * with a socket as descriptor 3, on which records go (lib/fevent.h). It ends with the socket.
 *
 * While nothing changes it sleeps, without a deadline. While the socket takes nothing it goes on listening, and keeps what it
 * hears: each path once, and when even that is too much, since when everything has to be looked at. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/watcher/tree.h"

enum { CARRIER = 3, OUT_SIZE = 64 * 1024 };

static struct {
	struct pending *pending;
	struct tree *tree[FE_MOUNTS_MAX];
	size_t trees;
	uint8_t out[OUT_SIZE];
	size_t sent, filled;
	bool blocked; /* the socket takes no more for now */
	uint64_t empty_at; /* ns since 1970, when nothing was pending last */
} w;

static int add(const char *arg, struct err *e)
{
	char *end;
	unsigned long mount = strtoul(arg, &end, 10);

	if (end == arg || *end != '=' || end[1] != '/' || mount >= FE_MOUNTS_MAX || w.trees == FE_MOUNTS_MAX)
		return err_set(e, ERR_USAGE, "usage: watcher MOUNT=FOLDER...");
	w.tree[w.trees] = tree_new(w.pending, (unsigned)mount, end + 1, e);
	if (!w.tree[w.trees])
		return -1;
	w.trees++;
	return 0;
}

/* False: nobody listens any more. */
static bool send_out(void)
{
	w.blocked = false;
	while (w.sent < w.filled || pending_wait(w.pending, clock_ms()) == 0) {
		ssize_t k;

		if (w.sent == w.filled) {
			w.sent = 0;
			w.filled = pending_take(w.pending, w.out, sizeof(w.out));
		}
		k = send(CARRIER, w.out + w.sent, w.filled - w.sent, MSG_NOSIGNAL);
		if (k >= 0) {
			w.sent += (size_t)k;
		} else if (errno == EAGAIN) {
			w.blocked = true;
			return true;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* Only when all is out: what is found then would otherwise be too much again. */
static void catch_up(void)
{
	for (size_t i = 0; i < w.trees && !w.blocked && pending_empty(w.pending); i++)
		if (tree_lost(w.tree[i]))
			tree_catch_up(w.tree[i]);
}

/* What was dropped was changed after since, in any of the folders. */
static void note_dropped(uint64_t since)
{
	if (!pending_dropped(w.pending))
		return;
	for (size_t i = 0; i < w.trees; i++)
		tree_lose(w.tree[i], since);
}

static bool turn(void)
{
	struct pollfd fd[1 + FE_MOUNTS_MAX];

	if (pending_empty(w.pending))
		w.empty_at = clock_real_ns();
	fd[0] = (struct pollfd){ .fd = CARRIER, .events = w.blocked ? POLLOUT : 0 };
	for (size_t i = 0; i < w.trees; i++)
		fd[1 + i] = (struct pollfd){ .fd = tree_fd(w.tree[i]), .events = POLLIN };
	if (poll(fd, 1 + w.trees, w.blocked ? -1 : pending_wait(w.pending, clock_ms())) < 0)
		return errno == EINTR;
	if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return false;
	for (size_t i = 0; i < w.trees; i++)
		if (fd[1 + i].revents)
			tree_read(w.tree[i]);
	note_dropped(w.empty_at);
	if (!send_out())
		return false;
	catch_up();
	return true;
}

int main(int argc, char **argv)
{
	int status = 0;

	log_init("watcher", STDERR_FILENO, LOG_JSON, LOG_INFO_);
	signal(SIGPIPE, SIG_IGN);
	w.pending = pending_new();
	if (io_set_nonblock(CARRIER, true) < 0) {
		log_error("watcher: descriptor 3 is no socket");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		struct err e = { 0 };

		if (add(argv[i], &e) == 0)
			continue;
		log_error("file events: %s", e.msg);
		status = e.kind == ERR_USAGE ? 2 : 1;
	}
	while (w.trees && status != 2 && turn())
		;
	for (size_t i = 0; i < w.trees; i++)
		tree_free(w.tree[i]);
	pending_free(w.pending);
	return w.trees ? 0 : status;
}
