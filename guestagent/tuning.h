/* tuning.h - the `tuning:` keys, from one table: how each is carried out and how to see that it is in force. */
#ifndef LIMA_GUESTAGENT_TUNING_H
#define LIMA_GUESTAGENT_TUNING_H

#include <stdio.h>

#include "guestagent/setup_util.h"

/* Prints a line for each key: "KEY: in force", "KEY: off" or "KEY: NOT in force: why". Exit code: 1 when one is not. */
int tuning_check(const struct setup *su, FILE *out);

/* Each row's part of a guest with OpenRC (guestagent/openrc.h), before its init starts. What fails becomes a warning. */
void tuning_openrc(const struct setup *su);

/* The configuration our containerd and dockerd get (docs/tuning.md). 0, or -1 when b is full. */
int tuning_docker_json(const struct setup *su, struct buf *b);
int tuning_containerd_toml(const struct setup *su, struct buf *b);

#endif
