#include "limactl-c/cli/follow.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/cli/say.h"

void follow_open(struct follow *f, const char *path)
{
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd >= 0 && lseek(f->fd, 0, SEEK_END) < 0)
		follow_close(f);
}

void follow_close(struct follow *f)
{
	if (f->fd >= 0)
		close(steal_fd(&f->fd));
	buf_free(&f->line);
}

/* A line is {"level":"info","msg":"…"}; anything else (a sanitizer's report) is shown as it is. */
static void show_line(const char *text, size_t len)
{
	struct err ignored = { 0 };
	auto_jx *o = jx_parse(text, len, "log", &ignored);
	const char *msg = jx_string_or(o, "msg", NULL), *level = jx_string_or(o, "level", "info");
	enum say_level l = !strcmp(level, "warning") ? SAY_WARN : !strcmp(level, "error") ? SAY_ERROR : SAY_INFO;

	if (msg)
		say(l, "[hostagent] %s", msg);
	else if (len)
		say(SAY_INFO, "[hostagent] %.*s", (int)len, text);
}

void follow_show(struct follow *f)
{
	char chunk[4096], *end;
	ssize_t k;

	while (f->fd >= 0 && (k = read(f->fd, chunk, sizeof(chunk))) > 0) {
		/* A line longer than that is not worth showing. */
		if (buf_add(&f->line, chunk, (size_t)k) < 0)
			buf_drop_front(&f->line, f->line.len);
		while (f->line.len && (end = memchr(f->line.data, '\n', f->line.len))) {
			show_line(f->line.data, (size_t)(end - f->line.data));
			buf_drop_front(&f->line, (size_t)(end - f->line.data) + 1);
		}
	}
}
