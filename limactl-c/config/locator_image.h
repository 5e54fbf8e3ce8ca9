/* locator_image.h - locators that name an image: the template made for one, and the name of its instance. */
#ifndef LIMA_CONFIG_LOCATOR_IMAGE_H
#define LIMA_CONFIG_LOCATOR_IMAGE_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"

/* By its ending: .img, .qcow2, .raw, .iso, .ipsw, packed (.gz, .xz, .bz2, .zst) or not. */
bool locator_is_image(const char *locator);

/* Appends a template with this one image; os and arch are guessed from words of the name, where they tell. */
int locator_image_text(const char *location, struct buf *text, struct err *e);

/* "debian-12-genericcloud-amd64-20240101.qcow2" → "debian-12-amd64". malloc'd. */
char *locator_image_name(const char *locator);

#endif
