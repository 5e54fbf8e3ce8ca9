#include "limactl-c/cli/print.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
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

/* Not by a new file in its place: it may be a device. */
int print_to(const char *path, const struct buf *text, struct err *e)
{
	bool standard = !strcmp(path, "-");
	auto_close int file = standard ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int fd = standard ? STDOUT_FILENO : file;

	if (fd < 0)
		return err_errno(e, "open %s", path);
	if (text->len && io_write_full(fd, text->data, text->len) < 0)
		return err_errno(e, "write %s", standard ? "standard output" : path);
	return 0;
}
