/* gotmpl.h - Go's text/template on trees: the part that Lima's templates, messages and list --format use. */
#ifndef LIMA_GOTMPL_GOTMPL_H
#define LIMA_GOTMPL_GOTMPL_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/yaml/ynode.h"

struct gotmpl_options {
	bool fold;        /* a field is found whatever its case: ".Config.CPUs" finds "cpus" */
	bool any_missing; /* a field that is not there is nothing ("<no value>") instead of an error */
	bool go_only;     /* without Lima's json, yaml, indent, missing: what is not for list --format */
	/* Names a map right in data ("Param"), or data itself (""): in it, and in what it holds, a field may be missing
	 * where it is only asked for (conditions, comparisons). Printed, a missing one is an error all the same. */
	const char *open;
	/* A map: fields data has besides its own, which {{.}} does not show. May be NULL. */
	const struct ynode *also;
};

/* Appends what the template says about data. On failure out is unchanged, *line (may be NULL) says in which line of the text
 * (from 1) it is wrong. Steps and output are bounded. */
int gotmpl_render(const char *text, size_t len, const struct ynode *data, const struct gotmpl_options *o, struct buf *out,
		  unsigned *line, struct err *e);

/* Whether text holds an action at all ("{{"). */
bool gotmpl_has_action(const char *text);

#endif
