#include "limactl-c/cli/edit_editor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/cli/say.h"

/* What begins with it above the text is ours. */
#define MARK "## limactl-c: "

/* As a command of the shell: both variables may hold options. malloc'd. */
static char *find_editor(struct err *e)
{
	static const char *const variables[] = { "VISUAL", "EDITOR" };
	static const char *const known[] = { "sensible-editor", "editor", "vim", "vi", "nano", "emacs" };
	struct err none;

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return xstrdup(value);
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		auto_free char *path = spawn_find(known[i], &none);

		if (path)
			return xstrdup(known[i]);
	}
	err_set(e, ERR_NOTFOUND, "no text editor is found: set $EDITOR, or say what to change by options like --set");
	return NULL;
}

/* Ctrl-C and Ctrl-\ are meant for the editor. */
static int wait_for(pid_t pid)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, intr, quit;
	int code;

	sigaction(SIGINT, &ignore, &intr);
	sigaction(SIGQUIT, &ignore, &quit);
	code = spawn_wait(pid);
	sigaction(SIGINT, &intr, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return code;
}

static int run_editor(const char *path, struct err *e)
{
	auto_free char *editor = find_editor(e), *script = NULL;
	const char *argv[] = { "sh", "-c", NULL, "sh", path, NULL };
	struct spawn s = { .argv = argv, .fd = { STDIN_FILENO }, .fds = 1 };
	pid_t pid;
	int code;

	if (!editor)
		return -1;
	/* A child's standard input is null; the terminal comes as 3. */
	argv[2] = script = xasprintf("exec <&3 3<&-\n%s \"$@\"", editor);
	say_debug("Opening %s in %s", path, editor);
	pid = spawn_start(&s, e);
	if (pid < 0)
		return err_wrap(e, "editor \"%s\"", editor);
	code = wait_for(pid);
	if (code)
		return err_set(e, ERR_STATE, "the editor \"%s\" ended with status %d; nothing is changed", editor, code);
	return 0;
}

static int write_copy(int fd, const char *path, const char *about, const struct buf *text, struct err *e)
{
	static const char note[] = "Lines like this one are not kept; an empty file changes nothing.";
	auto_free char *head = xasprintf(MARK "%s\n" MARK "%s\n", about, note);

	if (io_write_full(fd, head, strlen(head)) < 0 || io_write_full(fd, text->len ? text->data : "", text->len) < 0)
		return fs_write_error(path, e);
	return 0;
}

static void drop_marked(struct buf *b)
{
	while (b->len && !strncmp(b->data, MARK, strlen(MARK))) {
		const char *end = memchr(b->data, '\n', b->len);

		buf_drop_front(b, end ? (size_t)(end + 1 - b->data) : b->len);
	}
}

int edit_in_editor(const char *about, const struct buf *text, struct buf *out, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	/* The suffix tells editors the language. */
	auto_free char *path = xasprintf("%s/limactl-c.XXXXXX.yaml", tmp && *tmp ? tmp : "/tmp");
	auto_close int fd = mkostemps(path, 5, O_CLOEXEC);
	int rc;

	if (fd < 0)
		return fs_error("create", path, e);
	rc = write_copy(fd, path, about, text, e) < 0 || run_editor(path, e) < 0 || io_read_file(path, out, e) < 0 ? -1 : 0;
	unlink(path);
	if (rc == 0)
		drop_marked(out);
	return rc;
}
