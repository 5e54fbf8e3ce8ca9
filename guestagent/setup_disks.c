/* setup_disks.c - extra disks: found by their serial numbers, formatted once, mounted at /mnt/lima-NAME, grown.
 *
 * Laid out as Lima lays them out, so that a disk may be used by its guests too: one GPT partition with a file system
 * labelled lima-NAME. Unlike there, only a disk that holds nothing is ever formatted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup_disks.h"
#include "guestagent/setup_steps.h"
#include "guestagent/trouble.h"
#include "lib/cleanup.h"
#include "lib/io.h"

enum {
	DISKS_MAX = 16,
	ARGS_MAX = 32,      /* of fsArgs */
	BLANK = 1 << 20,    /* bytes at each end that tell whether a disk holds anything */
	CHUNK = 1 << 16,
	NODE_TRIES = 200,   /* for a device to appear, 10 ms apart */
	SECTOR = 512,       /* of the numbers in /sys/block */
};
#define WORTH_GROWING (64ULL << 20) /* bytes */

struct extra {
	const char *name, *serial, *type, *args;
	bool format;
	char device[64]; /* "vdc" */
	char node[80];   /* what has the file system: "/dev/vdc1", or "/dev/vdc" when the disk has no partition */
	char mount[128];
};

bool disks_find(const struct setup *su, const char *serial, char device[64])
{
	char path[SU_PATH_MAX], file[SU_PATH_MAX];
	auto_closedir DIR *dir = opendir(su_path(su, "/sys/block", path));
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		auto_buf text = BUF_INIT(64);
		struct err e = { 0 };

		if (snprintf(file, sizeof(file), "/sys/block/%.60s/serial", d->d_name) >= (int)sizeof(file) ||
		    io_read_file(su_path(su, file, path), &text, &e) < 0 || !text.data)
			continue;
		text.data[strcspn(text.data, " \n")] = '\0';
		if (strcmp(text.data, serial))
			continue;
		snprintf(device, 64, "%.60s", d->d_name);
		return true;
	}
	return false;
}

void disks_label(const char *name, const char *type, char label[128])
{
	/* Programs that make them refuse longer ones, or cut them. */
	static const struct {
		const char *type;
		int most;
	} limits[] = { { "ext", 16 }, { "xfs", 12 }, { "vfat", 11 }, { "swap", 15 } };
	int most = 127;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (!strncmp(type, limits[i].type, strlen(limits[i].type)))
			most = limits[i].most;
	snprintf(label, 128, "lima-%.100s", name);
	label[most] = '\0';
}

/* Whether n bytes from at are zeros; as many as there are. */
static int zeros(int fd, uint64_t at, size_t n)
{
	static unsigned char chunk[CHUNK];

	while (n) {
		ssize_t k = pread(fd, chunk, n < CHUNK ? n : CHUNK, (off_t)at);

		if (k < 0)
			return -1;
		if (k == 0)
			return 1;
		if (chunk[0] || memcmp(chunk, chunk + 1, (size_t)k - 1))
			return 0;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 1;
}

int disks_is_blank(const char *path, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	int head, tail;

	if (size < 0)
		return err_errno(e, "open %s", path);
	head = zeros(fd, 0, BLANK);
	tail = head > 0 ? zeros(fd, size > BLANK ? (uint64_t)(size - BLANK) : 0, BLANK) : head;
	return head < 0 || tail < 0 ? err_errno(e, "read %s", path) : head && tail;
}

int disks_hold(const char *path)
{
	/* Not for writing: closing it would be a reason to read the partition table again. */
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
		;
	return fd;
}

static bool wait_for(const char *path)
{
	for (int n = 0; access(path, F_OK) < 0; n++) {
		if (n == NODE_TRIES)
			return false;
		usleep(10000);
	}
	return true;
}

static void disk_path(const struct extra *x, char path[80])
{
	snprintf(path, 80, "/dev/%.60s", x->device);
}

static void partition_path(const struct extra *x, char path[80])
{
	/* A name that ends in a digit has a p before the partition's: nvme0n1p1. */
	bool digit = x->device[0] && strchr("0123456789", x->device[strlen(x->device) - 1]);

	snprintf(path, 80, "/dev/%.60s%s1", x->device, digit ? "p" : "");
}

/* What has the file system: the first partition when there is one. */
static void choose_node(struct extra *x)
{
	partition_path(x, x->node);
	if (access(x->node, F_OK) < 0)
		disk_path(x, x->node);
}

/* One partition over the whole disk. A guest without sfdisk has its file system on the disk itself. */
static int make_partition(struct extra *x, struct err *e)
{
	static const char *const there[] = { "sfdisk", "--version", NULL };
	char command[200], part[80];
	const char *const argv[] = { "sh", "-c", command, NULL };

	if (su_run(there, e) < 0)
		return e->errnum == ENOENT ? 0 : -1;
	snprintf(command, sizeof(command), "echo type=%s | sfdisk --label gpt /dev/%.60s",
		 strcmp(x->type, "swap") ? "linux" : "swap", x->device);
	if (su_run(argv, e) < 0)
		return -1;
	partition_path(x, part);
	return wait_for(part) ? 0 : err_set(e, ERR_STATE, "%s does not appear", part);
}

size_t disks_split(char *args, const char **out, size_t most)
{
	size_t n = 0;
	char *save = NULL;

	for (char *a = strtok_r(args, "\n", &save); a && n < most; a = strtok_r(NULL, "\n", &save))
		out[n++] = a;
	return n;
}

static int make_file_system(const struct extra *x, struct err *e)
{
	bool swap = !strcmp(x->type, "swap");
	const char *argv[ARGS_MAX + 6];
	char program[64], label[128], args[SU_PATH_MAX];
	size_t n = 0;

	snprintf(program, sizeof(program), swap ? "mkswap" : "mkfs.%.40s", x->type);
	snprintf(args, sizeof(args), "%s", x->args);
	disks_label(x->name, x->type, label);
	argv[n++] = program;
	n += disks_split(args, argv + n, ARGS_MAX);
	argv[n++] = "-L";
	argv[n++] = label;
	argv[n++] = x->node;
	argv[n] = NULL;
	return su_run(argv, e);
}

/* A disk that holds anything is left as it is: it may be somebody's data, whatever its label says. A file system that was
 * being made when the machine died has no superblock yet, so its partition is still blank. */
static int format_if_new(struct extra *x, struct err *e)
{
	auto_close int held = -1;
	char disk[80];
	int blank;

	disk_path(x, disk);
	held = disks_hold(disk);
	blank = disks_is_blank(disk, e);
	if (blank > 0 && make_partition(x, e) < 0)
		return -1;
	choose_node(x);
	if (blank == 0)
		blank = disks_is_blank(x->node, e);
	if (blank <= 0)
		return blank;
	/* mkfs.xfs holds what it writes to itself. */
	if (held >= 0 && !strcmp(x->node, disk))
		close(steal_fd(&held));
	return make_file_system(x, e);
}

static uint64_t sys_number(const char *device, const char *file)
{
	auto_buf text = BUF_INIT(64);
	char path[200];
	struct err e = { 0 };

	snprintf(path, sizeof(path), "/sys/class/block/%.60s/%s", device, file);
	return io_read_file(path, &text, &e) < 0 || !text.data ? 0 : strtoull(text.data, NULL, 10);
}

/* The partition follows the disk. growpart ends with 1 when there is nothing to be done. */
static void grow_partition(const struct extra *x)
{
	char disk[80];
	const char *const argv[] = { "growpart", disk, "1", NULL }, *part = x->node + strlen("/dev/");
	uint64_t all = sys_number(x->device, "size"), end = sys_number(part, "start") + sys_number(part, "size");
	struct err ignored = { 0 };

	disk_path(x, disk);
	if (strcmp(disk, x->node) && end && all > end + WORTH_GROWING / SECTOR)
		su_run(argv, &ignored);
}

static int grow_file_system(const struct extra *x, struct err *e)
{
	const char *const ext[] = { "resize2fs", x->node, NULL }, *const xfs[] = { "xfs_growfs", x->mount, NULL };
	const char *const btrfs[] = { "btrfs", "filesystem", "resize", "max", x->mount, NULL };

	if (!strncmp(x->type, "ext", 3))
		return disk_has_outgrown(x->node, WORTH_GROWING) ? su_run(ext, e) : 0;
	if (!strcmp(x->type, "xfs"))
		return su_run(xfs, e);
	return !strcmp(x->type, "btrfs") ? su_run(btrfs, e) : 0;
}

static int attach(const struct setup *su, const struct extra *x, struct err *e)
{
	const char *const swapon[] = { "swapon", x->node, NULL };
	const char *const as_told[] = { "mount", "-t", x->type, x->node, x->mount, NULL };
	const char *const as_it_is[] = { "mount", x->node, x->mount, NULL };
	auto_close int held = -1;
	struct err other = { 0 };
	char disk[80];

	disk_path(x, disk);
	held = disks_hold(disk);
	if (!strcmp(x->type, "swap"))
		return su_run(swapon, e);
	if (su_mkdirs(su, x->mount, 0755, e) < 0)
		return -1;
	/* One that came with a file system of its own may have another than is said. */
	if (su_run(as_told, e) < 0 && su_run(as_it_is, &other) < 0)
		return err_wrap(e, "%s cannot be mounted", x->node);
	return grow_file_system(x, e);
}

static int one(const struct setup *su, struct extra *x, struct err *e)
{
	if (!disks_find(su, x->serial, x->device))
		return err_set(e, ERR_NOTFOUND, "the machine has no disk with the serial number %s", x->serial);
	choose_node(x);
	if (x->format && format_if_new(x, e) < 0)
		return -1;
	grow_partition(x);
	return attach(su, x, e);
}

static void cannot_use(const struct setup *su, const char *name, const char *why)
{
	char what[64];

	snprintf(what, sizeof(what), "disk %s", name);
	su_warn(su, "%s: %s", what, why);
	trouble_note(su, what, "%s", why);
}

int setup_disks(const struct setup *su, struct err *e)
{
	(void)e;
	for (size_t i = 0; i < DISKS_MAX; i++) {
		struct extra x = {
			.name = su_item(su, "disk", i, "name", NULL),
			.serial = su_item(su, "disk", i, "serial", ""),
			.type = su_item(su, "disk", i, "fsType", "ext4"),
			.args = su_item(su, "disk", i, "fsArgs", ""),
			.format = strcmp(su_item(su, "disk", i, "format", "true"), "false"),
		};
		struct err why = { 0 };

		if (!x.name)
			break;
		snprintf(x.mount, sizeof(x.mount), "/mnt/lima-%.100s", x.name);
		/* Each by itself: one that cannot be used costs no other. */
		if (one(su, &x, &why) < 0)
			cannot_use(su, x.name, why.msg);
	}
	return 0;
}
