/* search.h - the folders template:NAME is looked up in: $LIMA_TEMPLATES_PATH alone when set; else
 * $LIMA_HOME/_templates, then the installation's. */
#ifndef LIMA_CONFIG_SEARCH_H
#define LIMA_CONFIG_SEARCH_H

#include "lib/err.h"

/* The file of a template, malloc'd. NULL with *e: there is none; the nearest name and those known. */
char *search_find(const char *name, struct err *e);

#endif
