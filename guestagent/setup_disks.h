/* setup_disks.h - the parts of setup_disks.c that tests call one by one. */
#ifndef LIMA_GUESTAGENT_SETUP_DISKS_H
#define LIMA_GUESTAGENT_SETUP_DISKS_H

#include "guestagent/setup_util.h"

/* Name of the block device ("vdc") with this serial number; false: there is none. */
bool disks_find(const struct setup *su, const char *serial, char device[64]);

/* "lima-NAME", as long as that kind of file system takes it. */
void disks_label(const char *name, const char *type, char label[128]);

/* 1: nothing is on it; 0: something is; -1: it cannot be read. */
int disks_is_blank(const char *path, struct err *e);

/* Until the descriptor is closed systemd-udevd leaves the disk alone: once a partition table was written it reads it again,
 * and while it does so the partition is gone (systemd.io/BLOCK_DEVICE_LOCKING). -1: it cannot be had, which only a guest
 * without the device node says. Waits for whoever holds it. */
int disks_hold(const char *path);

/* Cuts words at line ends; returns how many, most at most. */
size_t disks_split(char *args, const char **out, size_t most);

#endif
