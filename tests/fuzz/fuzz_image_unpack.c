/* By the first byte: the rest as an archive, as a packed file, as a kernel; or as changes (two bytes where, one what) to an ISO
 * volume that is right. What comes out is bounded, and a refusal is a sentence. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/image/boot_config.h"
#include "limactl-c/image/iso_write.h"
#include "limactl-c/image/kernel.h"
#include "limactl-c/image/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { OUT_MAX = 1 << 20, CHANGE = 3 };

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* A file in memory with these bytes; its path in path. */
static int memory_file(const void *p, size_t n, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && io_write_full(fd, p, n) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* A volume as ours are, with a loader's configuration. */
static const struct newfile *volume(void)
{
	static struct newfile iso = { .tmp = (char *)"iso", .fd = -1 };
	static const char cfg[] = "menuentry a {\nlinux /boot/x q\ninitrd /boot/x\n}\n";
	char x[32], grub[32], none[32] = "";
	auto_manifest m = MANIFEST_INIT;
	auto_free char *list = NULL;
	struct err e;

	if (iso.fd >= 0)
		return &iso;
	memory_file(none, sizeof(none), x);
	memory_file(cfg, sizeof(cfg) - 1, grub);
	list = xasprintf("644 boot/x %s\n644 boot/grub/grub.cfg %s\n", x, grub);
	iso.fd = memory_file("", 0, none);
	must(manifest_parse(&m, list, strlen(list), &e) == 0 && iso_write(&iso, "X", &m, &e) == 0);
	return &iso;
}

static void check(int rc, const struct sink *to, const struct err *e)
{
	must(to->len <= OUT_MAX && (rc == 0 || (*e->msg && !strchr(e->msg, '\n'))));
}

/* Each into an empty file. */
static void open_sink(struct sink *s, struct newfile *f)
{
	char path[32];
	struct err e;

	*f = (struct newfile){ .tmp = (char *)"out", .fd = memory_file("", 0, path) };
	must(sink_open(s, f, NULL, &e) == 0);
	s->max = OUT_MAX;
}

static void member(const char *archive, const char *name)
{
	auto_sink s = SINK_INIT;
	struct err e = { 0 };
	struct newfile f;

	open_sink(&s, &f);
	check(unpack_member(archive, name, &s, &e), &s, &e);
	close(f.fd);
}

static void archive(const uint8_t *data, size_t len)
{
	char path[32];
	int fd = memory_file(data, len, path);

	member(path, "boot/x");
	member(path, boot_config_paths[0]);
	close(fd);
}

static void changed_volume(const uint8_t *data, size_t len)
{
	const struct newfile *iso = volume();
	size_t n = (size_t)lseek(iso->fd, 0, SEEK_END);
	auto_free uint8_t *copy = xmalloc(n);

	must(pread(iso->fd, copy, n, 0) == (ssize_t)n);
	for (; len >= CHANGE; data += CHANGE, len -= CHANGE)
		copy[(data[0] | (size_t)data[1] << 8) % n] = data[2];
	archive(copy, n);
}

static void packed(const uint8_t *data, size_t len)
{
	auto_sink s = SINK_INIT;
	struct err e = { 0 };
	struct newfile f;
	char path[32];
	int fd = memory_file(data, len, path);

	open_sink(&s, &f);
	check(unpack_stream(fd, "packed", &s, &e), &s, &e);
	close(f.fd);
	close(fd);
}

static void kernel(const uint8_t *data, size_t len)
{
	auto_sink s = SINK_INIT;
	struct err e = { 0 };
	struct newfile f;
	struct zboot z;

	if (kernel_zboot(data, len, &z, &e) != 1)
		return;
	must(z.payload < len && z.len <= len - z.payload);
	open_sink(&s, &f);
	check(unpack_bytes(data + z.payload, z.len, "kernel", &s, &e), &s, &e);
	close(f.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const ways[])(const uint8_t *data, size_t len) = { archive, changed_volume, packed, kernel };

	if (len)
		ways[data[0] % (sizeof(ways) / sizeof(*ways))](data + 1, len - 1);
	return 0;
}
