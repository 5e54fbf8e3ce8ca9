/* The fake driver with a stand-in for the agent: this very program, started again with "daemon". */
#include "tests/unit/driver_util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"

static struct plan_pair settings[] = {
	{ (char *)"hostname", (char *)"lima-t" },
	{ (char *)"tuning.cacheTrim", (char *)"true" },
	{ (char *)"provision.00.mode", (char *)"boot" },
};
static struct plan_script script[] = { { (char *)"boot", (char *)"#!/bin/sh\n", NULL } };
static char self[4096];

/* Says its pid to whoever connects. Starts a child of its own that would go on for ever. */
static int agent_main(char **argv)
{
	pid_t pid = getpid();

	if (strcmp(argv[2], "--carrier") || strcmp(argv[3], "listen:4,5") || strcmp(argv[4], "--settings"))
		return 3;
	alarm(150); /* a test that failed leaves nothing behind for long */
	if (fork() == 0) {
		alarm(150);
		signal(SIGHUP, SIG_IGN);
		for (;;)
			pause();
	}
	listen(4, 16);
	for (;;) {
		int fd = accept(4, NULL, NULL);

		if (fd >= 0 && write(fd, &pid, sizeof(pid)) > 0)
			while (read(fd, &(char){ 0 }, 1) > 0)
				;
		close(fd);
	}
}

static void make(struct rig *r)
{
	*r = (struct rig){ .dir = "/tmp/fake-XXXXXX", .ops = &driver_fake };
	assert_non_null(mkdtemp(r->dir));
	r->plan = (struct plan){ .name = (char *)"t", .dir = r->dir, .driver = PLAN_FAKE, .agent = self,
				 .setting = settings, .settings = 3, .script = script, .scripts = 1 };
	rig_open(r);
}

static void end(struct rig *r)
{
	struct err e = { 0 };

	rig_close(r);
	assert_int_equal(fs_remove_tree(r->dir, &e), 0);
}

static pid_t ask(struct rig *r)
{
	struct err e = { 0 };
	int fd = r->ops->carrier(r->vm, &e);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pid_t pid = 0;

	assert_true(fd >= 0);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(read(fd, &pid, sizeof(pid)), sizeof(pid));
	close(fd);
	return pid;
}

static bool is_locked(const struct rig *r)
{
	char path[100];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/vm.lock", r->dir);
	fd = open(path, O_RDWR);
	rc = flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return rc < 0;
}

static void wait_dead(pid_t pid)
{
	for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++)
		poll(NULL, 0, 10);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_life(void **state)
{
	struct rig r;
	struct buf text = BUF_INIT(4096);
	struct err e = { 0 };
	char path[100], told[200];
	pid_t pid;

	(void)state;
	make(&r);
	RIG_REFUSED(&r, pause);
	RIG_BEGIN(&r, start);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	pid = ask(&r);
	assert_int_equal(pid, r.ops->pid(r.vm));
	assert_int_equal(ask(&r), pid);
	assert_true(is_locked(&r));
	RIG_REFUSED(&r, start);
	snprintf(path, sizeof(path), "%s/fake/settings", r.dir);
	assert_int_equal(io_read_file(path, &text, &e), 0);
	/* Nothing that tunes the host, or tells of it. */
	snprintf(told, sizeof(told), "hostname=lima-t\nprovision.00.mode=system\nssh.folder=%s/fake/ssh\n", r.dir);
	assert_string_equal(text.data, told);
	assert_true(rig_has(&r, "fake/provision/00"));
	assert_true(rig_has(&r, "fake/boot-id"));

	RIG_BEGIN(&r, pause);
	rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	RIG_BEGIN(&r, resume);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	assert_int_equal(ask(&r), pid);

	RIG_BEGIN(&r, powerdown);
	rig_expect(&r, VM_EV_DONE, VM_OFF);
	rig_quiet(&r);
	assert_false(rig_has(&r, "agent.sock"));
	assert_false(is_locked(&r)); /* the agent's child is gone as well: it held the lock too */
	end(&r);
	buf_free(&text);
}

static void test_save_restore(void **state)
{
	struct rig r;
	char path[100];
	pid_t pid;

	(void)state;
	make(&r);
	snprintf(path, sizeof(path), "%s/vm.state", r.dir);
	RIG_BEGIN(&r, start);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	pid = ask(&r);
	RIG_BEGIN(&r, save, path);
	rig_expect(&r, VM_EV_DONE, VM_OFF);
	wait_dead(pid);
	assert_true(rig_has(&r, "vm.state"));
	RIG_BEGIN(&r, restore, path);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	assert_false(rig_has(&r, "vm.state"));
	assert_int_not_equal(ask(&r), pid);
	r.ops->kill(r.vm);
	rig_expect(&r, VM_EV_EXITED, VM_OFF);
	end(&r);
}

static void test_adopt(void **state)
{
	struct rig r;
	struct err e = { 0 };
	pid_t pid;

	(void)state;
	make(&r);
	assert_int_equal(r.ops->adopt(r.vm, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	RIG_BEGIN(&r, start);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	pid = ask(&r);
	RIG_BEGIN(&r, pause);
	rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	rig_close(&r);

	rig_open(&r);
	RIG_BEGIN(&r, adopt);
	rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	assert_int_equal(r.ops->pid(r.vm), pid);
	RIG_BEGIN(&r, resume);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	assert_int_equal(ask(&r), pid);
	kill(pid, SIGKILL);
	rig_fails(&r, VM_EV_EXITED, VM_OFF, "agent has ended"); /* no child of ours: how is not known */
	assert_int_equal(r.ops->adopt(r.vm, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	end(&r);
}

static void test_ends_by_itself(void **state)
{
	struct rig r;

	(void)state;
	make(&r);
	RIG_BEGIN(&r, start);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	kill(ask(&r), SIGUSR1);
	rig_fails(&r, VM_EV_EXITED, VM_OFF, "killed by signal 10");
	r.plan.agent = (char *)"/nonexistent/agent";
	{
		struct err e = { 0 };

		assert_int_equal(r.ops->start(r.vm, &e), -1);
		assert_non_null(strstr(e.msg, "cannot run /nonexistent/agent"));
	}
	assert_int_equal(r.ops->state(r.vm), VM_OFF);
	assert_false(rig_has(&r, "agent.sock"));
	end(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_save_restore),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_ends_by_itself),
	};

	if (argc > 4 && !strcmp(argv[1], "daemon"))
		return agent_main(argv);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
