/* qemu_rig.h - the QEMU driver on a scripted QEMU: the test's own program, started again as "qemu". What that does wrong is said by
 * the plan's cpu. */
#ifndef LIMA_TESTS_QEMU_RIG_H
#define LIMA_TESTS_QEMU_RIG_H

#include "tests/unit/driver_util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "tests/unit/scripted_qemu.h"

static char self[4096];

static inline void make(struct rig *r, const char *how)
{
	*r = (struct rig){ .dir = "/tmp/qemu-XXXXXX", .ops = &driver_qemu };
	assert_non_null(mkdtemp(r->dir));
	assert_int_equal(chdir(r->dir), 0);
	r->plan = (struct plan){ .name = (char *)"t", .dir = r->dir, .arch = (char *)"x86_64", .qemu = self,
				 .machine = (char *)"q35", .cpu = (char *)how, .cpus = 1, .memory = 1 << 28 };
	rig_open(r);
}

static inline void end(struct rig *r)
{
	struct err e = { 0 };

	rig_close(r);
	assert_int_equal(fs_remove_tree(r->dir, &e), 0);
}

/* A machine that is gone leaves no socket and no lock. */
static inline void check_clean(struct rig *r)
{
	static const char *const files[] = { "qmp-ha.sock", "qmp.sock", "agent.sock", "serial.sock", "qemu.pid" };
	int fd = open("vm.lock", O_RDWR);

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_false(rig_has(r, files[i]));
	assert_int_equal(r->ops->pid(r->vm), 0);
	assert_int_equal(r->ops->fd(r->vm), -1);
	assert_int_equal(r->ops->deadline(r->vm), -1);
	if (fd < 0)
		return;
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
}

static inline void begin_running(struct rig *r, const char *how)
{
	make(r, how);
	RIG_BEGIN(r, start);
	assert_int_equal(r->ops->state(r->vm), VM_STARTING);
	rig_expect(r, VM_EV_DONE, VM_RUNNING);
	assert_true(r->ops->pid(r->vm) > 0);
}

static inline void finish(struct rig *r)
{
	r->ops->kill(r->vm);
	rig_expect(r, VM_EV_EXITED, VM_OFF);
	rig_quiet(r);
	check_clean(r);
	end(r);
}

static inline int setup(void **state)
{
	(void)state;
	alarm(100);
	return 0;
}

/* What main() does. */
#define qemu_rig_main(argc, argv, tests)                                               \
	((argc) > 2 && !strcmp((argv)[1], "-name")            ? qemu_main(argc, argv) :       \
	 readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ? 1 :                          \
								  cmocka_run_group_tests(tests, setup, NULL))

#endif
