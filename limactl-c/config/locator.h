/* locator.h - where templates lie: files, template:NAME, URLs, standard input. */
#ifndef LIMA_CONFIG_LOCATOR_H
#define LIMA_CONFIG_LOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/config/embed.h"

enum locator_kind {
	LOCATOR_FILE,     /* a path, file:///PATH */
	LOCATOR_TEMPLATE, /* template:NAME, of the search path */
	LOCATOR_URL,      /* http://…, https://… */
	LOCATOR_STDIN,    /* - */
};

enum locator_kind locator_kind(const char *locator);

/* relative as seen from the template at base, so that it holds from anywhere; what is absolute, a URL, template: or "-"
 * stays what it is. "../" is refused. malloc'd. */
char *locator_resolve(const char *base, const char *relative, struct err *e);

/* Appends the text, as long as text->max allows. A locator that names an image (.qcow2, .iso, .img, .raw, packed too)
 * gives a template made for it. digest and r may be NULL. */
int locator_read(const char *locator, const char *digest, const struct embed_reader *r, struct buf *text,
		 struct err *e);

/* The same of any file: a script that is called x.img stays what it is. */
int locator_read_raw(const char *locator, const char *digest, const struct embed_reader *r, struct buf *text,
		     struct err *e);

/* The file that a path or template:NAME means; of others what messages call them. malloc'd. */
char *locator_path(const char *locator, struct err *e);

/* The instance name it suggests: "dir/My-VM.yaml" → "my-vm". malloc'd; NULL for standard input. */
char *locator_instance_name(const char *locator);

/* Every template of the search path: names without suffix, "_images/debian-12" too, sorted, each once. */
struct locator_template {
	char *name, *path; /* malloc'd */
};
size_t locator_list(struct locator_template **list);
void locator_list_free(struct locator_template *list, size_t count);

#endif
