#include "limactl-c/cli/bootfiles.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/sha256.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/store/paths.h"

enum { ARGS_MAX = 4096 };

/* The cache's folder for what is made of the file; malloc'd. */
static char *folder_of(const char *path, struct err *e)
{
	auto_free char *cache = paths_cache(e), *real = realpath(path, NULL), *text = NULL;
	char key[SHA256_HEX + 1];
	struct stat st;

	if (!cache)
		return NULL;
	if (!real || stat(real, &st) < 0)
		return err_errno(e, "%s", path), NULL;
	text = xasprintf("%s %lld %lld.%09ld", real, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
			 st.st_mtim.tv_nsec);
	sha256_hex(text, strlen(text), key);
	return xasprintf("%s/boot/sha256-%s", cache, key);
}

/* A folder beside dir to make its files in. */
static char *work_folder(const char *dir, struct err *e)
{
	auto_free char *parent = fs_parent(dir), *work = xasprintf("%s/tmp.XXXXXX", parent);

	if (fs_mkdirs(parent, 0755, e) < 0)
		return NULL;
	if (!mkdtemp(work))
		return fs_error("create folder", work, e), NULL;
	return steal(&work);
}

/* The work becomes the folder, unless another process was faster with the same. */
static int finish(const char *work, const char *dir, struct err *e)
{
	struct err none;

	if (rename(work, dir) == 0)
		return 0;
	fs_error("create", dir, e);
	fs_remove_tree(work, &none);
	return fs_exists(dir) ? 0 : -1;
}

static int take_from_iso(const char *iso, const char *work, struct err *e)
{
	auto_free char *kernel = xasprintf("%s/kernel", work), *initrd = xasprintf("%s/initrd", work);
	auto_free char *args = xasprintf("%s/args", work);
	const char *argv[] = { "", "bootfiles", "--kernel", kernel, "--initrd", initrd, iso, NULL };
	auto_buf out = BUF_INIT(ARGS_MAX);

	return images_run(argv, &out, false, e) < 0 ? -1 : fs_write_atomic(args, out.data ? out.data : "", out.len, 0644, e);
}

static int unwrap(const char *kernel, const char *work, struct err *e)
{
	auto_free char *out = xasprintf("%s/kernel", work);
	const char *argv[] = { "", "kernel", kernel, out, NULL };
	auto_buf said = BUF_INIT(ARGS_MAX);

	return images_run(argv, &said, false, e);
}

/* The folder of path, filled by fill unless it is there. */
static char *made(const char *path, int (*fill)(const char *from, const char *work, struct err *e), struct err *e)
{
	auto_free char *dir = folder_of(path, e), *work = NULL;
	struct err none;

	if (!dir || fs_exists(dir))
		return steal(&dir);
	work = work_folder(dir, e);
	if (!work)
		return NULL;
	if (fill(path, work, e) < 0) {
		fs_remove_tree(work, &none);
		return NULL;
	}
	return finish(work, dir, e) < 0 ? NULL : steal(&dir);
}

int bootfiles_of_iso(const char *iso, char **kernel, char **initrd, char **args, struct err *e)
{
	auto_free char *dir = made(iso, take_from_iso, e), *plain = NULL, *file = NULL;
	auto_buf text = BUF_INIT(ARGS_MAX);

	if (!dir)
		return -1;
	plain = xasprintf("%s/kernel", dir);
	file = xasprintf("%s/args", dir);
	if (io_read_file(file, &text, e) < 0 || !(*kernel = bootfiles_kernel(plain, e)))
		return -1;
	*initrd = xasprintf("%s/initrd", dir);
	*args = xstrdup(text.data ? text.data : "");
	return 0;
}

/* Only the image program looks further into it. */
static bool is_zboot(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[8];

	return fd >= 0 && io_read_full(fd, head, sizeof(head)) == (ssize_t)sizeof(head) && !memcmp(head, "MZ", 2) &&
	       !memcmp(head + 4, "zimg", 4);
}

char *bootfiles_kernel(const char *path, struct err *e)
{
	auto_free char *dir = NULL;

	if (!is_zboot(path))
		return xstrdup(path);
	dir = made(path, unwrap, e);
	return dir ? xasprintf("%s/kernel", dir) : NULL;
}
