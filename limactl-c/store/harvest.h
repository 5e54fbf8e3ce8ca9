/* harvest.h - kernel and initramfs of a guest as its own loader started it, taken out of it so that later starts need no
 * loader: folder harvest/ of the instance. They come from the guest and are used for that guest only.
 */
#ifndef LIMA_HARVEST_H
#define LIMA_HARVEST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/base/sha256.h"

enum {
	HARVEST_KERNEL_MAX = 128 << 20, /* bytes */
	HARVEST_INITRD_MAX = 512 << 20,
	HARVEST_ARGS_MAX = 2047,        /* of the kernel's command line, without the NUL */
	HARVEST_PATH_MAX = 255,
	HARVEST_ANSWER_MAX = 8192,
};

/* What a guest says of its /boot. */
struct harvest_answer {
	char args[HARVEST_ARGS_MAX + 1]; /* what the loader told the kernel, without words of the loader's own */
	char kernel[HARVEST_PATH_MAX + 1], initrd[HARVEST_PATH_MAX + 1]; /* paths in the guest */
	char boot[SHA256_HEX + 1];       /* digest of names, sizes and times of what its loader reads */
};

/* Four lines; the guest is not trusted. ERR_INVALID says why one will not do. */
int harvest_parse(const char *text, size_t len, struct harvest_answer *out, struct err *e);

/* The two digests sha256sum printed, as lines that begin with one. */
int harvest_parse_digests(const char *text, size_t len, char digest[2][SHA256_HEX + 1], struct err *e);

/* What lies in the folder. */
struct harvest {
	char *kernel, *initrd;               /* absolute paths */
	char *kernel_sha256, *initrd_sha256; /* as the guest says, in hex */
	char *args, *boot;                   /* as in struct harvest_answer */
};
void harvest_free(struct harvest *h); /* also makes it empty */
#define auto_harvest CLEANUP(harvest_free) struct harvest

/* ERR_NOTFOUND: there is none. The files are not looked at. */
int harvest_load(const char *dir, struct harvest *out, struct err *e);

/* Files are written into a folder beside, which then takes the place of the old one. */
char *harvest_new_file(const char *dir, bool kernel); /* path, malloc'd */
int harvest_begin(const char *dir, struct err *e);    /* makes it, empty */
int harvest_commit(const char *dir, const struct harvest_answer *a, char digest[2][SHA256_HEX + 1], struct err *e);
void harvest_abandon(const char *dir);

/* Marks. One that cannot be set costs at most what it is there to save. */
enum harvest_mark {
	HARVEST_TRIED,  /* a start by it has not come as far as the guest agent */
	HARVEST_FAILED, /* and will not be tried again */
	HARVEST_STALE,  /* the guest's loader would start another one by now */
};
void harvest_mark(const char *dir, enum harvest_mark m, bool on);
bool harvest_marked(const char *dir, enum harvest_mark m);

#endif
