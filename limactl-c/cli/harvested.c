#include "limactl-c/cli/harvested.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/bootfiles.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/harvest.h"
#include "limactl-c/store/paths.h"

enum { ANSWER_MAX = 256 };

/* A file that is not what the guest said it would be was cut short, or has changed since. */
static int check(const char *path, const char *sha256, struct err *e)
{
	const char *argv[] = { "", "digest", path, NULL };
	auto_free char *want = xasprintf("sha256:%s", sha256);
	auto_buf out = BUF_INIT(ANSWER_MAX);

	if (images_run(argv, &out, false, e) < 0)
		return -1;
	return out.data && !strcmp(out.data, want) ? 0 : err_set(e, ERR_INVALID, "%s has not the digest the guest said", path);
}

/* 0; -1 with the reason when there is one that is not to be used, ERR_NOTFOUND when there is none. */
static int usable(const char *dir, struct harvest *h, struct err *e)
{
	if (harvest_load(dir, h, e) < 0)
		return -1;
	if (harvest_marked(dir, HARVEST_STALE))
		return err_set(e, ERR_STATE, "its /boot has changed");
	if (harvest_marked(dir, HARVEST_TRIED)) {
		harvest_mark(dir, HARVEST_FAILED, true);
		harvest_mark(dir, HARVEST_TRIED, false);
		return err_set(e, ERR_STATE, "started without it, its agent did not answer");
	}
	if (harvest_marked(dir, HARVEST_FAILED))
		return err_set(e, ERR_NOTFOUND, "it was said before");
	return check(h->kernel, h->kernel_sha256, e) < 0 || check(h->initrd, h->initrd_sha256, e) < 0 ? -1 : 0;
}

/* A saved machine goes on with what it was started with, whatever is there by now. */
static bool is_saved(const struct plan *former)
{
	auto_free char *state = path_in(former->dir, PATH_STATE);

	return fs_exists(state);
}

void harvested_find(struct found *f, const struct plan *former)
{
	bool saved = is_saved(former);
	auto_harvest h = { 0 };
	struct err e = { 0 };

	if (saved && (!former->harvest || former->boot != PLAN_BOOT_DIRECT))
		return;
	if ((saved ? harvest_load : usable)(former->dir, &h, &e) < 0 || !(f->kernel = bootfiles_kernel(h.kernel, &e))) {
		if (e.kind != ERR_NOTFOUND)
			say_info("The guest's own loader starts it: %s", e.msg);
		return;
	}
	f->initrd = steal(&h.initrd);
	f->boot_args = steal(&h.args);
}
