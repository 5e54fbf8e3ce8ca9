/* vars.h - Go templates in a configuration's values: {{.Home}}, {{.Param.X}}, {{if …}}. */
#ifndef LIMA_CONFIG_VARS_H
#define LIMA_CONFIG_VARS_H

#include "limactl-c/base/finding.h"
#include "limactl-c/config/config.h"

/* Fills every value that may hold one (a table in vars.c says which, and with the host's or the guest's variables). As in Lima,
 * text whose template cannot be filled stays as it is, with a warning that names the line; an error when in->strict.
 *
 * Where in names no instance (name, dir), and for facts in->host does not know, variables stand for themselves. */
void vars_fill(struct cfg *c, const struct cfg_input *in, struct findings *f);

/* For a template that is written out: where a value was given as a Go template, the tree of c (by cfg_tree(), in p) says
 * that again instead of what it was filled with here. */
void vars_restore(const struct cfg *c, struct yn_pool *p, const struct ynode *tree);

char *vars_hostname(const char *name); /* of an instance's guest, as Lima's; malloc'd */

#endif
