/* image kernel IN OUT - a kernel as QEMU and VZ start it. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "limactl-c/image/command.h"
#include "limactl-c/image/kernel.h"
#include "limactl-c/image/unpack.h"

/* A file in memory. */
struct mapped {
	unsigned char *p;
	size_t n;
};

static void unmap(struct mapped *m)
{
	if (m->p)
		munmap(m->p, m->n);
}

static int map(const char *path, struct mapped *m, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "cannot open %s", path);
	if (!S_ISREG(st.st_mode) || !st.st_size || st.st_size > KERNEL_MAX)
		return err_set(e, ERR_INVALID, "%s is no regular file of 1 byte to %d MiB", path, KERNEL_MAX >> 20);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, "cannot read %s", path);
	*m = (struct mapped){ p, (size_t)st.st_size };
	return 0;
}

static int run(const struct command_line *c, struct err *e)
{
	CLEANUP(unmap) struct mapped m = { 0 };
	const char *in = c->arg[0], *out = c->arg[1];
	auto_newfile f = NEWFILE_INIT;
	auto_sink s = SINK_INIT;
	struct digest got;
	struct zboot z;
	int packed;

	if (map(in, &m, e) < 0)
		return -1;
	packed = kernel_zboot(m.p, m.n, &z, e);
	if (packed < 0)
		return err_wrap(e, "%s", in);
	if (newfile_open(&f, out, e) < 0 || sink_open(&s, &f, NULL, e) < 0 ||
	    (packed ? unpack_bytes(m.p + z.payload, z.len, in, &s, e) : sink_write(&s, m.p, m.n, e)) < 0 ||
	    sink_end(&s, &got, e) < 0)
		return -1;
	return newfile_commit(&f, out, 0644, false, e);
}

const struct command command_kernel = {
	.name = "kernel",
	.args = "IN OUT",
	.help = "write the plain kernel inside an EFI zboot image, any other one as it is",
	.nargs = 2,
	.run = run,
};
