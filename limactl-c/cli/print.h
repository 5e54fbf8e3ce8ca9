/* print.h - results on standard output. */
#ifndef LIMA_CLI_PRINT_H
#define LIMA_CLI_PRINT_H

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/yq/yq.h"

enum print_form {
	PRINT_JSON,        /* a line each */
	PRINT_JSON_PRETTY, /* indented by four */
	PRINT_YAML,
};

/* As yq prints results: strings as they are, everything else in the form. */
int print_nodes(const struct yq_result *r, enum print_form form, struct err *e);

/* Writes a text into a file, or with "-" to standard output. */
int print_to(const char *path, const struct buf *text, struct err *e);

#endif
