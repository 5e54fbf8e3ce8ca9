/* embed.h - base: templates and file: scripts read in, so that a template stands alone. */
#ifndef LIMA_CONFIG_EMBED_H
#define LIMA_CONFIG_EMBED_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/base/finding.h"
#include "limactl-c/yaml/ynode.h"

/* How a text is read that needs the program image: the one an http(s) URL gives, or with a digest that of a file, given
 * by its path. digest may be NULL; else the text has it. */
struct embed_reader {
	int (*read_url)(void *arg, const char *url, const char *digest, struct buf *text, struct err *e);
	void *arg;
};

struct embed {
	const struct embed_reader *reader; /* NULL: URLs are refused */
	const char *first; /* a base before all others: $LIMA_HOME/_config/base.yaml; NULL: none */
	bool all; /* what template: names too (create, --embed-all); else it stays named, what follows it must be so too */
};

/* The template at locator (for relative ones, and for messages) with its bases merged in, depth first, and the scripts
 * of provision[].file and probes[].file in place. root, a mapping, is not changed. What could not be read, a loop, a base
 * that is no template, mistakes in its text: errors among the findings; the rest is there even so. */
struct ynode *embed_template(struct yn_pool *p, const struct ynode *root, const char *locator, const struct embed *how,
			     struct findings *f);

/* Only makes base: and file: locators hold from anywhere, in place. */
int embed_absolute(struct yn_pool *p, struct ynode *root, const char *locator, struct findings *f);

#endif
