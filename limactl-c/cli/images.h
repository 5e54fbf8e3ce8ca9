/* images.h - images and the files made from them, by way of the image program. */
#ifndef LIMA_CLI_IMAGES_H
#define LIMA_CLI_IMAGES_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/plan.h"

/* Runs the image program; argv[0] is put in. What it prints, without the line break, goes to out. shown: its
 * progress, and what it complains of, go to the terminal. */
int images_run(const char **argv, struct buf *out, bool shown, struct err *e);

/* The local file of a location, fetched when needed; malloc'd. digest may be NULL. */
char *images_get(const char *location, const char *digest, struct err *e);
/* The same for what is used packed, as it was fetched. */
char *images_get_packed(const char *location, const char *digest, struct err *e);

/* The first of the template's images for its architecture that can be had; *disk is its local file. */
const struct cfg_image *images_choose(const struct cfg *c, char **disk, struct err *e);

/* Makes what the plan needs in the instance folder: settings, scripts, initramfs, and the disk when there is none. */
int images_prepare(const struct plan *p, struct err *e);

/* Makes the disk larger where p has a larger one than the former plan, which may be empty. The guest takes the
 * room when it boots. */
int images_grow(const struct plan *p, const struct plan *former, struct err *e);

#endif
