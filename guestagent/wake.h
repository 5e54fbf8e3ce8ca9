/* wake.h - wakes who watches files in shared folders, as the host's records say (docs/file-events.md).
 *
 * It does to files what the kernel tells watchers of and what changes nothing. Files are found beneath their mount only:
 * through no link and into nothing that is mounted in it.
 */
#ifndef LIMA_GUESTAGENT_WAKE_H
#define LIMA_GUESTAGENT_WAKE_H

#include <stddef.h>

#include "lib/fevent.h"
#include "lib/settings.h"

/* What is different between file systems. */
enum wake_kind {
	WAKE_VIRTIOFS, /* times are as exact as the host's */
	WAKE_9P,       /* times have whole seconds when they are set; folders have to be held */
};

struct wake;

struct wake *wake_new(void); /* NULL: memory is short */
void wake_free(struct wake *w);
void wake_mount(struct wake *w, unsigned mount, int root, enum wake_kind kind); /* root, a folder, is taken */
size_t wake_held(const struct wake *w); /* how many folders are held */

/* Takes the whole records in the n bytes. Returns how many bytes they have; -1 when what follows is none. */
ssize_t wake_take(struct wake *w, const uint8_t *p, size_t n);

/* A whole process: waits for the mounts of the settings, then serves fd, which blocks, up to its end. Returns an exit code. */
int wake_main(int fd, const struct settings *s);

#endif
