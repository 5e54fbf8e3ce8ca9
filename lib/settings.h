/* settings.h - the instance's settings as the host hands them to the guest, one KEY=VALUE a line.
 *
 * Written by the plan into the initramfs as /lima/settings, read by the guest agent's setup from
 * /run/lima/settings. Backslash and newline in a value are written as \\ and \n; a key has [a-z0-9._-] and
 * upper case for environment names. Keys: docs/protocol.md, "Settings".
 */
#ifndef LIMA_SETTINGS_H
#define LIMA_SETTINGS_H

#include "lib/buf.h"
#include "lib/err.h"

enum { SETTINGS_SIZE_MAX = 1 << 20, SETTINGS_LINES_MAX = 1024 };

/* Appends one line; -1 when the key is malformed, the value longer than 64 KiB or b full. */
int settings_put(struct buf *b, const char *key, const char *value);

/* Read side. */
struct setting {
	const char *key, *value; /* into the text given to settings_parse, which they changed */
};
struct settings {
	struct setting item[SETTINGS_LINES_MAX];
	size_t count;
};
/* Splits text (changed in place, must outlive *s). -1 with line number when a line has no '=' or there are too many. */
int settings_parse(struct settings *s, char *text, struct err *e);
/* The same for a file, read into text (a struct buf with nothing in it). When it fails there are no settings; e->errnum is
 * ENOENT when there is no such file. */
int settings_load(struct settings *s, const char *path, struct buf *text, struct err *e);
const char *settings_get(const struct settings *s, const char *key, const char *otherwise);
bool settings_true(const struct settings *s, const char *key); /* "true" */

#endif
