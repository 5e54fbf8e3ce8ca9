#include "limactl-c/base/qemu_img.h"

#include <stddef.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/spawn.h"

enum { SECONDS = 60 };

int qemu_img(const char *const *argv, const char *path, struct err *e)
{
	struct spawn s = { .argv = argv, .seconds = SECONDS };
	int code = spawn_run(&s, NULL, e);

	if (code < 0 && e->kind == ERR_NOTFOUND)
		return err_set(e, ERR_NOTFOUND, "qemu-img is not installed (Debian: qemu-utils, Homebrew: qemu)");
	return code == 0 ? 0 : fs_told_full(path, e);
}
