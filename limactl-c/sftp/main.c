/* sftp - serves one folder to a guest's sshfs. Run by the host agent:
 *   sftp [--read-only] [--follow-symlinks] FOLDER [PATH]
 * PATH is the folder that is served, where it lies in one that the guest may write; no link leads out of FOLDER to it. It runs
 * with a socket as descriptor 3, on which come packets of SFTP. It ends with the socket. Descriptor 4 is only held: its other
 * end tells the host agent of our end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/be.h"
#include "lib/buf.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/sftp/packet.h"
#include "limactl-c/sftp/server.h"
#include "limactl-c/sftp/tree.h"

enum { CARRIER = 3, LENGTH = 4, FLUSH_AT = 1 << 20 };

static int flush(struct buf *out)
{
	int rc = io_write_full(CARRIER, out->data, out->len);

	if (out->cap > FLUSH_AT)
		buf_free(out);
	out->len = 0;
	return rc;
}

/* Whole packets at the front of in. -1: nothing more can come of it. */
static int take(struct sftp *s, struct buf *in, struct buf *out)
{
	size_t at = 0;

	while (in->len - at >= LENGTH) {
		const uint8_t *p = (const uint8_t *)in->data + at;
		size_t n = (size_t)be_get(p, LENGTH);

		if (n > SFTP_PACKET_MAX)
			return -1;
		if (in->len - at - LENGTH < n)
			break;
		if (sftp_packet(s, p + LENGTH, n, out) < 0)
			return -1;
		at += LENGTH + n;
		if (out->len >= FLUSH_AT && flush(out) < 0)
			return -1;
	}
	buf_drop_front(in, at);
	return out->len ? flush(out) : 0;
}

static void serve(struct sftp *s)
{
	auto_buf in = BUF_INIT(2 * (SFTP_PACKET_MAX + LENGTH)), out = BUF_INIT(SIZE_MAX / 2);

	for (;;) {
		char *p = buf_reserve(&in, SFTP_PACKET_MAX);
		ssize_t k = p ? read(CARRIER, p, SFTP_PACKET_MAX) : 0;

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return;
		buf_commit(&in, (size_t)k);
		if (take(s, &in, &out) < 0) {
			log_warn("sftp: the guest says what is not SFTP; it is not answered any more");
			return;
		}
	}
}

/* The folder that is served; -1 with errno set. */
static int open_root(char *const *path)
{
	int folder = open(path[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC), root;
	const struct tree outer = { folder, true };

	if (folder < 0 || !path[1])
		return folder;
	root = tree_open(&outer, path[1], O_RDONLY | O_DIRECTORY, 0);
	close(folder);
	return root;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "read-only", no_argument, NULL, 'r' }, { "follow-symlinks", no_argument, NULL, 'f' }, { 0 },
	};
	bool readonly = false, follow = false;
	struct rlimit files;
	struct sftp *s;
	int c, root;

	log_init("sftp", STDERR_FILENO, LOG_JSON, LOG_INFO_);
	signal(SIGPIPE, SIG_IGN);
	umask(0); /* the guest's has been applied */
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		readonly |= c == 'r';
		follow |= c == 'f';
		if (c == '?')
			return 2;
	}
	if (argc <= optind) {
		log_error("usage: sftp [--read-only] [--follow-symlinks] FOLDER [PATH]");
		return 2;
	}
	root = open_root(argv + optind);
	if (root < 0) {
		log_error("sftp: %s: %s", argv[argc - 1], strerror(errno));
		return 1;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	s = sftp_new(root, readonly, follow);
	serve(s);
	sftp_free(s);
	return 0;
}
