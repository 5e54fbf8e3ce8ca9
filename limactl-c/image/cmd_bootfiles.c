/* image bootfiles ISO - the kernel, the initramfs and the arguments its own loader would give them, so that an ISO guest too
 * can be started directly. */
#include <stdio.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/image/boot_config.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/newfile.h"
#include "limactl-c/image/unpack.h"

enum { OPT_KERNEL, OPT_INITRD };

/* Appends one file of the volume to f, at a multiple of 4: where the kernel looks for the next archive of an initramfs. */
static int append(const char *iso, const char *member, const struct newfile *f, struct err *e)
{
	off_t at = (lseek(f->fd, 0, SEEK_END) + 3) & ~(off_t)3;
	auto_sink s = SINK_INIT;
	struct digest got;

	if (lseek(f->fd, at, SEEK_SET) < 0)
		return err_errno(e, "seek in %s", f->tmp);
	if (sink_open(&s, f, NULL, e) < 0 || unpack_member(iso, member, &s, e) < 0 || hash_end(s.hash, &got, e) < 0)
		return -1;
	/* Zeros at its end were left out. */
	return ftruncate(f->fd, at + (off_t)s.len) < 0 ? fs_write_error(f->tmp, e) : 0;
}

/* A configuration as text; ERR_NOTFOUND also when it is larger than any that a loader reads. */
static int read_config(const char *iso, const char *member, const struct newfile *scratch, struct buf *text, struct err *e)
{
	int rc;

	if (append(iso, member, scratch, e) < 0)
		return -1;
	if (lseek(scratch->fd, 0, SEEK_END) > BOOT_CONFIG_MAX)
		rc = err_set(e, ERR_NOTFOUND, "%s is larger than %d KiB", member, BOOT_CONFIG_MAX >> 10);
	else
		rc = lseek(scratch->fd, 0, SEEK_SET) < 0 ? err_errno(e, "seek in %s", scratch->tmp) :
							   io_read_end(scratch->fd, member, text, e);
	return ftruncate(scratch->fd, 0) < 0 ? fs_write_error(scratch->tmp, e) : rc;
}

/* The first loader's configuration that is there and names what we need. scratch is empty before and after. */
static int find_entry(const char *iso, const struct newfile *scratch, struct boot_entry *entry, struct err *e)
{
	for (const char *const *path = boot_config_paths; *path; path++) {
		auto_buf text = BUF_INIT(BOOT_CONFIG_MAX);

		if (read_config(iso, *path, scratch, &text, e) < 0) {
			if (e->kind != ERR_NOTFOUND)
				return -1;
			continue;
		}
		if (boot_config_parse(text.data ? text.data : "", text.len, entry, e) == 0)
			return 0;
	}
	return err_set(e, ERR_NOTFOUND, "%s has no configuration of a boot loader we read that names a kernel with an initramfs",
		       iso);
}

static int run(const struct command_line *c, struct err *e)
{
	auto_boot_entry entry = BOOT_ENTRY_INIT;
	auto_newfile kernel = NEWFILE_INIT, initrd = NEWFILE_INIT;
	const char *iso = c->arg[0];

	if (newfile_open(&kernel, c->opt[OPT_KERNEL], e) < 0 || newfile_open(&initrd, c->opt[OPT_INITRD], e) < 0 ||
	    find_entry(iso, &kernel, &entry, e) < 0 || append(iso, entry.kernel, &kernel, e) < 0)
		return -1;
	for (size_t i = 0; i < entry.initrds; i++)
		if (append(iso, entry.initrd[i], &initrd, e) < 0)
			return -1;
	if (newfile_commit(&kernel, c->opt[OPT_KERNEL], 0644, false, e) < 0 ||
	    newfile_commit(&initrd, c->opt[OPT_INITRD], 0644, false, e) < 0)
		return -1;
	puts(entry.args);
	return 0;
}

const struct command command_bootfiles = {
	.name = "bootfiles",
	.args = "ISO",
	.help = "write the kernel and the initramfs an ISO's own loader would start; prints their arguments",
	.nargs = 1,
	.opt = {
		[OPT_KERNEL] = { "kernel", "OUT", true },
		[OPT_INITRD] = { "initrd", "OUT", true },
	},
	.run = run,
};
