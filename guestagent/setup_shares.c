/* setup_shares.c - folders of the host: each mounted where the template says, from outside in. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "guestagent/setup_steps.h"
#include "guestagent/trouble.h"
#include "lib/cleanup.h"

enum { SHARES_MAX = 32, TYPE_MAX = 16, WHY_MAX = 1 << 16 };

/* The file system, and for 9p its way to the host. A kernel may have them built in, or none: mounting tells. */
static void load_modules(const char *type)
{
	const char *const ninep[] = { "modprobe", "-aq", "9p", "9pnet_virtio", NULL };
	const char *const other[] = { "modprobe", "-aq", type, NULL };
	struct err ignored = { 0 };

	su_run(strcmp(type, "9p") == 0 ? ninep : other, &ignored);
}

static int one(const struct setup *su, size_t i, const char *point, const char *type, struct err *e)
{
	const char *tag = su_item(su, "mount", i, "tag", "");
	char path[SU_PATH_MAX];
	unsigned long flags = strcmp(su_item(su, "mount", i, "writable", ""), "true") == 0 ? 0 : MS_RDONLY;

	if (su_mkdirs(su, point, 0755, e) < 0)
		return -1;
	if (mount(tag, su_path(su, point, path), type, flags, su_item(su, "mount", i, "options", "")) == 0)
		return 0;
	/* What the kernel has to say is one number for all of these. */
	if (errno == ENODEV)
		return err_set(e, ERR_STATE, "this guest's kernel has no %s: use another `mountType`", type);
	return err_errno(e, "mount the host's folder by %s", type);
}

int setup_share(const struct setup *su, size_t i, struct err *e)
{
	return one(su, i, su_item(su, "mount", i, "point", ""), su_item(su, "mount", i, "type", "9p"), e);
}

int setup_shares(const struct setup *su, struct err *e)
{
	char loaded[TYPE_MAX] = "";
	auto_buf all = BUF_INIT(WHY_MAX);

	(void)e;
	for (size_t i = 0; i < SHARES_MAX; i++) {
		const char *point = su_item(su, "mount", i, "point", NULL), *type = su_item(su, "mount", i, "type", "9p");
		struct err why = { 0 };

		if (!point)
			break;
		if (strcmp(loaded, type) != 0)
			load_modules(type);
		snprintf(loaded, sizeof(loaded), "%s", type);
		/* Each by itself: one that cannot be mounted costs no other. */
		if (one(su, i, point, type, &why) == 0)
			continue;
		su_warn(su, "mount %s: %s", point, why.msg);
		buf_addf(&all, "%s%s: %s", all.len ? "; " : "", point, why.msg);
	}
	if (all.len)
		trouble_note(su, "mounts", "%s", all.data);
	return 0;
}
