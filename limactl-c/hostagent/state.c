#include "limactl-c/hostagent/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/plan/snapshot.h"
#include "limactl-c/store/paths.h"

enum { STATE_VERSION = 1 };

char *state_file(const struct plan *p)
{
	return path_in(p->dir, PATH_STATE);
}

char *state_tmp(const struct plan *p)
{
	auto_free char *file = state_file(p);

	return xasprintf("%s.tmp", file);
}

/* What stands for the version of the machine's program: another package has another size or date. Asking the program
 * itself would cost more than the rest of a restore. */
static char *program_text(const struct plan *p)
{
	const char *program = p->driver == PLAN_FAKE ? p->agent : p->qemu;
	struct err ignored;
	auto_free char *file = program ? spawn_find(program, &ignored) : NULL;
	struct stat st;

	if (!file || stat(file, &st) < 0)
		return xstrdup("none");
	return xasprintf("%s %lld %lld", program, (long long)st.st_size, (long long)st.st_mtime);
}

/* A machine's memory knows what is on its disks: one that another instance has written to since fits no more. */
static char *disks_text(const struct plan *p)
{
	auto_buf b = BUF_INIT(1 << 16);

	for (size_t i = 0; i < p->disks; i++) {
		struct stat st;

		if (p->disk[i].name && stat(p->disk[i].path, &st) == 0)
			buf_addf(&b, "%s %llu %lld %lld.%09ld\n", p->disk[i].name, (unsigned long long)st.st_ino,
				 (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	}
	return xstrdup(b.data ? b.data : "");
}

/* Of a machine that is a file only: nothing writes to its own disk, whichever copy of it that is by now. */
static char *own_disk_text(const struct plan *p)
{
	struct stat st;

	if (!p->disks || stat(p->disk[0].path, &st) < 0)
		return xstrdup("");
	return xasprintf("%lld %lld.%09ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static struct jx *note_of(const struct plan *p)
{
	auto_free char *machine = plan_machine_text(p), *program = program_text(p), *disks = disks_text(p);
	struct jx *o = jx_new_object();

	jx_set_int(o, "version", STATE_VERSION);
	jx_set_string(o, "program", program);
	jx_set_string(o, "machine", machine);
	jx_set_string(o, "disks", disks);
	return o;
}

static int write_note(const struct jx *o, const char *note, struct err *e)
{
	auto_free char *text = jx_dump_pretty(o);

	return fs_write_atomic(note, text, strlen(text), 0600, e);
}

int state_note(const struct plan *p, const char *note, struct err *e)
{
	auto_jx *o = note_of(p);

	return write_note(o, note, e);
}

static int check_note(const struct plan *p, const struct jx *o, struct err *e)
{
	auto_free char *machine = plan_machine_text(p), *program = program_text(p), *disks = disks_text(p);

	if (jx_int_or(o, "version", 0) != STATE_VERSION)
		return err_set(e, ERR_INVALID, "it was written by another version");
	if (strcmp(jx_string_or(o, "program", ""), program))
		return err_set(e, ERR_INVALID, "it was saved by another program (\"%s\", now \"%s\")",
			       jx_string_or(o, "program", ""), program);
	if (strcmp(jx_string_or(o, "machine", ""), machine))
		return err_set(e, ERR_INVALID, "it was saved by a machine with other settings");
	if (strcmp(jx_string_or(o, "disks", ""), disks))
		return err_set(e, ERR_INVALID, "an extra disk was changed since it was saved");
	if (!snapshot_state_fits(p, o))
		return err_set(e, ERR_INVALID, "the disk was set back to a snapshot since it was saved");
	return 0;
}

int state_fits(const struct plan *p, const char *note, struct err *e)
{
	auto_jx *o = jx_parse_file(note, e);

	return o ? check_note(p, o, e) : -1;
}

int state_commit(const struct plan *p, struct err *e)
{
	auto_free char *tmp = state_tmp(p), *file = state_file(p), *meta = path_in(p->dir, PATH_STATE_META);
	auto_free char *disk = own_disk_text(p);
	auto_close int fd = open(tmp, O_RDONLY | O_CLOEXEC);
	auto_jx *o = note_of(p);
	struct stat st;

	if (fd < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "save to %s", tmp);
	jx_set_int(o, "size", st.st_size);
	jx_set_string(o, "disk", disk);
	if (write_note(o, meta, e) < 0)
		return -1;
	if (rename(tmp, file) < 0)
		return err_errno(e, "save to %s", file);
	return fs_sync_dir(p->dir, e);
}

int state_check(const struct plan *p, struct err *e)
{
	auto_free char *file = state_file(p), *meta = path_in(p->dir, PATH_STATE_META), *disk = own_disk_text(p);
	auto_jx *o = NULL;
	struct stat st;

	if (stat(file, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", file);
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return err_set(e, ERR_INVALID, "%s is empty", file);
	o = jx_parse_file(meta, e);
	if (!o || check_note(p, o, e) < 0)
		return err_wrap(e, "%s", file);
	if (jx_int_or(o, "size", 0) != st.st_size)
		return err_set(e, ERR_INVALID, "%s: it is not as long as it was", file);
	if (strcmp(jx_string_or(o, "disk", ""), disk))
		return err_set(e, ERR_INVALID, "%s: the disk was changed since it was saved", file);
	return 1;
}

void state_remove(const struct plan *p)
{
	auto_free char *tmp = state_tmp(p), *file = state_file(p), *meta = path_in(p->dir, PATH_STATE_META);

	unlink(file);
	unlink(meta);
	unlink(tmp);
}
