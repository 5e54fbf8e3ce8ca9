/* mount_table.h - what is mounted, in the kernel's order. Not by getmntent(): musl's leaves the blanks of a path as the octal
 * numbers that stand there, and its hasmntopt() finds "ro" in "errors=remount-ro" too.
 */
#ifndef LIMA_GUESTAGENT_MOUNT_TABLE_H
#define LIMA_GUESTAGENT_MOUNT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/cleanup.h"

#define MOUNT_TABLE "/proc/self/mounts"

struct mount_table {
	FILE *f;
	char *line;
	size_t size;
};

/* Valid until the next call. */
struct mount_entry {
	const char *source, *path, *type, *options;
};

/* file is MOUNT_TABLE but in tests; one that cannot be opened has no entries. */
struct mount_table mount_table_open(const char *file);
bool mount_table_next(struct mount_table *t, struct mount_entry *m); /* false: there are no more */
void mount_table_close(struct mount_table *t);

bool mount_is_read_only(const struct mount_entry *m);

#define auto_mount_table CLEANUP(mount_table_close) struct mount_table

#endif
