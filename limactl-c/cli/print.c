#include "limactl-c/cli/print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/yaml/emit.h"

enum { OUTPUT_MAX = 64 << 20 };

static int write_node(const struct ynode *n, enum print_form form, struct buf *out)
{
	if (form == PRINT_YAML)
		return yn_emit(n, out);
	return yn_json(n, form == PRINT_JSON ? 0 : 4, out);
}

int print_nodes(const struct yq_result *r, enum print_form form, struct err *e)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct ynode *n = r->node[i];
		auto_buf text = BUF_INIT(OUTPUT_MAX);
		bool is_text = n->kind == YN_STRING;

		if (!is_text && write_node(n, form, &text) < 0)
			return err_set(e, ERR_INVALID, "the result is larger than %d bytes", OUTPUT_MAX);
		if (is_text)
			fwrite(n->text, 1, n->len, stdout);
		else if (text.data)
			fwrite(text.data, 1, text.len, stdout);
		/* YAML documents end their last line themselves. */
		if (is_text || form != PRINT_YAML)
			putchar('\n');
	}
	return 0;
}

static int write_all(int fd, const char *path, const struct buf *text, struct err *e)
{
	return text->len && io_write_full(fd, text->data, text->len) < 0 ? fs_write_error(path, e) : 0;
}

static mode_t new_mode(void)
{
	mode_t mask = umask(022);

	umask(mask);
	return 0644 & ~mask;
}

/* A file appears, or is replaced, whole. What is none (a device, a link), or lies where nothing new may be, is written to. */
int print_to(const char *path, const struct buf *text, struct err *e)
{
	auto_free char *dir = fs_parent(path);
	bool is_new = access(path, F_OK) < 0 && errno == ENOENT;
	auto_close int fd = -1;
	struct stat st;

	if (!strcmp(path, "-"))
		return write_all(STDOUT_FILENO, "standard output", text, e);
	if (lstat(path, &st) < 0 ? is_new : S_ISREG(st.st_mode) && access(path, W_OK) == 0 && access(dir, W_OK) == 0)
		return fs_write_atomic(path, text->len ? text->data : "", text->len,
				       is_new ? new_mode() : st.st_mode & 0777, e);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd < 0 ? err_errno(e, "open %s", path) : write_all(fd, path, text, e);
}
