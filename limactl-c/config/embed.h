/* embed.h - base: templates and file: scripts read in, so that a template stands alone. */
#ifndef LIMA_CONFIG_EMBED_H
#define LIMA_CONFIG_EMBED_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/yaml/ynode.h"

/* How a locator that is no file is read: http(s) needs the program image. digest may be NULL. */
struct embed_reader {
	int (*read_url)(void *arg, const char *url, const char *digest, struct buf *text, struct err *e);
	void *arg;
};

struct embed {
	const struct embed_reader *reader;
	bool files; /* provision[].file and probes[].file too (--embed-all, create); else only base */
};

/* The template at locator (used for relative ones) with its bases merged in, depth first; base is gone. $LIMA_HOME's
 * _config/base.yaml comes first when there is one. NULL with *e: what could not be read, a loop, a base that is no template. */
struct ynode *embed_template(struct yn_pool *p, const struct ynode *root, const char *locator, const struct embed *how,
			     struct err *e);

#endif
