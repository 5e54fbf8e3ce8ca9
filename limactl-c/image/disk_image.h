/* disk_image.h - a disk image of any format we read, as the bytes the guest sees. */
#ifndef LIMA_IMAGE_DISK_IMAGE_H
#define LIMA_IMAGE_DISK_IMAGE_H

#include <stdbool.h>

#include "lib/cleanup.h"
#include "limactl-c/image/qcow2_read.h"

struct disk_image;

/* raw or qcow2; other formats are refused by name. backing: the file a qcow2 image names below itself may be opened (relative
 * to its folder, a few deep), which must never be allowed for an image from elsewhere: it could name any file of the host. */
struct disk_image *disk_image_open(const char *path, bool backing, struct err *e);
void disk_image_close(struct disk_image *d);
DEFINE_CLEANUP(struct disk_image *, disk_image_close)
#define auto_disk_image CLEANUP(disk_image_closep) struct disk_image *

/* Whether there is an image, and all of it, as far as can be told without reading it. */
int disk_image_check(const struct disk_image *d, struct err *e);

/* Its bytes; borrowed. Reading whole multiples of disk_image_step() from multiples of it is fastest. */
const struct byte_source *disk_image_bytes(const struct disk_image *d);
size_t disk_image_step(const struct disk_image *d);

/* Descriptor of the file when its bytes are the guest's, to share its blocks with; -1 when they are not. */
int disk_image_raw_fd(const struct disk_image *d);

/* The format the first and the last bytes of a file show, when it is one we cannot read: its name; else NULL. */
const char *disk_image_foreign(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len);

#endif
