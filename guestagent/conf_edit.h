/* conf_edit.h - changes lines of a configuration file that belongs to the guest, so that they can be taken back.
 *
 * A line that is replaced or dropped stays beside as a comment ("#lima+ OLD" before its replacement, "#lima- OLD");
 * each edit first restores those and then applies the rule anew. So an edit done twice is one edit, and one with
 * on = false gives the file back as it was. For files of lines in which '#' begins a comment.
 */
#ifndef LIMA_GUESTAGENT_CONF_EDIT_H
#define LIMA_GUESTAGENT_CONF_EDIT_H

#include "guestagent/setup_util.h"

enum conf_what { CONF_KEEP, CONF_DROP, CONF_REPLACE };
enum { CONF_LINE_MAX = 1024 }; /* longer lines are kept as they are */

struct conf_rule {
	/* What becomes of a line (without its newline); CONF_REPLACE: by what, in new. NULL: every line is kept. */
	enum conf_what (*line)(const struct setup *su, const void *arg, const char *line, char new[CONF_LINE_MAX]);
	const void *arg;
	const char *add; /* a line appended unless some line is it already or was replaced; NULL: none */
};

/* 0 when done or when there is no such file. */
int conf_edit(const struct setup *su, const char *path, const struct conf_rule *rule, bool on, struct err *e);

/* A ready-made line(): arg is a struct conf_prefix; lines that begin with prefix (after blanks) become text. */
struct conf_prefix {
	const char *prefix, *text;
};
enum conf_what conf_by_prefix(const struct setup *su, const void *arg, const char *line, char new[CONF_LINE_MAX]);

#endif
