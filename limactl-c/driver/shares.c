#include "limactl-c/driver/shares.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/common.h"
#include "limactl-c/store/paths.h"

char *vm_share_socket(const struct plan *p, size_t mount)
{
	return xasprintf("%s/virtiofsd-%zu.sock", p->dir, mount);
}

/* Within -o a comma ends a value. */
static char *escape(const char *path)
{
	char *out = xcalloc(2 * strlen(path) + 1, 1), *to = out;

	for (; *path; path++) {
		if (*path == ',' || *path == '\\')
			*to++ = '\\';
		*to++ = *path;
	}
	return out;
}

char **vm_share_args(const struct plan *p, const struct plan_mount *m, bool root)
{
	auto_free char *source = escape(m->host_path);
	char **argv = xcalloc(6, sizeof(*argv));
	size_t n = 0;

	argv[n++] = xstrdup(p->virtiofsd);
	argv[n++] = xstrdup("--fd=3");
	if (p->virtiofsd_old) {
		argv[n++] = xstrdup("-o");
		argv[n++] = xasprintf("source=%s,xattr,timeout=0,log_level=warn", source);
	} else {
		argv[n++] = xasprintf("--shared-dir=%s", m->host_path);
		/* Root's is kept from writing by its namespace (spawn.h). */
		if (!m->writable && !root)
			argv[n++] = xstrdup("--readonly");
	}
	return argv;
}

static int start(struct vm_shares *s, const struct plan *p, size_t i, struct spawner *spawner, struct err *e)
{
	const struct plan_mount *m = &p->mount[i];
	auto_free char *path = vm_share_socket(p, i), *log = path_in(p->dir, PATH_DRIVER_LOG);
	auto_close int fd = fs_listen_unix(path, 0600, e);
	bool root = geteuid() == 0;
	struct spawn what = { .fd = { fd }, .fds = 1, .log = log, .new_session = true, .for_next = true,
			      .readonly = root && !m->writable ? m->host_path : NULL };
	char **argv;
	pid_t pid;

	/* It waits in accept(). */
	if (fd < 0 || io_set_nonblock(fd, false) < 0)
		return fd < 0 ? -1 : err_errno(e, "%s", path);
	argv = vm_share_args(p, m, root);
	what.argv = (const char *const *)argv;
	pid = spawner_start(spawner, &what, e);
	vm_args_free(argv);
	if (pid < 0)
		return err_wrap(e, "%s for %s", p->virtiofsd, m->host_path);
	s->pid[s->count] = pid;
	s->pidfd[s->count++] = vm_pidfd(pid);
	return 0;
}

int vm_shares_start(struct vm_shares *s, const struct plan *p, struct spawner *spawner, struct err *e)
{
	for (size_t i = 0; i < p->mounts; i++)
		if (p->mount[i].type == PLAN_MOUNT_VIRTIOFS && start(s, p, i, spawner, e) < 0) {
			vm_shares_end(s, p);
			return -1;
		}
	return 0;
}

void vm_shares_end(struct vm_shares *s, const struct plan *p)
{
	while (s->count) {
		s->count--;
		vm_signal(s->pidfd[s->count], s->pid[s->count], SIGTERM);
		cleanup_closep(&s->pidfd[s->count]);
	}
	for (size_t i = 0; i < p->mounts; i++) {
		auto_free char *path = vm_share_socket(p, i);

		if (p->mount[i].type == PLAN_MOUNT_VIRTIOFS)
			unlink(path);
	}
}
