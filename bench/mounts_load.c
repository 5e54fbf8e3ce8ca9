/* mounts_load DIR: what files cost there, measured in the guest; one figure a line, "NAME VALUE", for bench/mounts.sh.
 *
 *   write, read         MB/s of one file in blocks of 1 MiB; what is read was never read before, nor is it written to it
 *   read4k, write4k     blocks of 4 KiB a second, at random in a file, a sync at the end
 *   small, again        files of 4 KiB a second, opened, read to their end and closed; then once more
 *   files               files a second, 2000 made and removed
 *   stat                of them
 *
 * The guest's page cache is dropped before each measurement that reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, BIG = 64, BLOCK = 4096, BLOCKS = 2000, FILES = 2000, SMALL = 500 };

static char block[MIB];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "mounts_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void figure(const char *name, double amount, double since)
{
	printf("%s %.3f\n", name, amount / (now() - since));
	fflush(stdout);
}

static void drop_cache(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	must(fd >= 0 && write(fd, "3", 1) == 1, "drop_caches");
	close(fd);
}

static uint32_t draw(void)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

static void sequential(void)
{
	double t = now();
	int fd = open("big", O_RDWR | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, "big");
	for (int i = 0; i < BIG; i++) {
		memset(block, i + 1, sizeof(block));
		must(write(fd, block, sizeof(block)) == MIB, "write");
	}
	must(fsync(fd) == 0 && close(fd) == 0, "fsync");
	figure("write", BIG * (MIB / 1e6), t);
	drop_cache();
	t = now();
	fd = open("big", O_RDONLY);
	for (int i = 0; i < BIG; i++)
		must(read(fd, block, sizeof(block)) == MIB && block[7] == i + 1, "read");
	close(fd);
	figure("read", BIG * (MIB / 1e6), t);
}

static void at_random(const char *name, int writes)
{
	int fd = open("big", O_RDWR);
	double t;

	must(fd >= 0, "big");
	drop_cache();
	t = now();
	for (int i = 0; i < BLOCKS; i++) {
		off_t at = (off_t)(draw() % (BIG * (MIB / BLOCK))) * BLOCK;

		must((writes ? pwrite(fd, block, BLOCK, at) : pread(fd, block, BLOCK, at)) == BLOCK, name);
	}
	must(!writes || fsync(fd) == 0, "fsync");
	figure(name, BLOCKS, t);
	close(fd);
}

static char *name_of(int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "f/%d", i);
	return name;
}

static void many_files(void)
{
	struct stat st;
	double t = now();

	must(mkdir("f", 0755) == 0, "f");
	for (int i = 0; i < FILES; i++) {
		int fd = open(name_of(i), O_WRONLY | O_CREAT | O_EXCL, 0644);

		must(fd >= 0 && close(fd) == 0, "create");
	}
	for (int i = 0; i < FILES; i++)
		must(unlink(name_of(i)) == 0, "unlink");
	figure("files", FILES, t);
	for (int i = 0; i < SMALL; i++) {
		int fd = open(name_of(i), O_WRONLY | O_CREAT | O_EXCL, 0644);

		must(fd >= 0 && write(fd, block, BLOCK) == BLOCK && close(fd) == 0, "create");
	}
	drop_cache();
	t = now();
	for (int i = 0; i < SMALL; i++)
		must(stat(name_of(i), &st) == 0, "stat");
	figure("stat", SMALL, t);
	drop_cache();
	t = now();
	for (int i = 0; i < SMALL; i++) {
		int fd = open(name_of(i), O_RDONLY);

		must(fd >= 0 && read(fd, block, BLOCK) == BLOCK && read(fd, block, BLOCK) == 0 && close(fd) == 0, "small");
	}
	figure("small", SMALL, t);
	t = now();
	for (int i = 0; i < SMALL; i++) {
		int fd = open(name_of(i), O_RDONLY);

		must(fd >= 0 && read(fd, block, BLOCK) == BLOCK && read(fd, block, BLOCK) == 0 && close(fd) == 0, "small");
	}
	figure("again", SMALL, t);
	for (int i = 0; i < SMALL; i++)
		must(unlink(name_of(i)) == 0, "unlink");
	must(rmdir("f") == 0 && unlink("big") == 0, "remove");
}

int main(int argc, char **argv)
{
	must(argc == 2 && chdir(argv[1]) == 0, argc == 2 ? argv[1] : "usage: mounts_load DIR");
	sequential();
	at_random("read4k", 0);
	at_random("write4k", 1);
	many_files();
	return 0;
}
