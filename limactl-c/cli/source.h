/* source.h - the texts of templates that must be fetched. */
#ifndef LIMA_CLI_SOURCE_H
#define LIMA_CLI_SOURCE_H

#include "limactl-c/config/embed.h"

/* By the image program: a URL is asked for anew, unless a digest says which bytes are meant and the cache has them. */
extern const struct embed_reader source_reader;

#endif
