/* fill.h - defaults: Lima's choices where no text made one. */
#ifndef LIMA_FILL_H
#define LIMA_FILL_H

#include "limactl-c/config/config.h"

/* Before templates are filled: constants of the table, and what depends on the host. */
void fill_defaults(struct cfg *c, const struct cfg_host *h);
/* After: what depends on filled values. */
void fill_derived(struct cfg *c, const struct cfg_input *in);
void fill_user(struct cfg *c, const struct cfg_host *h);
void fill_forwards(struct cfg *c);

/* plain: takes away what it switches off, from c->given too. */
void fill_plain(struct cfg *c);

void fill_if_none(char **field, const char *value);

#endif
