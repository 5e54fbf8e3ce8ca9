#include "limactl-c/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"

static char folder[] = "/tmp/spawn-XXXXXX";
static char log_path[64];

static const char *const *sh(const char *script)
{
	static const char *argv[4] = { "sh", "-c" };

	argv[2] = script;
	return argv;
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 10000), 1);
}

static void test_run_output_and_code(void **state)
{
	struct buf out = BUF_INIT(16);
	struct err e = { 0 };
	struct spawn s = { .argv = sh("echo hello; cat; echo why >&2; exit 7") };

	(void)state;
	assert_int_equal(spawn_run(&s, &out, &e), 7);
	assert_string_equal(out.data, "hello\n");
	assert_non_null(strstr(e.msg, "exit code 7: why"));
	buf_free(&out);

	s.argv = sh("kill -9 $$");
	assert_int_equal(spawn_run(&s, NULL, &e), 128 + 9);
	assert_non_null(strstr(e.msg, "signal 9"));
}

static void test_run_bounds(void **state)
{
	struct buf out = BUF_INIT(1000);
	struct err e = { 0 };
	struct spawn s = { .argv = sh("head -c 300000 /dev/zero; head -c 300000 /dev/zero | tr '\\0' x >&2;"
				      " echo end >&2; exit 1") };

	(void)state;
	assert_int_equal(spawn_run(&s, &out, &e), 1);
	assert_int_equal(out.len, 1000);
	assert_non_null(strstr(e.msg, "xend"));
	buf_free(&out);
}

static void test_exec_failure(void **state)
{
	struct err e = { 0 };
	struct spawn s = { .argv = (const char *const[]){ "no-such-program-here", NULL } };

	(void)state;
	assert_int_equal(spawn_start(&s, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_non_null(strstr(e.msg, "no-such-program-here: not found in PATH"));

	s.argv = (const char *const[]){ "/nonexistent/x", NULL };
	assert_int_equal(spawn_start(&s, &e), -1);
	assert_int_equal(e.errnum, ENOENT);
	s.argv = (const char *const[]){ "/etc/passwd", NULL };
	assert_int_equal(spawn_start(&s, &e), -1);
	assert_int_equal(e.errnum, EACCES);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie is left */
}

/* The child has 0, 1, 2, what it was given in order, and nothing else. */
static void test_descriptors(void **state)
{
	struct buf out = BUF_INIT(4096);
	struct err e = { 0 };
	int a[2], extra = open("/dev/null", O_RDONLY);
	struct spawn s = { .argv = sh("echo one >&3; echo two >&4; for i in $(seq 0 40); do"
				      " test -e /proc/$$/fd/$i && echo -n \"$i \"; done; true") };

	(void)state;
	assert_int_equal(pipe(a), 0);
	assert_true(extra >= 0); /* inheritable on purpose */
	s.fd[0] = a[1];
	s.fd[1] = a[1];
	s.fds = 2;
	assert_int_equal(spawn_run(&s, &out, &e), 0);
	assert_string_equal(out.data, "0 1 2 3 4 ");
	out.len = 0;
	assert_int_equal(read(a[0], out.data, 100), 8);
	assert_memory_equal(out.data, "one\ntwo\n", 8);
	buf_free(&out);
	close(a[0]);
	close(a[1]);
	close(extra);
}

static void test_env_and_signals(void **state)
{
	struct buf out = BUF_INIT(4096);
	struct err e = { 0 };
	struct spawn s = { .argv = sh("echo $SPAWN_A-$SPAWN_B; grep SigBlk /proc/self/status; "
				      /* 32 and 33 are the C library's own, and may come ignored from our parent. */
				      "echo $((0x$(awk '/SigIgn/ { print $2 }' /proc/self/status) & 0x7fffffff))"),
			   .env = (const char *const[]){ "SPAWN_A=new", NULL } };
	sigset_t set, old;

	(void)state;
	setenv("SPAWN_A", "old", 1);
	setenv("SPAWN_B", "kept", 1);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	assert_int_equal(spawn_run(&s, &out, &e), 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPIPE, SIG_DFL);
	assert_string_equal(out.data, "new-kept\nSigBlk:\t0000000000000000\n0\n");
	buf_free(&out);
}

static void test_log_appends(void **state)
{
	struct buf text = BUF_INIT(4096);
	struct err e = { 0 };
	struct spawn s = { .argv = sh("echo out; echo err >&2"), .log = log_path };
	pid_t pid;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid = spawn_start(&s, &e);
		assert_true(pid > 0);
		assert_int_equal(spawn_wait(pid), 0);
	}
	assert_int_equal(io_read_file(log_path, &text, &e), 0);
	assert_string_equal(text.data, "out\nerr\nout\nerr\n");
	buf_free(&text);
	unlink(log_path);
}

static void test_spawner(void **state)
{
	struct err e = { 0 };
	struct spawner *sp = spawner_new(&e);
	struct spawn s = { .argv = sh("test \"$X\" = 'a b' && echo ok >&3; exit 5"),
			   .env = (const char *const[]){ "X=a b", NULL },
			   .log = log_path,
			   .fds = 1 };
	int p[2], status = 0;
	char got[8] = "";
	pid_t pid, ended = 0;

	(void)state;
	assert_non_null(sp);
	assert_int_equal(spawner_next(sp, &ended, &status), 0);
	assert_int_equal(pipe(p), 0);
	s.fd[0] = p[1];
	pid = spawner_start(sp, &s, &e);
	assert_true(pid > 0);
	close(p[1]);
	wait_readable(spawner_fd(sp));
	assert_int_equal(spawner_next(sp, &ended, &status), 1);
	assert_int_equal(ended, pid);
	assert_int_equal(WEXITSTATUS(status), 5);
	assert_int_equal(io_read_full(p[0], got, sizeof(got)), 3); /* and the end: the spawner kept no copy */
	close(p[0]);

	s = (struct spawn){ .argv = (const char *const[]){ "/nonexistent/y", NULL } };
	assert_int_equal(spawner_start(sp, &s, &e), -1);
	assert_non_null(strstr(e.msg, "cannot run /nonexistent/y"));
	spawner_free(sp);
	unlink(log_path);
}

/* A process that uses a spawner is killed: the child goes on, with its lock. */
static void test_child_outlives(void **state)
{
	int report[2], hold[2], lock = open(log_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), other;
	pid_t user, pid = 0;

	(void)state;
	assert_int_equal(pipe(report), 0);
	assert_int_equal(pipe(hold), 0);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	user = fork();
	if (user == 0) {
		struct err e = { 0 };
		struct spawner *sp = spawner_new(&e);
		struct spawn s = { .argv = sh("read x <&4; exit 0"), .fd = { lock, hold[0] }, .fds = 2,
				   .new_session = true };

		pid = spawner_start(sp, &s, &e);
		if (write(report[1], &pid, sizeof(pid)) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	close(lock);
	assert_int_equal(waitpid(user, NULL, 0), user);
	assert_int_equal(read(report[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(getsid(pid), pid);
	other = open(log_path, O_RDWR);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	close(report[0]);
	close(report[1]);
	close(hold[0]);
	close(hold[1]); /* its read ends */
	assert_int_equal(flock(other, LOCK_EX), 0); /* free when the child is gone; alarm() is the deadline */
	close(other);
	unlink(log_path);
}

/* Two programs are started for a third, in a process that is then killed: before the third, they end; after it, they stay. */
static void check_for_next(bool third)
{
	int ends[2], status;
	pid_t user;
	struct pollfd p;

	assert_int_equal(pipe(ends), 0);
	user = fork();
	if (user == 0) {
		struct err e = { 0 };
		struct spawner *sp = spawner_new(&e);
		struct spawn s = { .argv = sh("exec sleep 20"), .fd = { ends[1] }, .fds = 1, .new_session = true, .for_next = true };
		struct spawn next = { .argv = (const char *const[]){ "true", NULL }, .new_session = true };

		if (spawner_start(sp, &s, &e) < 0 || spawner_start(sp, &s, &e) < 0 || (third && spawner_start(sp, &next, &e) < 0))
			_exit(1);
		raise(SIGKILL);
	}
	close(ends[1]);
	assert_int_equal(waitpid(user, &status, 0), user);
	assert_true(WIFSIGNALED(status));
	p = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	/* Its end is when the last of both has ended. */
	assert_int_equal(poll(&p, 1, third ? 300 : 10000), third ? 0 : 1);
	close(ends[0]);
}

static void test_for_next(void **state)
{
	(void)state;
	check_for_next(false);
	check_for_next(true);
}

static void test_spawner_gone(void **state)
{
	struct err e = { 0 };
	struct spawner *sp = spawner_new(&e);
	struct spawn s = { .argv = sh("read x <&3; kill -9 $PPID"), .log = log_path, .fds = 1 };
	pid_t pid;
	int status, go[2];

	(void)state;
	assert_int_equal(pipe(go), 0);
	s.fd[0] = go[0];
	assert_true(spawner_start(sp, &s, &e) > 0);
	close(go[0]);
	close(go[1]);
	wait_readable(spawner_fd(sp));
	while (spawner_next(sp, &pid, &status) == 1)
		wait_readable(spawner_fd(sp));
	assert_int_equal(spawner_next(sp, &pid, &status), -1);
	assert_int_equal(spawner_start(sp, &s, &e), -1);
	assert_non_null(strstr(e.msg, "spawner process is gone"));
	spawner_free(sp);
	unlink(log_path);
}

static void test_new_net(void **state)
{
	struct buf out = BUF_INIT(4096), own = BUF_INIT(4096);
	struct err e = { 0 };
	struct spawn s = { .argv = sh("readlink /proc/self/ns/net") };

	(void)state;
	if (geteuid() != 0)
		return; /* without the right the host's network is shared, as documented */
	assert_int_equal(spawn_run(&s, &own, &e), 0);
	s.new_net = true;
	assert_int_equal(spawn_run(&s, &out, &e), 0);
	assert_string_not_equal(out.data, own.data);
	s.argv = sh("grep -q 127.0.0.1 /proc/self/net/fib_trie"); /* there only when lo is up */
	assert_int_equal(spawn_run(&s, NULL, &e), 0);
	buf_free(&out);
	buf_free(&own);
}

static void test_readonly(void **state)
{
	auto_free char *sub = xasprintf("%s/sub", folder), *file = xasprintf("%s/file", sub);
	auto_free char *script = xasprintf("cd %s && ! touch file && ! touch sub/file && touch /tmp/spawn-probe", folder);
	struct buf out = BUF_INIT(4096);
	struct err e = { 0 };
	struct spawn s = { .argv = (const char *const[]){ "sh", "-c", script, NULL }, .readonly = folder };

	(void)state;
	if (geteuid() != 0)
		return;
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(mount("none", sub, "tmpfs", 0, "size=64k"), 0); /* what is mounted in it too */
	if (spawn_run(&s, &out, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(unlink("/tmp/spawn-probe"), 0);
	assert_int_equal(mkdir(file, 0700), 0); /* nobody else is concerned */
	assert_int_equal(umount2(sub, MNT_DETACH), 0);
	assert_int_equal(rmdir(sub), 0);
	s.readonly = "/no/such/folder";
	assert_int_equal(spawn_run(&s, &out, &e), -1);
	assert_non_null(strstr(e.msg, "read-only"));
	buf_free(&out);
}

static int setup(void **state)
{
	(void)state;
	alarm(60);
	if (!mkdtemp(folder))
		return -1;
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_output_and_code), cmocka_unit_test(test_run_bounds),
		cmocka_unit_test(test_exec_failure),	    cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_env_and_signals),	    cmocka_unit_test(test_log_appends),
		cmocka_unit_test(test_spawner),		    cmocka_unit_test(test_child_outlives),
		cmocka_unit_test(test_for_next),
		cmocka_unit_test(test_spawner_gone),	    cmocka_unit_test(test_new_net),
		cmocka_unit_test(test_readonly),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
