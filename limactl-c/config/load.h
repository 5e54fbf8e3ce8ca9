/* load.h - YAML tree → struct cfg, driven by the table of keys. */
#ifndef LIMA_LOAD_H
#define LIMA_LOAD_H

#include "limactl-c/config/config.h"
#include "limactl-c/base/finding.h"

/* Fills what the text sets; a value that is wrong is left unset and becomes a finding. False when
 * the text is not even a YAML mapping. name is borrowed by the findings. */
bool load_text(const char *name, const char *text, size_t len, struct cfg *out, struct findings *f);

/* The rules of cfg_validate(). */
void validate_rules(const struct cfg *c, const char *name, struct findings *f);

#endif
