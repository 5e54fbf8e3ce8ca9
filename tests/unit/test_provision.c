/* What the daemon carries out of provision[]: order of the modes, files put into place, a user's environment, edits that
 * the host answers. */
#include "tests/unit/ga_host.h"

#include <sys/stat.h>

#include "guestagent/provision.h"
#include "guestagent/script.h"

static struct host host;

static int begin(void **state)
{
	char path[200];

	(void)state;
	umask(022);
	host_begin(&host);
	snprintf(path, sizeof(path), "%s/provision", host.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	host.fd = -1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

static const char *at(const char *name)
{
	static char path[4][300];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", host.dir, name);
	return path[i];
}

/* The text of a file, "" when there is none; valid until the next call. */
static const char *text_of(const char *name)
{
	static struct buf b = BUF_INIT(1 << 20);
	struct err e;

	buf_free(&b);
	return io_read_file(at(name), &b, &e) == 0 && b.data ? b.data : "";
}

static void rename_file(const char *from, const char *to)
{
	assert_int_equal(rename(at(from), at(to)), 0);
}

/* Settings for the process's own user: chown works for whoever runs the test. */
static struct buf settings = BUF_INIT(65536);

static void set(const char *key, const char *value)
{
	assert_int_equal(settings_put(&settings, key, value), 0);
}

static void set_own_user(void)
{
	char text[40];

	snprintf(text, sizeof(text), "%u", (unsigned)getuid());
	set("user.name", "root");
	set("user.uid", text);
	set("user.home", host.dir);
	set("user.shell", "/bin/sh");
}

/* Entry NN: a file at this place below the folder, owned by us. */
static void entry(int index, const char *mode, const char *path, const char *text)
{
	char key[64], value[300], name[40];

	snprintf(key, sizeof(key), "provision.%02d.mode", index);
	set(key, mode);
	snprintf(name, sizeof(name), "provision/%02d", index);
	host_file(&host, name, text, 0600);
	if (!path)
		return;
	snprintf(key, sizeof(key), "provision.%02d.path", index);
	set(key, path[0] == '/' ? path : at(path));
	snprintf(key, sizeof(key), "provision.%02d.owner", index);
	snprintf(value, sizeof(value), "%u:%u", (unsigned)getuid(), (unsigned)getgid());
	set(key, value);
}

static void start(void)
{
	host_file(&host, "settings", settings.data, 0600);
	buf_free(&settings);
	host_start_agent(&host);
}

static void run_all(void)
{
	start();
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
}

static struct ap_provision *script(int i)
{
	return &host.script[i];
}

static void modes_have_their_order(void **state)
{
	static const char *const modes[] = { "user", "system", "yq", "data", "dependency", "system", "boot" };
	char text[200];

	(void)state;
	set_own_user();
	for (int i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "#!/bin/sh\necho %d >>%s/order\n", i, host.dir);
		entry(i, modes[i], i == 2 ? "order" : i == 3 ? "made/data" : NULL, i == 3 ? "x" : text);
	}
	/* What is there already tells that "dependency" came before "yq", and "data" too. */
	start();
	host_until(&host, script(2)->state == AP_PROVISION_ASKS);
	assert_string_equal(text_of("provision/02.in"), "4\n");
	assert_int_equal(script(3)->state, AP_PROVISION_OK);
	assert_int_equal(script(1)->state, 0);
	host_file(&host, "provision/new", "edited\n", 0600);
	rename_file("provision/new", "provision/02.out");
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	assert_string_equal(text_of("order"), "edited\n1\n5\n0\n");
	assert_int_equal(script(6)->state, 0); /* setup's */
}

/* Between the packages and what may use it. */
static void containerd_has_its_turn(void **state)
{
	(void)state;
	set_own_user();
	set("containerd.disk", "no-such-serial");
	entry(0, "dependency", NULL, "#!/bin/sh\n: >\"${0%/*}/../packages\"\n");
	entry(1, "data", "made/data", "x");
	host_file(&host, "containerd.sh",
		  "#!/bin/sh\ncd \"$LIMA_CIDATA_MNT\" && ls packages made >seen 2>&1\n"
		  "echo \"$LIMA_CIDATA_CONTAINERD_ARCHIVE,$LIMA_CIDATA_CONTAINERD_SYSTEM,$LIMA_CIDATA_CONTAINERD_USER\" >env\n"
		  "exit 1\n", 0700);
	run_all();
	assert_string_equal(text_of("env"), "nerdctl-full.tgz,1,\n");
	assert_non_null(strstr(text_of("seen"), "packages\n"));
	assert_non_null(strstr(text_of("seen"), "made"));
	assert_non_null(strstr(text_of("seen"), "No such file"));
	assert_int_equal(script(1)->state, AP_PROVISION_OK);
}

static void packages_are_upgraded_first(void **state)
{
	(void)state;
	set_own_user();
	set("upgradePackages", "true");
	entry(0, "dependency", NULL, "#!/bin/sh\ncat \"${0%/*}/../apk.log\"; exit 1\n");
	host_file(&host, "path", at(""), 0600);
	host_file(&host, "apk", "#!/bin/sh\necho \"apk $1\" >>\"${0%/*}/apk.log\"\n", 0700);
	host_file(&host, "cat", "#!/bin/sh\nexec /bin/cat \"$@\"\n", 0700);
	run_all();
	assert_string_equal(text_of("provision/1000.status"), "ok\n");
	assert_string_equal(script(0)->tail, "apk update\napk upgrade\n");
}

static void a_failing_upgrade_is_told(void **state)
{
	(void)state;
	set_own_user();
	set("upgradePackages", "true");
	host_file(&host, "path", at(""), 0600);
	host_file(&host, "apk", "#!/bin/sh\necho 'no network' >&2; exit 4\n", 0700);
	run_all();
	assert_string_equal(text_of("provision/1000.status"), "failed 4\nno network\n");
}

/* --- users --- */

static void a_user_script_has_a_login_environment(void **state)
{
	(void)state;
	set_own_user();
	set("env.GREETING", "hello there");
	set("param.WHO", "it's me");
	entry(0, "user", NULL,
	      "#!/bin/sh\necho \"$0|$HOME|$PWD|$USER|$LOGNAME|$SHELL|$XDG_RUNTIME_DIR|$GREETING|$PARAM_WHO|$PROFILE\" >out\n");
	host_file(&host, ".profile", "export PROFILE=read\n", 0600);
	run_all();
	assert_string_equal(script(0)->tail, "");
	assert_int_equal(script(0)->state, AP_PROVISION_OK);
	{
		char want[1000];

		snprintf(want, sizeof(want),
			 "%s/.lima-user-script|%s|%s|root|root|/bin/sh|/run/user/%u|hello there|it's me|read\n", host.dir,
			 host.dir, host.dir, (unsigned)getuid());
		assert_string_equal(text_of("out"), want);
	}
	assert_int_equal(access(at(".lima-user-script"), F_OK), -1);
}

static void a_user_script_runs_without_roots_rights(void **state)
{
	(void)state;
	if (getuid() != 0) /* who is not root cannot become another */
		return;
	assert_int_equal(chmod(host.dir, 0777), 0);
	set("user.name", "limatest");
	set("user.uid", "65534");
	set("user.gid", "65534");
	set("user.home", host.dir);
	entry(0, "user", NULL, "id -u; id -g; touch /etc/lima-test-never; exit 3\n");
	run_all();
	assert_int_equal(script(0)->status, 3);
	assert_non_null(strstr(script(0)->tail, "65534\n65534\n"));
	assert_int_equal(access("/etc/lima-test-never", F_OK), -1);
	assert_int_equal(access(at(".lima-user-script"), F_OK), -1);
}

/* --- data --- */

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(at(name), &st), 0);
	return st.st_mode & 07777;
}

#define ODD "made/it's \"odd\" $HOME\n;x/fi le"

static void data_is_put_where_it_says(void **state)
{
	char link[64];

	(void)state;
	set_own_user();
	entry(0, "data", ODD, "with\n'quotes'\n");
	set("provision.00.permissions", "0640");
	entry(1, "data", "kept", "new");
	set("provision.01.overwrite", "false");
	entry(2, "data", "old", "new");
	set("provision.02.permissions", "4711");
	entry(3, "data", "link", "through");
	entry(4, "data", "dangling", "made");
	entry(5, "data", "kept-link", "never");
	set("provision.05.overwrite", "false");
	host_file(&host, "kept", "mine", 0600);
	host_file(&host, "old", "a longer text than the new one", 0600);
	host_file(&host, "target", "t", 0600);
	assert_int_equal(symlink("target", at("link")), 0);
	assert_int_equal(symlink("nowhere", at("dangling")), 0);
	assert_int_equal(symlink("nowhere", at("kept-link")), 0);
	run_all();
	for (int i = 0; i < 6; i++)
		assert_string_equal(script(i)->tail, "");
	assert_string_equal(text_of(ODD), "with\n'quotes'\n");
	assert_int_equal(mode_of(ODD), 0640);
	assert_string_equal(text_of("kept"), "mine");
	assert_string_equal(text_of("old"), "new");
	assert_int_equal(mode_of("old"), 04711);
	assert_string_equal(text_of("target"), "through");
	assert_int_equal(mode_of("target"), 0644);
	assert_int_equal(readlink(at("link"), link, sizeof(link)), 6);
	assert_string_equal(text_of("dangling"), "made");
	assert_int_equal(access(at("nowhere"), F_OK), -1);
}

static void data_that_cannot_be_put_says_why(void **state)
{
	(void)state;
	set_own_user();
	entry(0, "data", "not/absolute", "x");
	set("provision.00.permissions", "rw");
	entry(1, "data", "provision", "x");
	entry(2, "data", "file/below", "x");
	host_file(&host, "file", "", 0600);
	entry(3, "data", NULL, "x");
	set("provision.03.path", "relative");
	entry(4, "data", NULL, "x");
	set("provision.04.path", at("x"));
	set("provision.04.owner", "no-such-user-here:root");
	entry(5, "data", NULL, "x");
	set("provision.05.path", at("y"));
	set("provision.05.owner", "root:no-such-group-here");
	entry(6, "magic", NULL, "x");
	run_all();
	assert_string_equal(script(0)->tail, "permissions \"rw\" are no octal number");
	assert_non_null(strstr(script(1)->tail, "/provision is there and no file"));
	assert_non_null(strstr(script(2)->tail, "Not a directory"));
	assert_string_equal(script(3)->tail, "the path \"relative\" cannot be that of a file");
	assert_string_equal(script(4)->tail, "the guest has no user \"no-such-user-here\"");
	assert_string_equal(script(5)->tail, "the guest has no group \"no-such-group-here\"");
	assert_int_equal(script(6)->state, 0); /* of a newer host: left alone */
	for (int i = 0; i < 6; i++)
		assert_int_equal(script(i)->status, 1);
	assert_int_equal(access(at("x"), F_OK), -1);
	assert_int_equal(access(at("not"), F_OK), -1);
}

static void folders_are_made_as_the_owner(void **state)
{
	struct stat st;

	(void)state;
	if (getuid() != 0)
		return;
	assert_int_equal(chmod(host.dir, 0755), 0);
	assert_int_equal(mkdir(at("theirs"), 0755), 0);
	assert_int_equal(chown(at("theirs"), 65534, 65534), 0);
	set_own_user();
	entry(0, "data", NULL, "x");
	set("provision.00.path", at("theirs/a/b"));
	set("provision.00.owner", "65534:65534");
	entry(1, "data", NULL, "y");
	set("provision.01.path", at("ours/b"));
	set("provision.01.owner", "65534:65534");
	run_all();
	assert_string_equal(script(0)->tail, "");
	assert_int_equal(stat(at("theirs/a"), &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(stat(at("theirs/a/b"), &st), 0);
	assert_int_equal(st.st_gid, 65534);
	/* Where they may not, root does: Lima did, and templates rely on it. */
	assert_int_equal(stat(at("ours"), &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(stat(at("ours/b"), &st), 0);
	assert_int_equal(st.st_uid, 65534);
}

/* --- yq --- */

static void an_edit_is_the_hosts(void **state)
{
	(void)state;
	set_own_user();
	entry(0, "yq", "new/file.yaml", ".a = 1");
	entry(1, "yq", "there.json", ".b = 2");
	set("provision.01.permissions", "600");
	host_file(&host, "there.json", "{}\n", 0644);
	start();
	host_until(&host, script(0)->state == AP_PROVISION_ASKS);
	assert_int_equal(access(at("provision/00.in"), F_OK), -1); /* there is nothing yet */
	host_file(&host, "provision/x", "a: 1\n", 0600);
	rename_file("provision/x", "provision/00.out");
	host_until(&host, script(1)->state == AP_PROVISION_ASKS);
	assert_string_equal(text_of("provision/01.in"), "{}\n");
	host_file(&host, "provision/x", "", 0600);
	rename_file("provision/x", "provision/01.out");
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	assert_int_equal(script(0)->state, AP_PROVISION_OK);
	assert_string_equal(text_of("new/file.yaml"), "a: 1\n");
	assert_int_equal(mode_of("new/file.yaml"), 0644);
	assert_string_equal(text_of("there.json"), "");
	assert_int_equal(mode_of("there.json"), 0600);
	assert_int_equal(access(at("provision/01.out"), F_OK), -1);
	assert_int_equal(access(at("provision/01.in"), F_OK), -1);
}

static void an_edit_the_host_refuses_changes_nothing(void **state)
{
	(void)state;
	set_own_user();
	entry(0, "yq", "there.yaml", ".a = 1");
	host_file(&host, "there.yaml", "a: [\n", 0644);
	start();
	host_until(&host, script(0)->state == AP_PROVISION_ASKS);
	host_file(&host, "provision/x", "there.yaml is no YAML", 0600);
	rename_file("provision/x", "provision/00.err");
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	assert_int_equal(script(0)->status, 1);
	assert_string_equal(script(0)->tail, "there.yaml is no YAML");
	assert_string_equal(text_of("there.yaml"), "a: [\n");
}

static void an_edit_needs_the_owners_rights(void **state)
{
	static char large[EDIT_MAX + 2];

	(void)state;
	memset(large, 'x', sizeof(large) - 1);
	set_own_user();
	host_file(&host, "large", large, 0644);
	entry(0, "yq", "large", ".");
	if (getuid() == 0) {
		assert_int_equal(chmod(host.dir, 0755), 0);
		host_file(&host, "roots", "a: 1\n", 0644);
		set("provision.01.mode", "yq");
		set("provision.01.path", at("roots"));
		set("provision.01.owner", "65534");
		set("provision.02.mode", "yq");
		set("provision.02.path", at("roots-folder/x"));
		set("provision.02.owner", "65534");
	}
	run_all();
	assert_int_equal(script(0)->status, 1);
	assert_non_null(strstr(script(0)->tail, "large"));
	if (getuid() != 0)
		return;
	assert_non_null(strstr(script(1)->tail, "Permission denied"));
	assert_non_null(strstr(script(2)->tail, "cannot make the folder"));
	assert_int_equal(access(at("roots-folder"), F_OK), -1);
}

/* The exit code of the program, which a cloud guest's boot script goes by; also of what was carried out before. */
static void the_program_tells_whether_a_mode_succeeded(void **state)
{
	static char program[] = "provision", system[] = "system", dependency[] = "dependency";

	(void)state;
	set_own_user();
	entry(0, "system", NULL, "#!/bin/sh\nexit 3\n");
	entry(1, "system", NULL, "#!/bin/sh\n");
	entry(2, "dependency", NULL, "#!/bin/sh\n");
	host_file(&host, "settings", settings.data, 0600);
	buf_free(&settings);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(provision_main(3, (char *[]){ program, system, host.dir, NULL }), 1);
		assert_int_equal(provision_main(3, (char *[]){ program, dependency, host.dir, NULL }), 0);
	}
	assert_int_equal(provision_main(1, (char *[]){ program, NULL }), 2);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(modes_have_their_order),
		T(containerd_has_its_turn),
		T(packages_are_upgraded_first),
		T(a_failing_upgrade_is_told),
		T(a_user_script_has_a_login_environment),
		T(a_user_script_runs_without_roots_rights),
		T(data_is_put_where_it_says),
		T(data_that_cannot_be_put_says_why),
		T(folders_are_made_as_the_owner),
		T(an_edit_is_the_hosts),
		T(an_edit_the_host_refuses_changes_nothing),
		T(an_edit_needs_the_owners_rights),
		T(the_program_tells_whether_a_mode_succeeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
