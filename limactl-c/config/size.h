/* size.h - sizes and durations as people write them in templates and flags. */
#ifndef LIMA_SIZE_H
#define LIMA_SIZE_H

#include <stdint.h>

#include "lib/err.h"

/* "4GiB", "512MiB", "4g", "1.5 GiB", "1073741824": powers of 1024 whatever the spelling of the
 * unit, as in Lima. */
int size_parse(const char *text, uint64_t *bytes, struct err *e);

/* "10s", "1h", "1m30s", "1.5h", "0": Go's spelling, whole seconds in sum. */
int duration_parse(const char *text, uint32_t *seconds, struct err *e);

#endif
