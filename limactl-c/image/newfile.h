/* newfile.h - a file that appears under its name complete or not at all.
 *
 * It is written as PATH.tmp under a lock and renamed. Two writers of the same path take turns; what a killed writer
 * left behind is overwritten by the next, so there is never more than one partial file of a name.
 */
#ifndef LIMA_IMAGE_NEWFILE_H
#define LIMA_IMAGE_NEWFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/cleanup.h"
#include "lib/err.h"

struct newfile {
	char *tmp; /* owned */
	int fd;    /* owned */
	bool kept; /* not removed when it is not committed */
};

#define NEWFILE_INIT { .fd = -1 }

/* Empty when opened. Waits while another process writes the same path. */
int newfile_open(struct newfile *f, const char *path, struct err *e);

/* Opens the temporary file itself by name, for a final name known only later. */
int newfile_open_tmp(struct newfile *f, const char *tmp, struct err *e);

/* The same for a file that takes several tries: it holds what an earlier one wrote, and stays when it is not committed. */
int newfile_open_kept(struct newfile *f, const char *tmp, struct err *e);

/* Gives it its mode and name. sync: the bytes are on the disk before the name is. */
int newfile_commit(struct newfile *f, const char *path, mode_t mode, bool sync, struct err *e);

void newfile_fini(struct newfile *f); /* removes what was not committed, unless it is kept; may be called twice */

#define auto_newfile CLEANUP(newfile_fini) struct newfile

/* Removes partial files of a folder that no living process writes. */
void newfile_sweep(const char *dir);

/* From now on SIGINT, SIGTERM and SIGHUP remove the open temporary files before they end the process. */
void newfile_clean_on_signals(void);

#endif
