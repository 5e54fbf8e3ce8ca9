#include "limactl-c/cli/shares.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/plan/nested.h"

enum { ALL_MAX = 1 << 16 };

static int prepare(const struct plan *p, const struct plan_mount *m, struct err *e)
{
	const char *path = m->host_path;

	if (nested_check(p, m, e) < 0)
		return -1;
	if (access(path, F_OK) < 0 && errno == ENOENT) {
		if (fs_mkdirs(path, 0700, e) < 0)
			return err_wrap(e, "%s", path);
		say_info("Created the folder %s, which is shared with the guest", path);
	}
	return access(path, R_OK | X_OK) < 0 ? err_errno(e, "%s cannot be read", path) : 0;
}

int shares_prepare(const struct plan *p, struct err *e)
{
	auto_buf all = BUF_INIT(ALL_MAX);

	for (size_t i = 0; i < p->mounts; i++) {
		struct err why = { 0 };

		if (prepare(p, &p->mount[i], &why) < 0)
			buf_addf(&all, "%s%s", all.len ? "; " : "", why.msg);
	}
	return all.len ? err_set(e, ERR_INVALID, "mounts: %s", all.data) : 0;
}
