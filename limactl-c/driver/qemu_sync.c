/* A saved machine must be on the disk before it counts, and an fsync of hundreds of megabytes can take seconds, so a
 * child process of ours waits for it and says through a pipe how it went. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/spawn_child.h"
#include "limactl-c/driver/qemu_vm.h"

static _Noreturn void sync_and_tell(int fd, int pipe_w)
{
	/* A connection the host agent closes meanwhile must not stay open here. */
	int result = spawn_keep_two(&fd, &pipe_w) < 0 || fsync(fd) < 0 ? errno : 0;

	_exit(io_write_full(pipe_w, &result, sizeof(result)) < 0);
}

int qemu_sync_begin(struct vm *vm, struct err *e)
{
	auto_close int r = -1, w = -1;
	int fd[2];

	if (io_pipe(fd, e) < 0)
		return -1;
	r = fd[0];
	w = fd[1];
	io_set_nonblock(r, true);
	vm->sync_pid = fork();
	if (vm->sync_pid == 0)
		sync_and_tell(vm->state_fd, w);
	if (vm->sync_pid < 0)
		return err_errno(e, "fork");
	vm->sync_fd = steal_fd(&r);
	return waitset_put(vm->waits, vm->sync_fd, false, e);
}

int qemu_sync_end(struct vm *vm, struct err *e)
{
	int result = EIO; /* when it died without a word */
	ssize_t k;

	do
		k = read(vm->sync_fd, &result, sizeof(result));
	while (k < 0 && errno == EINTR);
	if (k < 0 && errno == EAGAIN)
		return 0;
	cleanup_closep(&vm->sync_fd);
	vm->sync_fd = -1;
	while (waitpid(vm->sync_pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!result)
		return 1;
	errno = result;
	return err_errno(e, "sync %s", vm->path);
}
