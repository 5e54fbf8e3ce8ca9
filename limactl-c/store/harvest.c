#include "limactl-c/store/harvest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/paths.h"

#define RECORD "harvest.json"

static const char *const marks[] = { [HARVEST_TRIED] = "tried", [HARVEST_FAILED] = "failed", [HARVEST_STALE] = "stale" };

/* Of the folder, or of the one being made. */
static char *file(const char *dir, bool fresh, const char *name)
{
	auto_free char *folder = path_in(dir, PATH_HARVEST);

	return xasprintf("%s%s/%s", folder, fresh ? FS_WRITTEN : "", name);
}

void harvest_free(struct harvest *h)
{
	free(h->kernel);
	free(h->initrd);
	free(h->kernel_sha256);
	free(h->initrd_sha256);
	free(h->args);
	free(h->boot);
	*h = (struct harvest){ 0 };
}

/* --- marks --- */

void harvest_mark(const char *dir, enum harvest_mark m, bool on)
{
	auto_free char *path = file(dir, false, marks[m]);
	int fd;

	if (!on) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

bool harvest_marked(const char *dir, enum harvest_mark m)
{
	auto_free char *path = file(dir, false, marks[m]);

	return fs_exists(path);
}

/* --- the record --- */

static int take(const struct jx *o, const char *member, char **out, struct err *e)
{
	const char *text = jx_string(o, member, e);

	*out = text ? xstrdup(text) : NULL;
	return text ? 0 : -1;
}

int harvest_load(const char *dir, struct harvest *out, struct err *e)
{
	auto_free char *path = file(dir, false, RECORD);
	auto_jx *o = NULL;

	*out = (struct harvest){ 0 };
	if (!fs_exists(path))
		return err_set(e, ERR_NOTFOUND, "%s is not there", path);
	o = jx_parse_file(path, e);
	if (!o)
		return -1;
	if (take(o, "kernel", &out->kernel_sha256, e) < 0 || take(o, "initrd", &out->initrd_sha256, e) < 0 ||
	    take(o, "args", &out->args, e) < 0 || take(o, "boot", &out->boot, e) < 0) {
		harvest_free(out);
		return err_wrap(e, "%s", path);
	}
	out->kernel = file(dir, false, "kernel");
	out->initrd = file(dir, false, "initrd");
	return 0;
}

/* --- making one --- */

char *harvest_new_file(const char *dir, bool kernel)
{
	return file(dir, true, kernel ? "kernel" : "initrd");
}

void harvest_abandon(const char *dir)
{
	auto_free char *folder = path_in(dir, PATH_HARVEST), *fresh = xasprintf("%s" FS_WRITTEN, folder);
	struct err none;

	fs_remove_tree(fresh, &none);
}

int harvest_begin(const char *dir, struct err *e)
{
	auto_free char *folder = path_in(dir, PATH_HARVEST), *fresh = xasprintf("%s" FS_WRITTEN, folder);

	return fs_remove_tree(fresh, e) < 0 ? -1 : fs_mkdir(fresh, 0700, e);
}

int harvest_commit(const char *dir, const struct harvest_answer *a, char digest[2][SHA256_HEX + 1], struct err *e)
{
	auto_free char *folder = path_in(dir, PATH_HARVEST), *fresh = xasprintf("%s" FS_WRITTEN, folder);
	auto_free char *record = file(dir, true, RECORD), *text = NULL;
	auto_jx *o = jx_new_object();

	jx_set_string(o, "kernel", digest[0]);
	jx_set_string(o, "initrd", digest[1]);
	jx_set_string(o, "args", a->args);
	jx_set_string(o, "boot", a->boot);
	text = jx_dump_pretty(o);
	if (fs_write_atomic(record, text, strlen(text), 0600, e) < 0 || fs_remove_tree(folder, e) < 0)
		return -1;
	if (rename(fresh, folder) < 0)
		return err_errno(e, "cannot rename %s", fresh);
	return fs_sync_dir(dir, e);
}
