/* load.h - YAML tree → struct cfg, driven by the table of keys. */
#ifndef LIMA_LOAD_H
#define LIMA_LOAD_H

#include "limactl-c/base/finding.h"
#include "limactl-c/config/config.h"

/* Moves values of former keys (KEY_MOVED) to where they belong now, with a warning each. c->given is changed. */
void load_moved(struct cfg *c, struct findings *f);

/* Fills c with what c->given sets; a value that is wrong is left unset and becomes a finding. name: of the file where
 * no place is known. */
void load_given(struct cfg *c, const char *name, bool lenient, struct findings *f);

#endif
