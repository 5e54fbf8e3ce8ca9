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

int setup_grow_root(const struct setup *su, struct err *e)
{
	static const char *const grow[] = { "resize2fs", ROOT_DISK, NULL };
	auto_close int fd = open(ROOT_DISK, O_RDONLY | O_CLOEXEC);
	uint8_t super[SUPER_LEN];
	uint64_t disk = 0, used;

	(void)su;
	if (fd < 0)
		return err_errno(e, "open %s", ROOT_DISK);
	if (ioctl(fd, BLKGETSIZE64, &disk) < 0 || pread(fd, super, sizeof(super), SUPER_AT) != SUPER_LEN)
		return err_errno(e, "read %s", ROOT_DISK);
	used = ext4_size(super);
	if (!used || disk < used + WORTH_GROWING)
		return 0;
	return su_run(grow, e);
}
