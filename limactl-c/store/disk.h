/* disk.h - named extra disks: $LIMA_HOME/_disks/NAME/{datadisk,in_use_by,lock}, as Lima has them but for the lock.
 *
 * A disk is in use as long as a process holds its lock: the host agent and the machine of an instance do. The symbolic link
 * in_use_by says whose; one that is left over without the lock means nothing and is removed by who comes by.
 */
#ifndef LIMA_DISK_H
#define LIMA_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "lib/err.h"

struct disk {
	char *name, *dir;
	char *path;         /* of its bytes: dir/datadisk */
	const char *format; /* "qcow2" or "raw", static */
	uint64_t size;      /* bytes the guest sees */
};
#define DISK_INIT { 0 }

int disk_open(const char *name, struct disk *out, struct err *e); /* ERR_NOTFOUND says how one is made */
void disk_fini(struct disk *d);
#define auto_disk CLEANUP(disk_fini) struct disk

/* Names in order; folder_list_free(). */
int disk_list(char ***names, size_t *count, struct err *e);

/* A new disk: empty ("raw", "qcow2" through qemu-img), or a copy of a file of that format, which has been checked. */
int disk_check_new(const char *name, struct err *e); /* whether there could be one of that name: ERR_EXISTS */
int disk_create(const char *name, uint64_t size, const char *format, struct err *e);
int disk_import(const char *name, const char *file, const char *format, struct err *e);

/* Neither asks whether it is in use, but both hold its lock when they can have it. */
int disk_resize(const struct disk *d, uint64_t size, struct err *e); /* never smaller */
int disk_delete(const struct disk *d, struct err *e);

/* Folder of the instance that uses it now, malloc'd: "" when that cannot be told, NULL: none does. */
char *disk_user(const struct disk *d);
const char *disk_user_name(const char *user); /* the instance's name in it, borrowed; "" likewise */
char *disk_user_words(const char *user);      /* `instance "NAME"`, or `another process` for "", malloc'd; NULL for NULL */

bool disk_is_marked(const struct disk *d); /* in_use_by says something, true or not */

/* Takes a disk, given by the path of its datadisk, for the instance in dir. Returns the descriptor that holds the lock
 * (close-on-exec; inherited copies hold it too); ERR_EXISTS names the instance that has it. */
int disk_lock(const char *path, const char *dir, struct err *e);
/* The mark in_use_by goes, if it is this instance's; the lock goes with its descriptors. */
void disk_unlock(const char *path, const char *dir);

char *disk_mount_point(const char *name); /* in the guest, malloc'd */

#endif
