/* manifest.h - the list of files an initramfs gets besides its base: lines of "MODE GUEST_PATH HOST_PATH". */
#ifndef LIMA_IMAGE_MANIFEST_H
#define LIMA_IMAGE_MANIFEST_H

#include <stddef.h>

#include "lib/cleanup.h"
#include "lib/err.h"

enum { MANIFEST_FILES_MAX = 1024, MANIFEST_BYTES_MAX = 1 << 20 };

struct manifest_file {
	unsigned mode;     /* permission bits */
	char *guest_path;  /* relative, no "." or "..", printable ASCII without spaces; borrowed from the text */
	char *host_path;   /* may have spaces; borrowed likewise */
};

struct manifest {
	char *text; /* owned copy, cut at blanks and line ends */
	struct manifest_file *file; /* owned */
	size_t files;
};

#define MANIFEST_INIT { 0 }

/* Parses len bytes; ERR_INVALID names the line. */
int manifest_parse(struct manifest *m, const char *text, size_t len, struct err *e);
int manifest_read(struct manifest *m, const char *path, struct err *e); /* a file's text */
void manifest_free(struct manifest *m);

#define auto_manifest CLEANUP(manifest_free) struct manifest

#endif
