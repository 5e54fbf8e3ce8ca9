/* tuning.h - the `tuning:` keys, from one table: how each is carried out and how to see that it is in force. */
#ifndef LIMA_GUESTAGENT_TUNING_H
#define LIMA_GUESTAGENT_TUNING_H

#include <stdio.h>

#include "guestagent/setup_util.h"

/* Prints a line for each key: "KEY: in force", "KEY: off" or "KEY: NOT in force: why". Exit code: 1 when one is not. */
int tuning_check(const struct setup *su, FILE *out);

/* Each row's part of a guest with an init of its own, each with a warning when it fails: files it reads, before it starts
 * (guestagent/openrc.h) or early in its boot; and, of a cloud guest, what is done once it runs (guestagent/settle.h). */
int tuning_own_init(const struct setup *su, struct err *e); /* a step of setup; 0 */
void tuning_settled(const struct setup *su);

/* The configuration our containerd and dockerd get (docs/tuning.md). 0, or -1 when b is full. */
int tuning_docker_json(const struct setup *su, struct buf *b);
int tuning_containerd_toml(const struct setup *su, struct buf *b);

#endif
