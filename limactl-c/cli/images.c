#include "limactl-c/cli/images.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/qemu_img.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/paths.h"

enum { IMAGE_ARGS = 12, ANSWER_MAX = 8192, VARS_SIZE = 64 << 20 };

/* On a terminal the image program shows its progress itself; its complaint then stands there already. */
static int run_shown(const struct spawn *what, struct buf *out, struct err *e)
{
	struct spawn s = *what;
	char chunk[512];
	int fd[2], code;
	ssize_t k;
	pid_t pid;

	if (io_pipe(fd, e) < 0)
		return -1;
	s.out = fd[1];
	pid = spawn_start(&s, e);
	close(fd[1]);
	while (pid > 0 && (k = io_read_full(fd[0], chunk, sizeof(chunk))) > 0)
		buf_add(out, chunk, (size_t)k);
	close(fd[0]);
	if (pid < 0)
		return -1;
	code = spawn_wait(pid);
	return code ? err_set(e, ERR_STATE, "the image program failed (exit status %d)", code) : 0;
}

static int run_hidden(const struct spawn *s, struct buf *out, struct err *e)
{
	static const char own[] = "image: ";
	int code = spawn_run(s, out, e);
	const char *said = code > 0 ? strstr(e->msg, own) : NULL;

	if (said) {
		auto_free char *copy = xstrdup(said + strlen(own));

		err_set(e, ERR_STATE, "%s", copy);
	}
	return code ? -1 : 0;
}

int images_run(const char **argv, struct buf *out, bool shown, struct err *e)
{
	auto_free char *program = prefix_libexec("image", e);
	struct spawn s = { .argv = argv };
	int rc;

	if (!program)
		return -1;
	argv[0] = program;
	rc = shown ? run_shown(&s, out, e) : run_hidden(&s, out, e);
	if (rc == 0 && out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return rc;
}

static char *get(const char *location, const char *digest, bool packed, struct err *e)
{
	const char *argv[IMAGE_ARGS] = { "", "get" }, *what = packed ? "archive" : "image";
	bool fetched = !strncmp(location, "http:", 5) || !strncmp(location, "https:", 6);
	auto_buf out = BUF_INIT(ANSWER_MAX);
	size_t n = 2;
	char *real;

	/* What is in our own cache needs no program's help. */
	if (!digest && !strncmp(location, "cache:", 6)) {
		auto_free char *path = paths_cached(location, e);

		real = path ? realpath(path, NULL) : NULL;
		if (path && !real)
			err_errno(e, "%s", path);
		return real;
	}
	if (digest) {
		argv[n++] = "--digest";
		argv[n++] = digest;
	}
	if (packed)
		argv[n++] = "--packed";
	argv[n++] = location;
	if (fetched)
		say_info("Fetching %s", location);
	if (images_run(argv, &out, fetched && isatty(STDERR_FILENO), e) < 0) {
		err_wrap(e, "%s %s", what, location);
		return NULL;
	}
	real = realpath(out.data ? out.data : "", NULL);
	if (!real)
		err_errno(e, "%s %s: %s", what, location, out.data ? out.data : "");
	return real;
}

char *images_get(const char *location, const char *digest, struct err *e)
{
	return get(location, digest, false, e);
}

char *images_get_packed(const char *location, const char *digest, struct err *e)
{
	return get(location, digest, true, e);
}

const struct cfg_image *images_choose(const struct cfg *c, char **disk, struct err *e)
{
	err_set(e, ERR_NOTFOUND, "images: none is for %s", c->arch);
	for (size_t i = 0; i < c->images; i++) {
		const struct cfg_image *im = &c->image[i];
		bool more = false;

		if (strcmp(im->arch, c->arch))
			continue;
		*disk = images_get(im->location, im->digest, e);
		if (*disk)
			return im;
		for (size_t k = i + 1; k < c->images; k++)
			more |= !strcmp(c->image[k].arch, c->arch);
		if (more)
			say_warn("%s; trying the next", e->msg);
	}
	return NULL;
}

/* What the manifest names beside installed files. */
static int write_parts(const struct plan *p, struct err *e)
{
	auto_free char *text = plan_settings_text(p, e), *settings = xasprintf("%s/settings", p->dir);
	auto_free char *provision = xasprintf("%s/provision", p->dir);

	if (!text || fs_write_atomic(settings, text, strlen(text), 0600, e) < 0)
		return -1;
	if (fs_remove_tree(provision, e) < 0 || fs_mkdir(provision, 0700, e) < 0)
		return -1;
	for (size_t i = 0; i < p->scripts; i++) {
		auto_free char *path = xasprintf("%s/%02zu", provision, i);

		if (fs_write_atomic(path, p->script[i].text, strlen(p->script[i].text), 0700, e) < 0)
			return -1;
	}
	return 0;
}

static int make_initrd(const struct plan *p, struct err *e)
{
	auto_free char *list = xasprintf("%s/initrd.list", p->dir);
	const char *argv[IMAGE_ARGS] = { "", "initrd", "--base", p->initrd_base, "--out", p->initrd, "--list", list };
	auto_buf text = BUF_INIT(1 << 20), out = BUF_INIT(ANSWER_MAX);

	for (size_t i = 0; i < p->files; i++)
		if (buf_addf(&text, "%o %s %s\n", p->file[i].mode, p->file[i].guest_path, p->file[i].source) < 0)
			return err_set(e, ERR_INVALID, "too many files for the initramfs");
	if (fs_write_atomic(list, text.data, text.len, 0600, e) < 0)
		return -1;
	return images_run(argv, &out, false, e) < 0 ? err_wrap(e, "initramfs") : 0;
}

static int make_disk(const struct plan *p, struct err *e)
{
	auto_free char *size = xasprintf("%" PRIu64, p->disk_size);
	const char *argv[IMAGE_ARGS] = { "", "disk", "--size", size, "--out", p->disk[0].path };
	auto_buf out = BUF_INIT(ANSWER_MAX);

	if (fs_exists(p->disk[0].path))
		return 0;
	if (p->disk_base) {
		argv[6] = "--base";
		argv[7] = p->disk_base;
	}
	return images_run(argv, &out, false, e) < 0 ? err_wrap(e, "disk") : 0;
}

int images_grow(const struct plan *p, const struct plan *former, struct err *e)
{
	auto_free char *size = xasprintf("%" PRIu64, p->disk_size);
	const char *argv[] = { "qemu-img", "resize", "-q", "-f", "qcow2", p->disks ? p->disk[0].path : "", size, NULL };

	if (!p->disks || p->disk[0].name || !former->disks || p->disk_size <= former->disk_size || !fs_exists(p->disk[0].path))
		return 0;
	return qemu_img(argv, p->disk[0].path, e) == 0 ? 0 : err_wrap(e, "cannot make the disk larger");
}

/* What UEFI remembers is the instance's: made once. An empty store has the size of aarch64's flash. */
static int make_vars(const struct plan *p, struct err *e)
{
	auto_free char *tmp = xasprintf("%s.tmp", p->vars);
	auto_close int fd = -1;

	if (fs_exists(p->vars))
		return 0;
	unlink(tmp); /* of a start that was killed */
	if (p->vars_template && copy_file(p->vars_template, tmp, e) < 0)
		return -1;
	/* The copy has its template's mode, which may be that of a file nobody writes to. */
	if (p->vars_template && chmod(tmp, 0600) < 0)
		return fs_write_error(tmp, e);
	fd = open(tmp, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || (!p->vars_template && ftruncate(fd, VARS_SIZE) < 0) || fsync(fd) < 0)
		return fs_write_error(tmp, e);
	return rename(tmp, p->vars) < 0 ? fs_write_error(p->vars, e) : 0;
}

int images_prepare(const struct plan *p, struct err *e)
{
	auto_free char *sock = path_in(p->dir, PATH_SOCK_DIR);

	/* Not the folders above: an instance deleted meanwhile must not come back as a ruin. */
	if (fs_mkdir(sock, 0700, e) < 0 || write_parts(p, e) < 0)
		return -1;
	if ((p->initrd_base && make_initrd(p, e) < 0) || (p->vars && make_vars(p, e) < 0))
		return -1;
	return p->disks ? make_disk(p, e) : 0;
}
