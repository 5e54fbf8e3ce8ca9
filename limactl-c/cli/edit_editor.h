/* edit_editor.h - a text changed by hand, in the editor of the user. */
#ifndef LIMA_CLI_EDIT_EDITOR_H
#define LIMA_CLI_EDIT_EDITOR_H

#include "lib/buf.h"
#include "lib/err.h"

/* Opens text in $VISUAL, $EDITOR or what there is; out gets what was saved. about, one line, stands above the text
 * as a comment and is taken away afterwards. */
int edit_in_editor(const char *about, const struct buf *text, struct buf *out, struct err *e);

#endif
