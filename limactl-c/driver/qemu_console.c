#include "limactl-c/driver/qemu_console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/driver/common.h"

enum { ROUNDS = 16 }; /* reads before others have their turn */

struct qemu_console {
	int sock, log; /* log: -1 when it cannot be written */
	char *path;
	off_t size;
	char line[CONSOLE_LINE_MAX]; /* beginning of the line that is being written */
	size_t line_len;
	char panic[CONSOLE_LINE_MAX];
};

static void open_log(struct qemu_console *c)
{
	struct err ignored = { 0 };
	struct stat st;

	c->log = fs_open_log(c->path, &ignored);
	c->size = c->log >= 0 && fstat(c->log, &st) == 0 ? st.st_size : 0;
}

struct qemu_console *qemu_console_open(const char *sock, const char *log, bool fresh, struct err *e)
{
	struct qemu_console *c;
	int fd = vm_connect(sock, e);

	if (fd < 0)
		return NULL;
	if (fresh)
		fs_rotate(log, 0);
	c = xcalloc(1, sizeof(*c));
	*c = (struct qemu_console){ .sock = fd, .path = xstrdup(log) };
	open_log(c);
	return c;
}

void qemu_console_close(struct qemu_console *c)
{
	if (!c)
		return;
	cleanup_closep(&c->sock);
	cleanup_closep(&c->log);
	free(c->path);
	free(c);
}

int qemu_console_fd(const struct qemu_console *c)
{
	return c->sock;
}

/* A full disk loses console lines, nothing else. */
static void keep(struct qemu_console *c, const char *p, size_t n)
{
	if (c->size + (off_t)n > CONSOLE_LOG_MAX) {
		cleanup_closep(&c->log);
		fs_rotate(c->path, 0);
		open_log(c);
	}
	if (c->log >= 0 && io_write_full(c->log, p, n) == 0)
		c->size += (off_t)n;
}

/* The kernel puts its clock, and who speaks, in brackets before its words. */
static void end_line(struct qemu_console *c)
{
	char *words;

	c->line[c->line_len] = '\0';
	c->line_len = 0;
	words = strstr(c->line, "Kernel panic - not syncing");
	if (!words || (words != c->line && !(c->line[0] == '[' && words[-1] == ' ' && words[-2] == ']')))
		return;
	words[strcspn(words, "\r")] = '\0';
	text_make_plain(words);
	memmove(c->panic, words, strlen(words) + 1);
}

static void look_at(struct qemu_console *c, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n')
			end_line(c);
		else if (c->line_len < sizeof(c->line) - 1)
			c->line[c->line_len++] = p[i] ? p[i] : ' ';
	}
}

bool qemu_console_panic(struct qemu_console *c, char out[CONSOLE_LINE_MAX])
{
	memcpy(out, c->panic, CONSOLE_LINE_MAX);
	c->panic[0] = '\0';
	return *out;
}

bool qemu_console_read(struct qemu_console *c)
{
	char chunk[16384];

	for (int i = 0; i < ROUNDS; i++) {
		ssize_t k = read(c->sock, chunk, sizeof(chunk));

		if (k > 0) {
			keep(c, chunk, (size_t)k);
			look_at(c, chunk, (size_t)k);
		} else if (k == 0 || (errno != EINTR && errno != EAGAIN)) {
			return false;
		} else if (errno == EAGAIN) {
			return true;
		}
	}
	return true;
}
