/* image inspect FILE - what an image is by its content, whatever its name: iso, qcow2 or raw; other formats are refused by
 * name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "limactl-c/image/command.h"
#include "limactl-c/image/disk_image.h"

enum { ISO_MAGIC_AT = 16 * 2048 + 1 }; /* in the first volume descriptor */

static int looks_like_iso(const struct byte_source *bytes, struct err *e)
{
	static const char magic[] = "CD001";
	char have[sizeof(magic) - 1];
	long k = bytes->size < ISO_MAGIC_AT ? 0 : bytes->read(bytes->arg, ISO_MAGIC_AT, have, sizeof(have), e);

	return k < 0 ? -1 : k == (long)sizeof(have) && !memcmp(have, magic, sizeof(have));
}

static int run(const struct command_line *c, struct err *e)
{
	auto_disk_image d = disk_image_open(c->arg[0], false, e);
	const struct byte_source *bytes = d ? disk_image_bytes(d) : NULL;
	bool raw = d && disk_image_raw_fd(d) >= 0;
	int iso = raw ? looks_like_iso(bytes, e) : 0;

	if (!d || iso < 0)
		return -1;
	printf("%s %" PRIu64 "\n", iso ? "iso" : raw ? "raw" : "qcow2", bytes->size);
	return 0;
}

const struct command command_inspect = {
	.name = "inspect",
	.args = "FILE",
	.help = "print what an image is by its content (iso, qcow2, raw) and the bytes the guest sees",
	.nargs = 1,
	.run = run,
};
