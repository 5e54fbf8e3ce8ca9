/* image inspect FILE - what an image is by its content, whatever its name: iso, qcow2 or raw; other formats are refused by
 * name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/le.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/disk_image.h"

/* The first volume descriptor. Source: ECMA-119. */
enum {
	ISO_DESCRIPTOR_AT = 16 * 2048,
	AT_TYPE = 0,
	AT_MAGIC = 1,
	AT_BLOCKS = 80,
	AT_BLOCK_SIZE = 128,
	ISO_DESCRIPTOR_LEN = 130,
	PRIMARY = 1,
	/* Writers count zeros at the end that a drive wants to read ahead into; a copy may lack them. */
	ISO_PADDING = 150 * 2048,
};

/* 1: a whole volume; 0: none; -1: one that was cut short, or it cannot be read. */
static int looks_like_iso(const struct byte_source *bytes, struct err *e)
{
	unsigned char d[ISO_DESCRIPTOR_LEN];
	long k = bytes->size < ISO_DESCRIPTOR_AT ? 0 : bytes->read(bytes->arg, ISO_DESCRIPTOR_AT, d, sizeof(d), e);
	uint64_t size;

	if (k < 0)
		return -1;
	if (k != (long)sizeof(d) || memcmp(d + AT_MAGIC, "CD001", 5) != 0)
		return 0;
	size = (uint64_t)le32_get(d + AT_BLOCKS) * le16_get(d + AT_BLOCK_SIZE);
	if (d[AT_TYPE] == PRIMARY && size > bytes->size + ISO_PADDING)
		return err_set(e, ERR_INVALID, "it was cut short: the volume has %" PRIu64 " KiB, the file %" PRIu64 " KiB",
			       size >> 10, bytes->size >> 10);
	return 1;
}

static int run(const struct command_line *c, struct err *e)
{
	auto_disk_image d = disk_image_open(c->arg[0], false, e);
	bool raw = d && disk_image_raw_fd(d) >= 0;
	int iso;

	if (!d)
		return -1;
	iso = raw ? looks_like_iso(disk_image_bytes(d), e) : 0;
	if (iso < 0 || disk_image_check(d, e) < 0)
		return err_wrap(e, "%s", c->arg[0]);
	printf("%s %" PRIu64 "\n", iso ? "iso" : raw ? "raw" : "qcow2", disk_image_bytes(d)->size);
	return 0;
}

const struct command command_inspect = {
	.name = "inspect",
	.args = "FILE",
	.help = "print what an image is by its content (iso, qcow2, raw) and the bytes the guest sees",
	.nargs = 1,
	.run = run,
};
