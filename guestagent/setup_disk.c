#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"
#include "lib/le.h"

/* ext4's superblock, as far as the size of the file system goes (kernel: fs/ext4/ext4.h, struct ext4_super_block). */
enum {
	SUPER_AT = 1024,
	SUPER_LEN = 1024,
	SUPER_BLOCKS_LO = 4,
	SUPER_LOG_BLOCK = 24,
	SUPER_MAGIC = 56,
	SUPER_BLOCKS_HI = 336,
	EXT4_MAGIC = 0xef53,
};
#define WORTH_GROWING (64ULL << 20) /* bytes; less may be the rounding of an image's size */

/* Bytes the file system takes, 0 when it is no ext4. */
static uint64_t ext4_size(const uint8_t super[SUPER_LEN])
{
	uint64_t blocks = le32_get(super + SUPER_BLOCKS_LO) | (uint64_t)le32_get(super + SUPER_BLOCKS_HI) << 32;
	uint32_t shift = le32_get(super + SUPER_LOG_BLOCK);

	if ((super[SUPER_MAGIC] | super[SUPER_MAGIC + 1] << 8) != EXT4_MAGIC || shift > 6)
		return 0;
	return blocks << (10 + shift);
}

/* *room: bytes of the device behind its file system, 0 when that is no ext4. */
static int room_behind(const char *device, uint64_t *room, struct err *e)
{
	auto_close int fd = open(device, O_RDONLY | O_CLOEXEC);
	uint8_t super[SUPER_LEN];
	uint64_t disk = 0, used;

	if (fd < 0)
		return err_errno(e, "open %s", device);
	if (ioctl(fd, BLKGETSIZE64, &disk) < 0 || pread(fd, super, sizeof(super), SUPER_AT) != SUPER_LEN)
		return err_errno(e, "read %s", device);
	used = ext4_size(super);
	*room = used && disk > used ? disk - used : 0;
	return 0;
}

bool disk_has_outgrown(const char *device, uint64_t by)
{
	struct err ignored = { 0 };
	uint64_t room;

	return room_behind(device, &room, &ignored) == 0 && room >= by;
}

int setup_grow_root(const struct setup *su, struct err *e)
{
	static const char *const grow[] = { "resize2fs", ROOT_DISK, NULL };
	uint64_t room;

	(void)su;
	if (room_behind(ROOT_DISK, &room, e) < 0)
		return -1;
	return room < WORTH_GROWING ? 0 : su_run(grow, e);
}
