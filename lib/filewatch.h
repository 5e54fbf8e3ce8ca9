/* filewatch.h - who is told how a copy goes, at the end where people are. */
#ifndef LIMA_FILEWATCH_H
#define LIMA_FILEWATCH_H

#include <stdbool.h>
#include <stdint.h>

struct file_watch {
	void (*total)(void *ctx, uint64_t bytes);
	void (*began)(void *ctx, const char *name); /* a file or link */
	void (*moved)(void *ctx, uint64_t bytes);   /* more of its content is there */
	/* One line; a warning is nothing that was asked for and not done. */
	void (*problem)(void *ctx, const char *text, bool warning);
	void *ctx;
};

#endif
