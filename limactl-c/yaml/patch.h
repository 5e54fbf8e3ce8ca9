/* patch.h - a text changed where its tree was changed; everything else stays as it stands. */
#ifndef LIMA_YAML_PATCH_H
#define LIMA_YAML_PATCH_H

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/yaml/ynode.h"

/* was: the root of a parsed text. now: what it shall say (a changed yn_copy of it, or anything). Appends was's text
 * to out with the smallest edits that make it say now: comments, order, blank lines, quoting and line ends of
 * what is not changed stay. New values that are copies out of other texts bring their comments along. The result is parsed and
 * compared with now before it is accepted; -1 says which key cannot be changed in place and why. */
int yn_patch(const struct ynode *was, const struct ynode *now, struct buf *out, struct err *e);

#endif
