#include "limactl-c/image/manifest.h"

#include <stdbool.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"

enum { GUEST_PATH_MAX = 255, MODE_DIGITS_MAX = 4 };

void manifest_free(struct manifest *m)
{
	free(steal(&m->text));
	free(steal(&m->file));
	m->files = 0;
}

/* Cuts the word at *at off the rest of the line and moves on behind the blank. NULL when no blank follows it. */
static char *cut_word(char **at)
{
	char *word = *at, *blank = strchr(word, ' ');

	if (!blank || blank == word)
		return NULL;
	*blank = '\0';
	*at = blank + 1;
	return word;
}

static bool parse_mode(const char *s, unsigned *mode)
{
	size_t n = strlen(s);

	if (n == 0 || n > MODE_DIGITS_MAX || strspn(s, "01234567") != n)
		return false;
	*mode = (unsigned)strtoul(s, NULL, 8);
	return true;
}

static bool is_plain_path(const char *path)
{
	if (strlen(path) > GUEST_PATH_MAX)
		return false;
	for (const char *c = path; *c; c++) {
		if (*c <= ' ' || *c >= 127)
			return false;
	}
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n <= 2 && strspn(path, ".") >= n))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

static int parse_line(struct manifest *m, char *line, size_t number, struct err *e)
{
	struct manifest_file f = { 0 };
	char *rest = line, *mode = cut_word(&rest);

	if (!mode || !parse_mode(mode, &f.mode))
		return err_set(e, ERR_INVALID, "line %zu has no octal mode", number);
	f.guest_path = cut_word(&rest);
	if (f.guest_path && *f.guest_path == '/')
		f.guest_path++;
	if (!f.guest_path || !is_plain_path(f.guest_path))
		return err_set(e, ERR_INVALID, "line %zu has no plain path for the guest", number);
	if (!*rest)
		return err_set(e, ERR_INVALID, "line %zu has no path of a file on the host", number);
	f.host_path = rest;
	for (size_t i = 0; i < m->files; i++) {
		if (strcmp(m->file[i].guest_path, f.guest_path) == 0)
			return err_set(e, ERR_INVALID, "line %zu names %s again", number, f.guest_path);
	}
	if (m->files == MANIFEST_FILES_MAX)
		return err_set(e, ERR_INVALID, "more than %d files", MANIFEST_FILES_MAX);
	m->file = xrealloc_array(m->file, m->files + 1, sizeof(*m->file));
	m->file[m->files++] = f;
	return 0;
}

int manifest_parse(struct manifest *m, const char *text, size_t len, struct err *e)
{
	size_t number = 0;

	if (memchr(text, '\0', len))
		return err_set(e, ERR_INVALID, "has a NUL byte");
	m->text = xstrndup(text, len);
	for (char *line = m->text, *next; *line; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		if (parse_line(m, line, ++number, e) < 0)
			return -1;
	}
	return 0;
}

int manifest_read(struct manifest *m, const char *path, struct err *e)
{
	auto_buf text = BUF_INIT(MANIFEST_BYTES_MAX);

	if (io_read_file(path, &text, e) < 0)
		return -1;
	return manifest_parse(m, text.data ? text.data : "", text.len, e) < 0 ? err_wrap(e, "%s", path) : 0;
}
