/* fevent.h - changes in shared folders, as the host tells them the guest on an AP_OPEN_EVENTS stream (docs/file-events.md).
 *
 * A record is u16 length of the path, u8 kind, u8 mount, and the path: below the shared folder, empty for that folder itself.
 * The path comes from names that anybody may have made, in the guest too: a record whose path could lead out of the folder
 * by its words alone is malformed. That a part of it is a symbolic link is for who opens it (lib/beneath.h).
 */
#ifndef LIMA_FEVENT_H
#define LIMA_FEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fe_kind {
	FE_HERE = 1, /* a folder that was there, or is new: told before anything is told of what lies in it; wakes nobody */
	FE_LEFT,     /* such a folder is not there any more; wakes nobody */
	FE_CHANGED,  /* file or folder is new, or the file has other content */
	FE_GONE,     /* it was removed, or has another name now */
};

enum {
	FE_PATH_MAX = 4095, /* bytes; what lies deeper is not told */
	FE_HEADER = 4,
	FE_RECORD_MAX = FE_HEADER + FE_PATH_MAX,
	FE_MOUNTS_MAX = 32, /* mounts are counted as in the guest's settings, mount.NN */
};

struct fe_record {
	enum fe_kind kind;
	uint8_t mount;
	char path[FE_PATH_MAX + 1];
};

/* Whether the n bytes are a path below a folder: names between single slashes, none of them "." or "..". */
bool fe_path_ok(const char *path, size_t n);

/* p has FE_RECORD_MAX bytes. Returns the length. The path is one that fe_path_ok() takes. */
size_t fe_pack(enum fe_kind kind, unsigned mount, const char *path, uint8_t *p);

/* The record at the beginning of n bytes: its length, 0 when it has not come whole, -1 when it is malformed. */
ssize_t fe_unpack(struct fe_record *r, const uint8_t *p, size_t n);

#endif
