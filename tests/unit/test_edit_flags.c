/* Flags that change a template: what each makes of a text, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/edit_flags.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"

enum { ARGS = 8 };

/* The text after the flags, split at blanks; NULL with *e. malloc'd. */
static char *after(const char *flags, const char *text, bool is_new, struct err *e)
{
	static char words[400];
	char *argv[ARGS + 2] = { "prog" }, *save = NULL;
	auto_pool p = yn_pool_new();
	auto_buf out = BUF_INIT(1 << 16);
	struct edit edit = { 0 };
	const struct opt_set set = { edit_opts, &edit };
	const struct ynode *was = yn_parse_one(p, "t.yaml", text, strlen(text), e);
	struct ynode *now = was ? yn_copy(p, was) : NULL;
	int argc = 1;

	assert_non_null(now);
	snprintf(words, sizeof(words), "%s", flags);
	for (char *w = strtok_r(words, " ", &save); w && argc <= ARGS; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	if (opts_parse(&set, 1, false, argc, argv, e) < 0 || edit_apply(p, &edit, is_new, &now, e) < 0)
		return NULL;
	assert_true(edit_given(&edit));
	if (yn_patch(was, now, &out, e) < 0)
		return NULL;
	return xstrndup(out.data, out.len);
}

static const struct {
	const char *flags, *before, *after;
} changes[] = {
	{ "--cpus 3", "# top\ncpus: 1 # few\nmemory: 1GiB\n", "# top\ncpus: 3 # few\nmemory: 1GiB\n" },
	{ "--cpus=3", "memory: 1GiB\n", "memory: 1GiB\ncpus: 3\n" },
	{ "--memory=1.5", "memory: 1GiB # m\n", "memory: 1.5GiB # m\n" },
	{ "--disk=10", "disk: 1GiB\n", "disk: 10GiB\n" },
	{ "--memory=0.5e1", "memory: 1GiB\n", "memory: 5GiB\n" },
	{ "--vm-type=qemu", "vmType: vz\n", "vmType: qemu\n" },
	{ "--mount-type=9p", "mountType: virtiofs\n", "mountType: 9p\n" },
	{ "--arch=aarch64", "arch: x86_64\n", "arch: aarch64\n" },
	{ "--mount-inotify", "mountInotify: false\n", "mountInotify: true\n" },
	{ "--mount-inotify=false", "mountInotify: true\n", "mountInotify: false\n" },
	{ "--nested-virt", "nestedVirtualization: false\n", "nestedVirtualization: true\n" },
	{ "--plain", "plain: false\n", "plain: true\n" },
	{ "--idle=noConnections", "idle: {when: never}\n", "idle: {when: noConnections}\n" },
	{ "--ssh-port=0", "ssh:\n  localPort: 22022 # free\n", "ssh:\n  localPort: 0 # free\n" },
	{ "--ssh-port=060", "ssh:\n  localPort: 22\n", "ssh:\n  localPort: 60\n" },
	{ "--shell=/bin/zsh", "user:\n  name: a\n", "user:\n  name: a\n  shell: /bin/zsh\n" },
	{ "--video", "video:\n  display: none\n", "video:\n  display: default\n" },
	{ "--video=false", "video:\n  display: default\n", "video:\n  display: none\n" },
	{ "--audio-device=pa --audio-interface=virtio", "audio:\n  device: none\n",
	  "audio:\n  device: pa\n  interface: virtio\n" },
	{ "--rosetta", "vmOpts:\n  vz:\n    rosetta:\n      enabled: false\n",
	  "vmOpts:\n  vz:\n    rosetta:\n      enabled: true\n      binfmt: true\n" },
	{ "--containerd=none", "containerd:\n  user: true\n", "containerd:\n  user: false\n  system: false\n" },
	{ "--containerd=user+system", "containerd:\n  user: false\n", "containerd:\n  user: true\n  system: true\n" },
	{ "--containerd=system", "containerd:\n  user: true\n", "containerd:\n  user: false\n  system: true\n" },
	{ "--dns=1.1.1.1,8.8.8.8", "dns:\n- 1.1.1.1\nhostResolver:\n  enabled: true # r\n",
	  "dns:\n- 1.1.1.1\n- 8.8.8.8\nhostResolver:\n  enabled: false # r\n" },
	{ "--port-forward=8080:80 --port-forward=53:5353,static=true", "portForwards:\n- guestPort: 1 # first\n",
	  "portForwards:\n- guestPort: 1 # first\n- guestPort: 80\n  hostPort: 8080\n  static: false\n"
	  "- guestPort: 5353\n  hostPort: 53\n  static: true\n" },
	{ "--network=vzNAT,lima:shared", "networks:\n- socket: /s # own\n",
	  "networks:\n- socket: /s # own\n- vzNAT: true\n- lima: shared\n" },
	{ "--network=lima:shared", "networks:\n- lima: shared\n", "networks:\n- lima: shared\n" },
	{ "--mount=/b:w", "mounts:\n- location: /a # a\n",
	  "mounts:\n- location: /b\n  mountPoint: /b\n  writable: true\n- location: /a # a\n" },
	{ "--mount=/a/:w", "mounts:\n- location: /a # a\n", "mounts:\n- location: /a # a\n  writable: true\n" },
	{ "--mount=/a", "mounts:\n- location: /a\n  writable: true\n", "mounts:\n- location: /a\n  writable: false\n" },
	{ "--mount-only=/b", "mounts:\n- location: /a\n# end\ncpus: 1\n",
	  "mounts:\n- location: /b\n  mountPoint: /b\n  writable: false\n# end\ncpus: 1\n" },
	{ "--mount-none", "mounts:\n- location: /a\ncpus: 1\n", "mounts: null\ncpus: 1\n" },
	{ "--mount-writable", "mounts:\n- location: /a\n- location: /b\n  writable: false # ro\n",
	  "mounts:\n- location: /a\n  writable: true\n- location: /b\n  writable: true # ro\n" },
	{ "--param=A=x=y", "param:\n  A: \"1\" # what\n  B: \"2\"\n", "param:\n  A: \"x=y\" # what\n  B: \"2\"\n" },
	{ "--set=.cpus=2 --set=.cpus|=3", "cpus: 1 # c\n", "cpus: 3 # c\n" },
	{ "--set=.mountType=reverse-sshfs", "mountType: 9p # c\n", "mountType: reverse-sshfs # c\n" },
	{ "--set=.env.A=yes --set=.env.B=/usr/bin --set=.env.C|=~/x", "env: {A: b}\n", "env: {A: \"yes\", B: /usr/bin, C: ~/x}\n" },
	{ "--set=.images[0].location=https://x.org/é?a=b", "images:\n- location: \"/a\"\n",
	  "images:\n- location: \"https://x.org/é?a=b\"\n" },
	{ "--image-variant=v", "images:\n- location: /a\n  variant: u\n- location: /b\n  variant: v # v\n",
	  "images:\n- location: /b\n  variant: v # v\n" },
	{ "--arch-variant=v3", "images:\n- location: /a\n- location: /b\n  archVariant: v3\n",
	  "images:\n- location: /b\n  archVariant: v3\n" },
};

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct err e = { 0 };
		auto_free char *got = after(changes[i].flags, changes[i].before, true, &e);

		if (!got)
			fail_msg("%s: %s", changes[i].flags, e.msg);
		if (strcmp(got, changes[i].after) != 0)
			fail_msg("%s:\n%s", changes[i].flags, got);
	}
}

/* What is in a text already stays as it stands. */
static void test_twice_is_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct err e = { 0 };
		auto_free char *got = NULL;

		/* It adds, as often as it is given. */
		if (strstr(changes[i].flags, "port-forward"))
			continue;
		got = after(changes[i].flags, changes[i].after, true, &e);
		if (!got)
			fail_msg("%s: %s", changes[i].flags, e.msg);
		if (strcmp(got, changes[i].after) != 0)
			fail_msg("%s:\n%s", changes[i].flags, got);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *flags, *text, *msg;
	} rows[] = {
		{ "--mount=/a --mount-only=/b", "", "--mount: cannot be given together with --mount-only" },
		{ "--mount=/a --mount-none", "", "--mount: cannot be given together with --mount-none" },
		{ "--mount-only=/a --mount-none", "", "--mount-only: cannot be given together with --mount-none" },
		{ "--mount-writable", "mounts: []\n", "--mount-writable: no folder is shared; give --mount DIR:w" },
		{ "--mount=~other/x", "", "--mount: \"~other/x\" is no folder that can be named so; give its path" },
		{ "--mount=", "", "--mount: \"\" is no folder that can be named so; give its path" },
		{ "--dns=1.2.3", "", "--dns: \"1.2.3\" is no IP address" },
		{ "--network=bridge", "", "--network: \"bridge\" is neither vzNAT nor lima:NAME" },
		{ "--network=lima:", "", "--network: \"lima:\" is neither vzNAT nor lima:NAME" },
		{ "--vm-type=", "", "--vm-type: needs a value that is not empty" },
		{ "--containerd=both", "",
		  "--containerd: \"both\" is none of user|system|user+system|system+user|none" },
		{ "--param=A", "param: {A: 1}\n", "--param: \"A\" is not NAME=VALUE" },
		{ "--param=proxi=1", "param: {proxy: \"\", B: \"\"}\n",
		  "--param: the template declares no parameter \"proxi\"; did you mean proxy? (it has: proxy, B)" },
		{ "--param=A=1", "cpus: 1\n", "--param: the template declares no parameter \"A\" (it has none)" },
		{ "--image-variant=x", "images: [{location: /a, variant: u}]\n",
		  "--image-variant: no image of the template has the variant \"x\"; there are: u" },
		{ "--arch-variant=x", "images: [{location: /a}]\n",
		  "--arch-variant: no image of the template has the archVariant \"x\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };

		assert_null(after(rows[i].flags, rows[i].text, true, &e));
		assert_string_equal(e.msg, rows[i].msg);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void test_bad_forwards(void **state)
{
	static const char *const bad[] = { "8080", "8080:", ":80", "0:80", "80:0", "65536:80", "80:65536", "80:80,",
					   "80:80,static", "80:80,static=maybe", "a:b", "80:80:80", "-1:80", "80:80,static=true,", "tcp:80" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		auto_free char *flags = xasprintf("--port-forward=%s", bad[i]);
		struct err e = { 0 };

		assert_null(after(flags, "", true, &e));
		assert_non_null(strstr(e.msg, "is not HOST:GUEST or HOST:GUEST,static=true"));
	}
}

static void test_a_bad_expression_is_named(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_null(after("--set=.cpus=1 --set=.cpus=(", "", true, &e));
	assert_non_null(strstr(e.msg, "--set: .cpus=("));
	e = (struct err){ 0 };
	/* Not a template any more. */
	assert_null(after("--set=.cpus", "cpus: 1\n", true, &e));
	assert_non_null(strstr(e.msg, "--set: .cpus"));
}

/* What yq may give a meaning, and what may be meant otherwise. */
static void test_what_is_not_taken_as_text(void **state)
{
	static const char *const flags[] = { "--set=.a=now", "--set=.a=line-x", "--set=.a=env(HOME)", "--set=.a==x", "--set=.a!=x",
					     "--set=.a=x,y", "--set=.a=x|.b=y", "--set=a=x", "--set=x", "--set=.a=.b=x",
					     "--set=.a='x'", "--set=.a={b:x}", "--set=.a=x*" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct err e = { 0 };
		const char *got = after(flags[i], "a: 1\nb: 2\n", true, &e);

		if (got)
			fail_msg("%s gives %s", flags[i], got);
	}
}

static void test_what_is_for_new_instances(void **state)
{
	static const char *const flags[] = { "--arch=x86_64", "--plain", "--containerd=none", "--image-variant=u",
					     "--arch-variant=u" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct err e = { 0 };

		assert_null(after(flags[i], "images: [{location: /a, variant: u, archVariant: u}]\n", false, &e));
		assert_non_null(strstr(e.msg, ": cannot be changed in an existing instance; make a new one with"));
	}
}

static bool has_option(const struct cmd *c, const char *name)
{
	const struct opt *table[CMD_TABLES];
	size_t n = cmd_tables(c, table, NULL);

	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = table[i]; o->name; o++)
			if (!strcmp(o->name, name))
				return true;
	return false;
}

/* Lima 2.2's flags of create and start. */
static void test_every_flag_of_lima_is_a_row(void **state)
{
	static const char *const create[] = {
		"name", "arch", "vm-type", "cpus", "memory", "disk", "image-variant", "arch-variant", "containerd", "plain",
		"mount", "mount-only", "mount-none", "mount-type", "mount-writable", "mount-inotify", "network", "nested-virt", "rosetta",
		"set", "param", "ssh-port", "video", "dns", "port-forward", "audio-device", "audio-interface", "shell", "list-templates",
		"list-drivers",
	};
	static const char *const start[] = { "foreground", "timeout", "progress" };
	static const char *const edit[] = {
		"vm-type", "cpus", "memory", "disk", "mount", "mount-only", "mount-none", "mount-type", "mount-writable",
		"mount-inotify", "network", "nested-virt", "rosetta", "set", "param", "ssh-port", "video", "dns", "shell", "start",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(create) / sizeof(*create); i++) {
		assert_true(has_option(&cmd_create, create[i]));
		assert_true(has_option(&cmd_start, create[i]));
	}
	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++)
		assert_true(has_option(&cmd_start, start[i]));
	for (size_t i = 0; i < sizeof(edit) / sizeof(*edit); i++) {
		assert_true(has_option(&cmd_edit, edit[i]));
		assert_true(has_option(&cmd_clone, edit[i]));
		assert_true(has_option(&cmd_rename, edit[i]));
	}
}

/* Each row is tried above. */
static void test_every_row_is_tested(void **state)
{
	(void)state;
	for (const struct opt *o = edit_opts; o->name; o++) {
		auto_free char *flag = xasprintf("--%s", o->name);
		bool found = false;

		for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
			const char *at = strstr(changes[i].flags, flag);

			found |= at && strchr("= ", at[strlen(flag)]); /* the end is found too */
		}
		if (!found)
			fail_msg("no change is tried with %s", flag);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_twice_is_once),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_bad_forwards),
		cmocka_unit_test(test_a_bad_expression_is_named),
		cmocka_unit_test(test_what_is_not_taken_as_text),
		cmocka_unit_test(test_what_is_for_new_instances),
		cmocka_unit_test(test_every_flag_of_lima_is_a_row),
		cmocka_unit_test(test_every_row_is_tested),
	};

	return cmocka_run_group_tests_name("edit_flags", tests, NULL, NULL);
}
