/* locator.h - where templates lie: files, template:NAME, URLs, standard input. */
#ifndef LIMA_CONFIG_LOCATOR_H
#define LIMA_CONFIG_LOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/config/embed.h"

enum locator_kind { LOCATOR_FILE, LOCATOR_TEMPLATE, LOCATOR_URL, LOCATOR_STDIN };

enum locator_kind locator_kind(const char *locator);

/* relative as seen from the template at base: unchanged when it is absolute, a URL or template:. "../" is refused. malloc'd. */
char *locator_resolve(const char *base, const char *relative, struct err *e);

/* Appends the text. A locator that names an image (.qcow2, .iso, .img, .raw, packed too) gives a template made for it. */
int locator_read(const char *locator, const char *digest, const struct embed_reader *r, struct buf *text, struct err *e);

/* The file template:NAME or a path means, for messages and `template url`. malloc'd. */
char *locator_path(const char *locator, struct err *e);

/* The instance name it suggests: "dir/My-VM.yaml" → "my-vm". malloc'd; NULL for standard input. */
char *locator_instance_name(const char *locator);

/* Every template of the search path: names without suffix, "_images/debian-12" too, sorted, each once. Both malloc'd. */
struct locator_template {
	char *name, *path;
};
size_t locator_list(struct locator_template **list);
void locator_list_free(struct locator_template *list, size_t count);

#endif
