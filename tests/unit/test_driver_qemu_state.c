/* The QEMU driver against a scripted QEMU (scripted_qemu.h): this very program, started again as "qemu". What it does
 * wrong is said by the plan's cpu. */
#include "tests/unit/qemu_rig.h"

static void test_life(void **state)
{
	struct rig r;
	struct err e = { 0 };
	int fd;

	(void)state;
	begin_running(&r, "ok");
	RIG_REFUSED(&r, start);
	RIG_REFUSED(&r, resume);
	RIG_BEGIN(&r, pause);
	RIG_REFUSED(&r, save, "vm.state"); /* one at a time */
	rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	RIG_REFUSED(&r, pause);
	RIG_BEGIN(&r, resume);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	fd = r.ops->carrier(r.vm, &e);
	assert_true(fd >= 0);
	close(fd);
	fd = open("vm.lock", O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	close(fd);
	RIG_BEGIN(&r, powerdown);
	rig_expect(&r, VM_EV_DONE, VM_OFF);
	rig_quiet(&r);
	check_clean(&r);
	assert_true(rig_has(&r, "serial.log"));
	end(&r);
}

static void test_start_again(void **state)
{
	struct rig r;

	(void)state;
	begin_running(&r, "ok");
	for (int i = 0; i < 3; i++) {
		RIG_BEGIN(&r, powerdown);
		rig_expect(&r, VM_EV_DONE, VM_OFF);
		RIG_BEGIN(&r, start);
		rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	}
	finish(&r);
}

static void save_and_restore(const char *how)
{
	struct rig r;
	struct buf text = BUF_INIT(100);
	struct err e = { 0 };

	begin_running(&r, how);
	for (int i = 0; i < 3; i++) {
		RIG_BEGIN(&r, save, "vm.state");
		rig_expect(&r, VM_EV_DONE, VM_OFF);
		rig_quiet(&r);
		check_clean(&r);
		text.len = 0;
		assert_int_equal(io_read_file("vm.state", &text, &e), 0);
		assert_string_equal(text.data, "STATE");
		RIG_BEGIN(&r, restore, "vm.state");
		rig_expect(&r, VM_EV_DONE, VM_RUNNING);
		assert_false(rig_has(&r, "vm.state"));
	}
	buf_free(&text);
	finish(&r);
}

static void test_save_restore(void **state)
{
	(void)state;
	save_and_restore("ok");
	save_and_restore("early");
}

static void test_save_fails(void **state)
{
	struct rig r;
	struct err e = { 0 };

	(void)state;
	begin_running(&r, "no-space");
	assert_int_equal(r.ops->save(r.vm, "nowhere/vm.state", &e), -1);
	assert_int_equal(r.ops->state(r.vm), VM_RUNNING);
	RIG_BEGIN(&r, save, "vm.state");
	rig_fails(&r, VM_EV_FAILED, VM_PAUSED, "No space left on device");
	assert_false(rig_has(&r, "vm.state"));
	RIG_BEGIN(&r, resume);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	finish(&r);
}

static void test_restore_fails(void **state)
{
	struct rig r;
	struct err e = { 0 };

	(void)state;
	make(&r, "ok");
	assert_int_equal(r.ops->restore(r.vm, "vm.state", &e), -1);
	assert_int_equal(e.errnum, ENOENT);
	assert_int_equal(fs_write_atomic("vm.state", "WRONG", 5, 0600, &e), 0);
	RIG_BEGIN(&r, restore, "vm.state");
	rig_fails(&r, VM_EV_FAILED, VM_OFF, "load of migration failed: Invalid argument");
	rig_quiet(&r);
	assert_true(rig_has(&r, "vm.state"));
	check_clean(&r);
	end(&r);
}

static void test_start_fails(void **state)
{
	static const struct {
		const char *how, *words;
	} cases[] = {
		{ "dies", "ended with exit code 1: qemu: -cpu dies: unable to find CPU model" },
		{ "garbage", "QMP" },
	};
	struct rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		make(&r, cases[i].how);
		RIG_BEGIN(&r, start);
		rig_fails(&r, VM_EV_FAILED, VM_OFF, cases[i].words);
		rig_quiet(&r);
		check_clean(&r);
		/* What an earlier one said is not said again. */
		r.plan.cpu = (char *)"ok";
		RIG_BEGIN(&r, start);
		rig_expect(&r, VM_EV_DONE, VM_RUNNING);
		kill(r.ops->pid(r.vm), SIGKILL);
		assert_string_equal(rig_event(&r).error.msg, "QEMU was killed by signal 9 (Killed)");
		end(&r);
	}
}

static void test_not_installed(void **state)
{
	struct rig r;
	struct err e = { 0 };

	(void)state;
	make(&r, "ok");
	r.plan.qemu = (char *)"no-such-qemu";
	assert_int_equal(r.ops->start(r.vm, &e), -1);
	assert_non_null(strstr(e.msg, "QEMU is not installed"));
	assert_int_equal(r.ops->state(r.vm), VM_OFF);
	check_clean(&r);
	r.plan.qemu = NULL;
	assert_null(r.ops->open(&r.plan, r.spawner, &e));
	end(&r);
}

static void test_already_running(void **state)
{
	struct rig r;
	struct err e = { 0 };
	struct vm *other;

	(void)state;
	begin_running(&r, "ok");
	other = r.ops->open(&r.plan, r.spawner, &e);
	assert_int_equal(r.ops->start(other, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	r.ops->close(other);
	assert_true(rig_has(&r, "qmp-ha.sock"));
	finish(&r);
}

static void test_refused(void **state)
{
	struct rig r;

	(void)state;
	begin_running(&r, "refuses");
	RIG_BEGIN(&r, pause);
	rig_fails(&r, VM_EV_FAILED, VM_RUNNING, "cannot pause the machine: QEMU: not today");
	RIG_BEGIN(&r, save, "vm.state");
	rig_fails(&r, VM_EV_FAILED, VM_RUNNING, "not today");
	assert_false(rig_has(&r, "vm.state"));
	finish(&r);
}

static void test_guest_powers_off(void **state)
{
	struct rig r;

	(void)state;
	begin_running(&r, "ok");
	kill(r.ops->pid(r.vm), SIGUSR1);
	assert_int_equal(rig_event(&r).type, VM_EV_POWERDOWN); /* it may be off already */
	assert_int_equal(rig_event(&r).error.kind, ERR_NONE);
	assert_int_equal(r.ops->state(r.vm), VM_OFF);
	check_clean(&r);
	end(&r);
}

static struct vm_event reset_after(struct rig *r, const char *text)
{
	struct err e = { 0 };

	assert_int_equal(fs_write_atomic("reset", text, strlen(text), 0600, &e), 0);
	kill(r->ops->pid(r->vm), SIGUSR2);
	return rig_event_within(r, !strncmp(text, "host", 4) ? 300 : 20000);
}

/* A guest that resets the machine is told of, with what its kernel said if it panicked: a line of its own. */
static void test_guest_resets(void **state)
{
#define PANIC "Kernel panic - not syncing: "
	static const char long_line[] = "guest\n[    1.0] " PANIC
		"........................................................................................................"
		"........................................................................................................"
		"........................................................................................................\r\n";
	static const struct {
		const char *reset, *words;
	} cases[] = {
		{ "guest\n", "" },
		{ "guest\n[    5.173221] " PANIC "Attempted to kill init! exitcode=0x00000100\r\nmore\r\n",
		  PANIC "Attempted to kill init! exitcode=0x00000100" },
		{ "guest\nRestarting system\r\n", "" }, /* the panic before is over */
		{ "guest\n[    5.173221][    T1] " PANIC "\033[1mVFS\r\n---[ end " PANIC "VFS ]---\r\n", PANIC "?[1mVFS" },
		{ "guest\n" PANIC "one\n" PANIC "two\n", PANIC "two" },
		{ "guest\n~ # echo " PANIC "typed\r\n", "" },
		{ "guest\n " PANIC "no clock\n] " PANIC "none either\n", "" },
	};
	struct vm_event ev;
	struct rig r;

	(void)state;
	begin_running(&r, "ok");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ev = reset_after(&r, cases[i].reset);
		assert_int_equal(ev.type, VM_EV_RESET);
		assert_int_equal(ev.error.kind, *cases[i].words ? ERR_STATE : ERR_NONE);
		assert_string_equal(ev.error.msg, cases[i].words);
		assert_int_equal(r.ops->state(r.vm), VM_RUNNING);
	}
	ev = reset_after(&r, long_line);
	assert_int_equal(ev.error.kind, ERR_STATE);
	assert_true(strlen(ev.error.msg) > 100 && strlen(ev.error.msg) < 300);
	ev = reset_after(&r, "host\n[    5.173221] " PANIC "Fatal exception\r\n");
	assert_int_equal(ev.type, VM_EV_NONE); /* somebody at qmp.sock asked for it */
	finish(&r);
}

static void test_killed_while_busy(void **state)
{
	struct rig r;
	int64_t from;

	(void)state;
	begin_running(&r, "mute");
	RIG_BEGIN(&r, save, "vm.state");
	rig_quiet(&r);
	from = rig_now();
	kill(r.ops->pid(r.vm), SIGKILL);
	rig_fails(&r, VM_EV_FAILED, VM_OFF, "cannot save the machine: QEMU was killed by signal 9");
	assert_true(rig_now() - from < 2500); /* at once, not by a deadline */
	rig_fails(&r, VM_EV_EXITED, VM_OFF, "killed by signal 9");
	assert_false(rig_has(&r, "vm.state"));
	check_clean(&r);
	end(&r);
}

static void test_kill(void **state)
{
	static const char *const how[] = { "ok", "stubborn", "mute" };
	struct rig r;
	int64_t from;

	(void)state;
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		begin_running(&r, how[i]);
		if (i == 2) {
			RIG_BEGIN(&r, pause);
			rig_quiet(&r);
		}
		finish(&r);
	}
	/* Before it has said anything. */
	make(&r, "silent");
	RIG_BEGIN(&r, start);
	rig_quiet(&r);
	from = rig_now();
	r.ops->kill(r.vm);
	rig_expect(&r, VM_EV_EXITED, VM_OFF);
	assert_true(rig_now() - from < 1900);
	end(&r);
}

/* The button is pressed again: a guest that boots does not hear it. */
static void test_button_again(void **state)
{
	struct rig r;

	(void)state;
	begin_running(&r, "deaf");
	RIG_BEGIN(&r, pause);
	rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	RIG_BEGIN(&r, powerdown);
	rig_expect(&r, VM_EV_DONE, VM_OFF);
	end(&r);
}

static void test_adopt(void **state)
{
	struct rig r;
	struct err e = { 0 };
	pid_t pid;

	(void)state;
	make(&r, "ok");
	assert_int_equal(r.ops->adopt(r.vm, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	rig_close(&r);
	end((rig_open(&r), &r));
	begin_running(&r, "ok");
	pid = r.ops->pid(r.vm);
	for (int i = 0; i < 3; i++) {
		rig_close(&r);
		rig_open(&r);
		RIG_BEGIN(&r, adopt);
		rig_expect(&r, VM_EV_DONE, i == 2 ? VM_PAUSED : VM_RUNNING);
		assert_int_equal(r.ops->pid(r.vm), pid);
		if (i == 1) {
			RIG_BEGIN(&r, pause);
			rig_expect(&r, VM_EV_DONE, VM_PAUSED);
		}
	}
	RIG_BEGIN(&r, resume);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	kill(pid, SIGKILL);
	rig_fails(&r, VM_EV_EXITED, VM_OFF, "QEMU has ended");
	check_clean(&r);
	/* Sockets left behind by a dead one are no machine. */
	close(sock_listen_unix("qmp-ha.sock", 0600, &e));
	assert_int_equal(r.ops->adopt(r.vm, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	RIG_BEGIN(&r, start);
	rig_expect(&r, VM_EV_DONE, VM_RUNNING);
	finish(&r);
}

/* Somebody else holds our control socket. */
static void test_adopt_unanswered(void **state)
{
	struct rig r, second;

	(void)state;
	begin_running(&r, "ok");
	second = r;
	rig_open(&second);
	RIG_BEGIN(&second, adopt);
	rig_fails(&second, VM_EV_FAILED, VM_OFF, "not done within 5 s");
	rig_quiet(&second);
	rig_close(&second);
	assert_int_equal(r.ops->state(r.vm), VM_RUNNING);
	RIG_BEGIN(&r, pause);
	rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	finish(&r);
}

/* Whatever the guest writes to its console, the log has a ceiling, and the end is in it. */
static void test_console_is_bounded(void **state)
{
	struct rig r;
	struct stat st;

	(void)state;
	begin_running(&r, "chatty");
	for (int i = 0; i < 200 && !rig_has(&r, "serial.log.1"); i++)
		rig_event_within(&r, 10);
	for (int i = 0; i < 20; i++)
		rig_event_within(&r, 10);
	assert_int_equal(stat("serial.log", &st), 0);
	assert_true(st.st_size <= 1 << 20);
	assert_int_equal(stat("serial.log.1", &st), 0);
	assert_true(st.st_size <= 1 << 20 && st.st_size > 1000000);
	finish(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_start_again),
		cmocka_unit_test(test_save_restore),
		cmocka_unit_test(test_save_fails),
		cmocka_unit_test(test_restore_fails),
		cmocka_unit_test(test_start_fails),
		cmocka_unit_test(test_not_installed),
		cmocka_unit_test(test_already_running),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_guest_powers_off),
		cmocka_unit_test(test_guest_resets),
		cmocka_unit_test(test_killed_while_busy),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_button_again),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_adopt_unanswered),
		cmocka_unit_test(test_console_is_bounded),
	};

	return qemu_rig_main(argc, argv, tests);
}
