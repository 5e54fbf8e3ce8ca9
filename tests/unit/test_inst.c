#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"
#include "tests/unit/tmp_dir.h"

#define YAML "cpus: 1\n"

static int make_home(void **state)
{
	if (tmp_dir_make(state) < 0)
		return -1;
	return setenv("LIMA_HOME", *state, 1);
}

static struct inst create(const char *name)
{
	struct inst i;
	struct err e = { 0 };

	if (inst_create(name, YAML, strlen(YAML), &i, &e) < 0)
		fail_msg("%s", e.msg);
	return i;
}

static size_t count_all(void)
{
	struct err e = { 0 };
	char **names;
	size_t n;

	assert_int_equal(inst_list(&names, &n, &e), 0);
	folder_list_free(names, n);
	return n;
}

/* Forks a child that does not outlive a test that failed. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

#ifdef __linux__
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	return pid;
}

/* A child that holds a lock until it is killed; returns when it has it. */
static pid_t holder(const struct inst *i, bool vm)
{
	int p[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(p), 0);
	pid = fork_child();
	if (pid == 0) {
		struct err e = { 0 };
		int fd = inst_lock(i, vm, false, &e);

		if (fd < 0 || write(p[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_names(void **state)
{
	static const char *const good[] = { "a", "A1", "a-b", "a.b_c-d", "0" };
	static const char *const bad[] = { "",    "-a",  "a-",  "a..b", "a b",    "../x",  "a/b",
					   "a-.b", ".a", "\xc3\xa4", "x.yaml", "x.yml", "a\n" };
	char longest[78];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(inst_check_name(good[i], &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(inst_check_name(bad[i], &e), -1);
	memset(longest, 'a', sizeof(longest));
	longest[76] = '\0';
	assert_int_equal(inst_check_name(longest, &e), 0);
	longest[76] = 'a';
	longest[77] = '\0';
	assert_int_equal(inst_check_name(longest, &e), -1);
	assert_non_null(strstr(e.msg, "77 bytes"));
}

static void test_create_and_delete(void **state)
{
	struct inst i = create("one"), again;
	auto_free char *yaml = path_in(i.dir, PATH_YAML), *version = path_in(i.dir, PATH_VERSION);
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(stat(i.dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(yaml, &st), 0);
	assert_int_equal(st.st_size, strlen(YAML));
	assert_true(fs_exists(version));
	assert_int_equal(inst_status(&i), INST_STOPPED);
	assert_int_equal(inst_create("one", "other", 5, &again, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_int_equal(stat(yaml, &st), 0);
	assert_int_equal(st.st_size, strlen(YAML));
	assert_int_equal(count_all(), 1);
	assert_int_equal(inst_delete(&i, &e), 0);
	assert_int_equal(count_all(), 0);
	assert_false(fs_exists(i.dir));
	inst_fini(&i);
}

/* An empty folder of that name is somebody's too. */
static void test_create_replaces_nothing(void **state)
{
	auto_free char *dir = xasprintf("%s/one", (char *)*state), *yaml = path_in(dir, PATH_YAML);
	struct inst i;
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(dir, 0700, &e), 0);
	assert_int_equal(inst_create("one", YAML, strlen(YAML), &i, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_false(fs_exists(yaml));
}

static void test_open_names_the_known(void **state)
{
	struct inst a = create("alpha"), b = create("beta"), i;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(inst_open("beta", &i, &e), 0);
	assert_string_equal(i.dir, b.dir);
	inst_fini(&i);
	assert_int_equal(inst_open("gamma", &i, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_string_equal(e.msg, "instance \"gamma\" does not exist (there are: alpha, beta)");
	inst_fini(&a);
	inst_fini(&b);
}

static void test_list_with_rubble(void **state)
{
	static const char *const dirs[] = { "zed", "half", "_disks", ".hidden", "not a name" };
	auto_free char *file = xasprintf("%s/note", (char *)*state);
	struct err e = { 0 };
	char **names;
	size_t n;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		auto_free char *dir = xasprintf("%s/%s", (char *)*state, dirs[i]);

		assert_int_equal(fs_mkdirs(dir, 0700, &e), 0);
	}
	assert_int_equal(fs_write_atomic(file, "", 0, 0600, &e), 0);
	assert_int_equal(inst_list(&names, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_string_equal(names[0], "half");
	assert_string_equal(names[1], "zed");
	folder_list_free(names, n);
	setenv("LIMA_HOME", "/no/such/folder", 1);
	assert_int_equal(inst_list(&names, &n, &e), 0);
	assert_int_equal(n, 0);
}

static void test_status_is_the_lock(void **state)
{
	struct inst i = create("one");
	auto_free char *yaml = path_in(i.dir, PATH_YAML);
	pid_t vm = holder(&i, true), ha;

	(void)state;
	assert_int_equal(inst_status(&i), INST_ORPHAN);
	ha = holder(&i, false);
	assert_int_equal(inst_status(&i), INST_RUNNING);
	end(vm);
	assert_int_equal(inst_status(&i), INST_RUNNING);
	end(ha);
	assert_int_equal(inst_status(&i), INST_STOPPED);
	assert_int_equal(unlink(yaml), 0);
	assert_int_equal(inst_status(&i), INST_BROKEN);
	inst_fini(&i);
}

static void test_running_is_not_deleted(void **state)
{
	struct inst i = create("one");
	auto_free char *protect = path_in(i.dir, PATH_PROTECTED);
	struct err e = { 0 };
	pid_t pid = holder(&i, true);

	(void)state;
	assert_int_equal(inst_delete(&i, &e), -1);
	assert_int_equal(e.kind, ERR_STATE);
	assert_int_equal(inst_kill(&i, &e), 0);
	waitpid(pid, NULL, 0);
	assert_int_equal(fs_write_atomic(protect, "", 0, 0400, &e), 0);
	assert_int_equal(inst_delete(&i, &e), -1);
	assert_int_equal(e.kind, ERR_STATE);
	assert_int_equal(unlink(protect), 0);
	assert_int_equal(inst_delete(&i, &e), 0);
	inst_fini(&i);
}

/* The second one to lock is refused; those who only look never get in the way, nor do they fool each other. */
static void test_looking_does_not_disturb(void **state)
{
	struct inst i = create("one");
	struct err e = { 0 };
	pid_t looker[3];
	int fd = inst_lock(&i, false, false, &e);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(inst_lock(&i, false, false, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	close(fd);
	for (size_t n = 0; n < 3; n++) {
		looker[n] = fork_child();
		if (looker[n] == 0)
			for (;;)
				inst_status(&i);
	}
	for (int n = 0; n < 20000; n++)
		assert_int_equal(inst_status(&i), INST_STOPPED);
	for (int n = 0; n < 2000; n++) {
		fd = inst_lock(&i, false, false, &e);
		assert_true(fd >= 0);
		close(fd);
	}
	for (size_t n = 0; n < 3; n++)
		end(looker[n]);
	inst_fini(&i);
}

/* Both are ended; who only looks is left alone. */
static void test_kill_ends_the_holders(void **state)
{
	struct inst i = create("one");
	auto_free char *lock = path_in(i.dir, PATH_VM_LOCK);
	struct err e = { 0 };
	pid_t ha = holder(&i, false), vm = holder(&i, true), bystander;
	int p[2], status;
	char c;

	(void)state;
	assert_int_equal(pipe(p), 0);
	bystander = fork_child();
	if (bystander == 0) {
		int fd = open(lock, O_RDONLY);

		if (fd < 0 || write(p[1], "x", 1) != 1 || flock(fd, LOCK_SH) < 0 || write(p[1], "y", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(p[0], &c, 1), 1);
	/* Zombies hold nothing. */
	assert_int_equal(inst_kill(&i, &e), 0);
	assert_int_equal(waitpid(ha, &status, 0), ha);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(waitpid(vm, &status, 0), vm);
	/* It has got a shared lock by now, as one who looks has. */
	assert_int_equal(read(p[0], &c, 1), 1);
	assert_int_equal(inst_kill(&i, &e), 0);
	assert_int_equal(waitpid(bystander, &status, WNOHANG), 0);
	assert_int_equal(inst_status(&i), INST_STOPPED);
	end(bystander);
	close(p[0]);
	close(p[1]);
	inst_fini(&i);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make_home, tmp_dir_remove)

static void write_text(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[300];
	struct err e = { 0 };

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(fs_write_atomic(path, text, strlen(text), mode, &e), 0);
}

static bool has(const char *dir, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void test_clone(void **state)
{
	static const char *const left_out[] = { "protected", "ha.pid", "ga.sock", "x.tmp", "ha.lock", "vm.lock", "ha.stderr.log",
						"vm.state", "vm.state.json", "settings", "initrd" };
	struct inst a = create("a"), b;
	struct err e = { 0 };
	char path[300];
	struct stat st;

	(void)state;
	for (size_t n = 0; n < sizeof(left_out) / sizeof(*left_out); n++)
		write_text(a.dir, left_out[n], "x", 0600);
	write_text(a.dir, "vz-identifier", "x", 0600);
	write_text(a.dir, "disk", "content", 0640);
	assert_int_equal(inst_clone(&a, "b", &b, &e), 0);
	for (size_t n = 0; n < sizeof(left_out) / sizeof(*left_out); n++)
		assert_false(has(b.dir, left_out[n]));
	snprintf(path, sizeof(path), "%s/vz-identifier", b.dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	snprintf(path, sizeof(path), "%s/disk", b.dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_true(has(b.dir, "lima.yaml") && has(b.dir, "lima-version"));
	inst_fini(&b);
	assert_int_equal(inst_clone(&a, "b", &b, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	inst_fini(&a);
}

static void test_clone_that_fails_leaves_nothing(void **state)
{
	struct inst a = create("a"), b;
	struct err e = { 0 };
	char deep[3000] = "";

	/* Deeper than a copy goes. */
	snprintf(deep, sizeof(deep), "%s", a.dir);
	for (int n = 0; n < 40; n++) {
		snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/d");
		assert_int_equal(mkdir(deep, 0700), 0);
	}
	assert_int_equal(inst_clone(&a, "b", &b, &e), -1);
	assert_non_null(strstr(e.msg, "folders deep"));
	assert_int_equal(count_all(), 1);
	snprintf(deep, sizeof(deep), ".b.%ld.new", (long)getpid());
	assert_false(has(*state, deep));
	inst_fini(&a);
}

static void test_what_runs_is_neither_cloned_nor_renamed(void **state)
{
	struct inst a = create("a"), b;
	struct err e = { 0 };
	auto_close int lock = inst_lock(&a, true, false, &e);

	(void)state;
	assert_true(lock >= 0);
	assert_int_equal(inst_clone(&a, "b", &b, &e), -1);
	assert_int_equal(e.kind, ERR_STATE);
	assert_int_equal(inst_rename(&a, "b", &b, &e), -1);
	assert_int_equal(e.kind, ERR_STATE);
	assert_int_equal(count_all(), 1);
	inst_fini(&a);
}

static void test_one_command_at_a_time_holds_what_is_stopped(void **state)
{
	struct inst a = create("a");
	struct err e = { 0 };
	struct inst_hold first, second;
	int lock;

	(void)state;
	assert_int_equal(inst_hold(&a, &first, &e), 0);
	assert_int_equal(inst_status(&a), INST_STOPPED);
	assert_int_equal(inst_hold(&a, &second, &e), -1);
	assert_int_equal(e.kind, ERR_STATE);
	assert_non_null(strstr(e.msg, "another command is working on instance \"a\""));
	assert_int_equal(inst_lock(&a, false, false, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_non_null(strstr(e.msg, "another command"));
	inst_release(&first);
	lock = inst_lock(&a, false, false, &e);
	assert_true(lock >= 0);
	assert_int_equal(inst_hold(&a, &second, &e), -1);
	assert_non_null(strstr(e.msg, "is running"));
	close(lock);
	inst_fini(&a);
}

static void test_rename(void **state)
{
	struct inst a = create("a"), b = create("b"), c;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(inst_rename(&a, "b", &c, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_int_equal(inst_rename(&a, "c", &c, &e), 0);
	assert_false(has(*state, "a"));
	assert_true(has(c.dir, "lima.yaml"));
	inst_fini(&a);
	inst_fini(&b);
	inst_fini(&c);
}

static void test_what_a_killed_process_was_making_goes_away(void **state)
{
	struct err e = { 0 };
	char name[60];
	pid_t pid = fork_child();
	struct inst a;

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(name, sizeof(name), "%s/.x.%ld.new", (const char *)*state, (long)pid);
	assert_int_equal(fs_mkdirs(name, 0700, &e), 0);
	a = create("a");
	assert_int_equal(access(name, F_OK), -1);
	inst_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		T(test_create_and_delete),
		T(test_create_replaces_nothing),
		T(test_open_names_the_known),
		T(test_list_with_rubble),
		T(test_status_is_the_lock),
		T(test_running_is_not_deleted),
		T(test_clone),
		T(test_clone_that_fails_leaves_nothing),
		T(test_what_runs_is_neither_cloned_nor_renamed),
		T(test_one_command_at_a_time_holds_what_is_stopped),
		T(test_rename),
		T(test_what_a_killed_process_was_making_goes_away),
		T(test_looking_does_not_disturb),
		T(test_kill_ends_the_holders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
