/* boot_config.h - what a boot loader's configuration would start: GRUB, syslinux, systemd-boot. Its bytes come from
 * outside and are not trusted. */
#ifndef LIMA_IMAGE_BOOT_CONFIG_H
#define LIMA_IMAGE_BOOT_CONFIG_H

#include <stddef.h>

#include "lib/cleanup.h"
#include "lib/err.h"

enum { BOOT_CONFIG_MAX = 256 << 10, BOOT_WORD_MAX = 512, BOOT_ARGS_MAX = 2000, BOOT_INITRDS_MAX = 4 };

struct boot_entry {
	char *kernel, *initrd[BOOT_INITRDS_MAX]; /* paths on the volume, without leading '/'; owned */
	size_t initrds;
	char *args; /* kernel arguments, one blank between; owned; "" when there are none */
};

#define BOOT_ENTRY_INIT { 0 }
void boot_entry_free(struct boot_entry *b);
#define auto_boot_entry CLEANUP(boot_entry_free) struct boot_entry

/* The first entry that names a kernel and an initramfs and needs no variable of the loader. */
int boot_config_parse(const char *text, size_t len, struct boot_entry *out, struct err *e);

/* Where loaders look, most specific first; NULL ends it. */
extern const char *const boot_config_paths[];

#endif
