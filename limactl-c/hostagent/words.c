#include "limactl-c/hostagent/words.h"

#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/store/paths.h"

enum {
	LINES = 20, /* of the console are looked at */
	BYTES = 8192,
	LAST_BYTES = 200,
};

static char *tail(const struct plan *p, size_t lines, size_t bytes)
{
	auto_free char *log = path_in(p->dir, PATH_SERIAL_LOG);

	return fs_tail(log, lines, bytes);
}

static char *printable_line(const char *from)
{
	char *line = xstrndup(from, strcspn(from, "\r\n"));

	text_make_plain(line);
	return line;
}

char *words_of_ours(const struct plan *p)
{
	static const char ours[] = "lima: ";
	auto_free char *text = tail(p, LINES, BYTES);
	const char *found = NULL;

	for (const char *at = text; (at = strstr(at, ours)); at++) {
		if (at == text || at[-1] == '\n')
			found = at + strlen(ours);
	}
	return found ? printable_line(found) : NULL;
}

char *words_last(const struct plan *p)
{
	auto_free char *text = tail(p, 1, LAST_BYTES);

	return printable_line(text);
}
