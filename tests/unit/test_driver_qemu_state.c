/* The QEMU driver against a scripted QEMU: this very program, started again as "qemu". What it does wrong is said by the
 * plan's cpu. */
#include "tests/unit/driver_util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/driver/qemu_args.h"

static char self[4096];

/* --- the scripted QEMU --- */

static int qmp_client = -1, console_client = -1, state_file = -1;
static const char *mode;
static bool stopped, incoming;

static void say(const char *text)
{
	io_write_full(qmp_client, text, strlen(text));
}

static void reply(const char *line, const char *what)
{
	const char *id = strstr(line, "\"id\":");
	char text[500];

	snprintf(text, sizeof(text), "{\"return\": %s, \"id\": %d}\r\n", what, id ? atoi(id + 5) : 0);
	say(text);
}

static void refuse(const char *line, const char *why)
{
	const char *id = strstr(line, "\"id\":");
	char text[500];

	snprintf(text, sizeof(text), "{\"id\": %d, \"error\": {\"class\": \"GenericError\", \"desc\": \"%s\"}}\r\n",
		 id ? atoi(id + 5) : 0, why);
	say(text);
}

static void migration(const char *status)
{
	char text[200];

	snprintf(text, sizeof(text), "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"%s\"}}\r\n", status);
	say(text);
}

static bool is(const char *line, const char *command)
{
	char text[100];

	snprintf(text, sizeof(text), "\"execute\":\"%s\"", command);
	return strstr(line, text);
}

static void save(const char *line)
{
	if (!strcmp(mode, "no-space")) {
		reply(line, "{}");
		migration("failed");
		return;
	}
	io_write_full(state_file, "STATE", 5);
	close(state_file);
	migration("active"); /* events may come before the reply */
	if (!strcmp(mode, "early"))
		migration("completed");
	reply(line, "{}");
	if (strcmp(mode, "early") != 0)
		migration("completed");
}

static void load(const char *line)
{
	char text[6] = "";

	reply(line, "{}");
	migration("active");
	if (read(state_file, text, 5) != 5 || strcmp(text, "STATE")) {
		fprintf(stderr, "load of migration failed: Invalid argument\n");
		exit(1);
	}
	close(state_file);
	migration("completed");
}

static void command(const char *line)
{
	if (is(line, "stop") && !strcmp(mode, "refuses")) {
		refuse(line, "not today");
	} else if (is(line, "stop") && !strcmp(mode, "mute")) {
		/* no answer */
	} else if (is(line, "stop") || is(line, "cont")) {
		/* The file must be gone before the machine runs. */
		if (is(line, "cont") && incoming && access("vm.state", F_OK) == 0)
			_exit(9);
		incoming = false;
		stopped = is(line, "stop");
		say(stopped ? "{\"event\": \"STOP\"}\r\n" : "{\"event\": \"RESUME\"}\r\n");
		reply(line, "{}");
	} else if (is(line, "query-status")) {
		reply(line, stopped ? "{\"status\": \"paused\"}" : "{\"status\": \"running\"}");
	} else if (is(line, "query-migrate")) {
		reply(line, "{\"status\": \"failed\", \"error-desc\": \"No space left on device\"}");
	} else if (is(line, "migrate")) {
		save(line);
	} else if (is(line, "migrate-incoming")) {
		load(line);
	} else if (is(line, "quit") && strcmp(mode, "stubborn") != 0) {
		reply(line, "{}");
		exit(0);
	} else if (is(line, "system_powerdown")) {
		reply(line, "{}");
		if (!strcmp(mode, "deaf"))
			mode = "ok"; /* hears it the next time */
		else {
			say("{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, \"reason\": \"guest-shutdown\"}}\r\n");
			exit(0);
		}
	} else {
		reply(line, "{}");
	}
}

static void read_commands(void)
{
	char chunk[4096];
	int fds[1];
	size_t nfds = 1;
	ssize_t n = sock_recv_fds(qmp_client, chunk, sizeof(chunk) - 1, fds, &nfds);

	if (n <= 0) {
		close(qmp_client);
		qmp_client = -1;
		return;
	}
	if (nfds)
		state_file = fds[0];
	chunk[n] = '\0';
	for (char *line = chunk, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		command(line);
	}
}

static void greet(void)
{
	qmp_client = accept(QEMU_FD_QMP_HA, NULL, NULL);
	if (!strcmp(mode, "garbage"))
		say("HTTP/1.1 400 Bad Request\r\n");
	else if (strcmp(mode, "silent") != 0)
		say("{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n");
}

static void on_user(int sig)
{
	static const char off[] = "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, \"reason\": \"guest-shutdown\"}}\r\n";

	(void)sig;
	if (write(qmp_client, off, sizeof(off) - 1) > 0)
		_exit(0);
}

static int qemu_main(int argc, char **argv)
{
	for (int i = 0; i < argc - 1; i++) {
		if (!strcmp(argv[i], "-cpu"))
			mode = argv[i + 1];
		incoming |= !strcmp(argv[i], "-incoming");
	}
	if (!strcmp(mode, "dies")) {
		fprintf(stderr, "qemu: -cpu dies: unable to find CPU model 'dies'\n");
		return 1;
	}
	signal(SIGUSR1, on_user);
	signal(SIGPIPE, SIG_IGN);
	for (int fd = QEMU_FD_QMP_HA; fd < QEMU_FD_END; fd++)
		listen(fd, 1);
	console_client = accept(QEMU_FD_CONSOLE, NULL, NULL);
	io_write_full(console_client, "GUEST\r\n", 7);
	if (!strcmp(mode, "chatty")) {
		static char block[4096];

		memset(block, 'c', sizeof(block));
		for (int i = 0; i < 1024; i++) /* 4 MiB */
			io_write_full(console_client, block, sizeof(block));
	}
	for (;;) {
		struct pollfd p[] = { { .fd = qmp_client < 0 ? QEMU_FD_QMP_HA : qmp_client, .events = POLLIN },
				      { .fd = QEMU_FD_CONSOLE, .events = POLLIN } };

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents) {
			close(console_client);
			console_client = accept(QEMU_FD_CONSOLE, NULL, NULL);
		}
		if (p[0].revents && qmp_client < 0)
			greet();
		else if (p[0].revents)
			read_commands();
	}
}

/* --- the tests --- */

static void make(struct rig *r, const char *how)
{
	*r = (struct rig){ .dir = "/tmp/qemu-XXXXXX", .ops = &driver_qemu };
	assert_non_null(mkdtemp(r->dir));
	assert_int_equal(chdir(r->dir), 0);
	r->plan = (struct plan){ .name = (char *)"t", .dir = r->dir, .arch = (char *)"x86_64", .qemu = self,
				 .machine = (char *)"q35", .cpu = (char *)how, .cpus = 1, .memory = 1 << 28 };
	rig_open(r);
}

static void end(struct rig *r)
{
	struct err e = { 0 };

	rig_close(r);
	assert_int_equal(fs_remove_tree(r->dir, &e), 0);
}

/* A machine that is gone leaves no socket and no lock. */
static void check_clean(struct rig *r)
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

static void begin_running(struct rig *r, const char *how)
{
	make(r, how);
	RIG_BEGIN(r, start);
	assert_int_equal(r->ops->state(r->vm), VM_STARTING);
	rig_expect(r, VM_EV_DONE, VM_RUNNING);
	assert_true(r->ops->pid(r->vm) > 0);
}

static void finish(struct rig *r)
{
	r->ops->kill(r->vm);
	rig_expect(r, VM_EV_EXITED, VM_OFF);
	rig_quiet(r);
	check_clean(r);
	end(r);
}

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
		rig_fails(&r, VM_EV_EXITED, VM_OFF, "QEMU was killed by signal 9 (Killed)");
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
	rig_expect(&r, VM_EV_POWERDOWN, VM_RUNNING);
	assert_int_equal(rig_event(&r).error.kind, ERR_NONE);
	assert_int_equal(r.ops->state(r.vm), VM_OFF);
	check_clean(&r);
	end(&r);
}

static void test_killed_while_busy(void **state)
{
	struct rig r;

	(void)state;
	begin_running(&r, "mute");
	RIG_BEGIN(&r, save, "vm.state");
	rig_quiet(&r);
	kill(r.ops->pid(r.vm), SIGKILL);
	rig_fails(&r, VM_EV_FAILED, VM_OFF, "cannot save the machine: QEMU was killed by signal 9");
	rig_fails(&r, VM_EV_EXITED, VM_OFF, "killed by signal 9");
	assert_false(rig_has(&r, "vm.state"));
	check_clean(&r);
	end(&r);
}

static void test_kill(void **state)
{
	static const char *const how[] = { "ok", "stubborn", "mute" };
	struct rig r;

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
	finish(&r);
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

static int setup(void **state)
{
	(void)state;
	alarm(100);
	return 0;
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
		cmocka_unit_test(test_killed_while_busy),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_button_again),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_adopt_unanswered),
		cmocka_unit_test(test_console_is_bounded),
	};

	if (argc > 2 && !strcmp(argv[1], "-name"))
		return qemu_main(argc, argv);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, setup, NULL);
}
