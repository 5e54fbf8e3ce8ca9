/* Which values are templates, what they are filled with, and what is said when they cannot be. */
#include "tests/unit/cfg_util.h"

#include "limactl-c/base/mem.h"
#include "limactl-c/config/vars.h"

#define PARAM "param: {greeting: hello, empty: \"\"}\n"
#define USED "env: {A: \"$PARAM_greeting $PARAM_empty\"}\n"

/* A text with one value that is filled, and what it is filled with. */
static void assert_filled(const char *yaml, const char *(*value)(const struct cfg *), const char *what)
{
	auto_free char *text = xasprintf("%s%s%s%s", IMAGE, PARAM, USED, yaml);
	auto_loaded l = load_ok(text);

	if (strcmp(value(&l.cfg), what) || strstr(l.lines, "stays"))
		print_error("%s%s", text, l.lines);
	assert_string_equal(value(&l.cfg), what);
	assert_null(strstr(l.lines, "stays"));
}

static const char *home(const struct cfg *c) { return c->user.home; }
static const char *location(const struct cfg *c) { return c->mount[0].location; }
static const char *mount_point(const struct cfg *c) { return c->mount[0].mount_point; }
static const char *script(const struct cfg *c) { return c->provision[0].script; }
static const char *content(const struct cfg *c) { return c->provision[0].content; }
static const char *expression(const struct cfg *c) { return c->provision[0].expression; }
static const char *owner(const struct cfg *c) { return c->provision[0].owner; }
static const char *path(const struct cfg *c) { return c->provision[0].path; }
static const char *probe(const struct cfg *c) { return c->probe[0].script; }
static const char *guest_socket(const struct cfg *c) { return c->forward[0].guest_socket; }
static const char *host_socket(const struct cfg *c) { return c->forward[0].host_socket; }
static const char *copied(const struct cfg *c) { return c->copy[0].guest; }
static const char *copy(const struct cfg *c) { return c->copy[0].host; }
static const char *engine(const struct cfg *c) { return c->guest.engine_disk; }
static const char *message(const struct cfg *c) { return c->message; }

static void test_every_value_that_is_a_template_is_filled(void **state)
{
	(void)state;
	assert_filled("user: {home: \"/h/{{.User}}-{{.UID}}-{{.Name}}\"}\n", home, "/h/jane-1000-box");
	assert_filled("mounts: [{location: \"{{.GlobalTempDir}}/lima\"}]\n", location, "/tmp/lima");
	assert_filled("mounts: [{location: \"{{.Home}}/{{.Param.greeting}}\"}]\n", mount_point, "/home/jane/hello");
	assert_filled("mounts: [{location: /a, mountPoint: \"{{.Home}}/x\"}]\n", mount_point, "/home/jane.guest/x");
	assert_filled("provision: [{mode: system, script: \"#!/bin/sh\\n{{.User}} {{.Hostname}} {{.Param.greeting}}\"}]\n", script,
		      "#!/bin/sh\njane lima-box hello");
	assert_filled("provision: [{mode: data, path: /x, content: \"{{.Name}}\"}]\n", content, "box");
	assert_filled("provision: [{mode: data, path: /x, content: a, owner: \"{{.User}}\"}]\n", owner, "jane");
	assert_filled("provision: [{mode: data, content: a, path: \"{{.Home}}/x\"}]\n", path, "/home/jane.guest/x");
	assert_filled("provision: [{mode: yq, path: /x, expression: \".a = {{.UID}}\"}]\n", expression, ".a = 1000");
	assert_filled("probes: [{script: \"#!/bin/sh\\n{{.Home}}\"}]\n", probe, "#!/bin/sh\n/home/jane.guest");
	assert_filled("portForwards: [{guestSocket: \"/run/user/{{.UID}}/d\", hostSocket: d}]\n", guest_socket, "/run/user/1000/d");
	assert_filled("portForwards: [{guestSocket: /d, hostSocket: \"{{.Dir}}/sock/d\"}]\n", host_socket,
		      "/home/jane/.lima/box/sock/d");
	assert_filled("copyToHost: [{guest: \"{{.Home}}/a\", host: /a}]\n", copied, "/home/jane.guest/a");
	assert_filled("copyToHost: [{guest: /a, host: \"{{.LimaHome}}/{{.Instance}}/a\"}]\n", copy, "/home/jane/.lima/box/a");
	assert_filled("guest: {engineDisk: \"cache:e-{{.Arch}}\"}\n", engine, "cache:e-x86_64");
	assert_filled("message: \"{{.Name}} {{.Dir}}\"\n", message, "box /home/jane/.lima/box");
}

static void test_templates_may_do_more_than_name_a_variable(void **state)
{
	(void)state;
	assert_filled("message: \"{{if eq .Param.greeting \\\"hello\\\"}}yes{{else}}no{{end}}\"\n", message, "yes");
	assert_filled("message: \"{{if and .Param.greeting .Param.empty}}yes{{else}}no{{end}}\"\n", message, "no");
	assert_filled("message: \"{{range $k, $v := .Param}}{{$k}}={{$v}};{{end}}\"\n", message, "empty=;greeting=hello;");
	assert_filled("message: \"{{\\\"{{\\\"}}.State}}\"\n", message, "{{.State}}");
	/* A parameter nobody declared is none, as in Lima. */
	assert_filled("provision: [{mode: system, script: \"#!/bin/sh\\n{{if .Param.x}}a{{else}}b{{end}}\"}]\n", script,
		      "#!/bin/sh\nb");
}

static void test_messages_know_the_instance_and_its_configuration(void **state)
{
	(void)state;
	assert_filled("message: \"{{.HostOS}} {{.HostArch}} {{.VMType}} {{.Arch}} {{.CPUs}} {{.LimaHome}} {{.IdentityFile}}\"\n",
		      message, "linux x86_64 qemu x86_64 4 /home/jane/.lima /home/jane/.lima/_config/user");
	assert_filled("cpus: 3\nmessage: \"{{.Config.CPUs}} {{.Instance.Config.VMType}} {{.Instance.Name}} {{.Hostname}}\"\n",
		      message, "3 qemu box lima-box");
	/* Options of a driver that is not used. */
	assert_filled("message: \"a{{if .Instance.Config.VMOpts.vz.rosetta.enabled}}b{{end}}\"\n", message, "a");
	assert_filled("ssh: {localPort: 2222}\nmessage: \"{{.SSHLocalPort}} {{.SSHConfigFile}}\"\n", message,
		      "2222 /home/jane/.lima/box/ssh.config");
}

#define BRACES "; braces that are meant for others are written {{\"{{\"}}\n"
#define STAYS "; so the whole text stays as it is, with none of its {{ }} filled" BRACES

static void test_what_cannot_be_filled_stays_and_its_line_is_named(void **state)
{
	static const char text[] = IMAGE "provision:\n"
				   "- mode: system\n"
				   "  script: |\n"
				   "    #!/bin/sh\n"
				   "    adduser {{.User}}\n"
				   "    docker inspect -f '{{.State}}' x\n"
				   "- mode: system\n"
				   "  script: \"#!/bin/sh\\n{{json .}}\"\n"
				   "- mode: system\n"
				   "  script: \"#!/bin/sh\\n{{.User}}\"\n"
				   "message: '{{.Nme}}'\n";
	struct cfg_input in = input_of(text);
	auto_loaded l = read_input(&in);

	(void)state;
	assert_true(l.ok);
	assert_string_equal(l.cfg.provision[0].script, "#!/bin/sh\nadduser {{.User}}\ndocker inspect -f '{{.State}}' x\n");
	assert_string_equal(l.cfg.provision[1].script, "#!/bin/sh\n{{json .}}");
	assert_string_equal(l.cfg.provision[2].script, "#!/bin/sh\njane");
	assert_string_equal(l.cfg.message, "{{.Nme}}");
	assert_string_equal(l.lines,
			    "warning: t.yaml:7:1: provision[0].script: there is no field \"State\"" STAYS
			    "warning: t.yaml:9:11: provision[1].script: there is no function \"json\"" STAYS
			    "warning: t.yaml:12:10: message: there is no field \"Nme\"" STAYS);
	in.strict = true;
	unload(&l);
	l = read_input(&in);
	assert_false(l.ok);
	assert_string_equal(l.lines,
			    "t.yaml:7:1: provision[0].script: there is no field \"State\"" BRACES
			    "t.yaml:9:11: provision[1].script: there is no function \"json\"" BRACES
			    "t.yaml:12:10: message: there is no field \"Nme\"" BRACES);
}

static void test_what_is_filled_in_must_be_text(void **state)
{
	auto_loaded l = load_ok(IMAGE "message: '{{\"\\x00\"}}'\n"), m = load_ok(IMAGE "message: '{{\"\\xff\"}}'\n");

	(void)state;
	assert_string_equal(l.cfg.message, "{{\"\\x00\"}}");
	assert_non_null(strstr(l.lines, "NUL"));
	assert_string_equal(m.cfg.message, "{{\"\\xff\"}}");
}

/* A template that belongs to no instance yet. */
static void test_without_an_instance_its_name_stays_open(void **state)
{
	struct cfg_input in = input_of(IMAGE "message: '{{.Name}} {{.Dir}}/x {{.Hostname}} {{.HostOS}}'\n");

	(void)state;
	in.name = in.dir = NULL;
	auto_loaded l = read_input(&in);
	assert_true(l.ok);
	assert_string_equal(l.lines, "");
	assert_string_equal(l.cfg.message, "{{.Name}} {{.Dir}}/x {{.Hostname}} linux");
}

static void test_host_names_hold_no_dots(void **state)
{
	auto_free char *name = vars_hostname("a.b_c-d");

	(void)state;
	assert_string_equal(name, "lima-a-b-c-d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_value_that_is_a_template_is_filled),
		cmocka_unit_test(test_templates_may_do_more_than_name_a_variable),
		cmocka_unit_test(test_messages_know_the_instance_and_its_configuration),
		cmocka_unit_test(test_what_cannot_be_filled_stays_and_its_line_is_named),
		cmocka_unit_test(test_what_is_filled_in_must_be_text),
		cmocka_unit_test(test_without_an_instance_its_name_stays_open),
		cmocka_unit_test(test_host_names_hold_no_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
