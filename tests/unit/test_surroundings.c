/* What a plan tells the guest of the world around it: proxies, hosts, name servers, certificates, time zone. */
#include "tests/unit/cfg_util.h"

#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/plan/proxy.h"

/* What is appended to no_proxy: the guest, the host, the host's names. */
#define NAMES "host.lima.internal,host.docker.internal,gateway.docker.internal"
#define OWN "10.0.2.15,10.0.2.2," NAMES

#define FAKE "vmType: fake\nimages: [{location: /dev/null}]\n"

static void proxies_as_the_guest_reaches_them(void **state)
{
	static const char *const rows[][2] = {
		{ "http://127.0.0.1:3128", "http://gw:3128" },
		{ "http://localhost:3128/path?a@b", "http://gw:3128/path?a@b" },
		{ "http://LocalHost", "http://gw" },
		{ "http://user:p@ss@127.1.2.3:80/", "http://user:p@ss@gw:80/" },
		{ "socks5://[::1]:1080", "socks5://gw:1080" },
		{ "socks5h://me:s%40crt@localhost:1080/", "socks5h://me:s%40crt@gw:1080/" },
		{ "http://proxy.localhost:1", "http://gw:1" },
		{ "127.0.0.1:3128", "gw:3128" },
		{ "http://proxy.example:3128", "http://proxy.example:3128" },
		{ "http://notlocalhost:3128", "http://notlocalhost:3128" },
		{ "http://128.0.0.1", "http://128.0.0.1" },
		{ "http://[fd00::1]:1", "http://[fd00::1]:1" },
		{ "http://[::1", "http://[::1" },
		{ "http://127.0.0.1@proxy:1", "http://127.0.0.1@proxy:1" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *got = proxy_rewrite(rows[i][0], "gw");

		assert_string_equal(got, rows[i][1]);
	}
}

/* Settings of a template on a host with these proxies, as text. */
static char *settings_of(const char *yaml, struct plan_host *h)
{
	auto_free char *text = xasprintf(FAKE "%s\n", yaml);
	auto_loaded l = load_ok(text);
	struct plan_images none = { 0 };
	struct plan p;
	struct err e = { 0 };
	char *out;

	h->arch = (char *)"x86_64";
	h->fake = true;
	h->agent = h->provision = (char *)"/opt";
	h->home = (char *)"/home/jane";
	if (plan_make(&l.cfg, h, &none, "box", "/x", &p, &e) < 0)
		fail_msg("%s", e.msg);
	out = plan_settings_text(&p, &e);
	for (size_t i = 0; i < p.files; i++) {
		char *more = xasprintf("%s%s <- %s\n", out, p.file[i].guest_path, p.file[i].source);

		free(out);
		out = more;
	}
	plan_free(&p);
	return out;
}

static void expect(const char *yaml, struct plan_host *h, const char *const *has, const char *const *lacks)
{
	auto_free char *text = settings_of(yaml, h);

	for (size_t i = 0; has[i]; i++) {
		if (!strstr(text, has[i]))
			fail_msg("\"%s\" is missing in\n%s", has[i], text);
	}
	for (size_t i = 0; lacks && lacks[i]; i++) {
		if (strstr(text, lacks[i]))
			fail_msg("\"%s\" should not be in\n%s", lacks[i], text);
	}
}
#define ALL(...) (const char *const[]){ __VA_ARGS__, NULL }

static void proxies_are_passed_on(void **state)
{
	struct plan_host h = {
		.proxy = {
			{ (char *)"http_proxy", (char *)"http://localhost:1" },
			{ (char *)"no_proxy", (char *)"127.0.0.1,localhost" },
			{ (char *)"HTTP_PROXY", (char *)"http://other:2" },
			{ (char *)"HTTPS_PROXY", (char *)"http://[::1]:3" },
			{ (char *)"FTP_PROXY", (char *)"" },
			{ (char *)"ALL_PROXY", (char *)"socks5://localhost:4" },
		},
		.proxies = 6,
	};

	(void)state;
	expect("env: {http_proxy: 'http://mine', ftp_proxy: 'x', A: b}", &h,
	       ALL("env.http_proxy=http://10.0.2.2:1\n", "env.HTTP_PROXY=http://10.0.2.2:1\n",
		   "env.no_proxy=127.0.0.1,localhost,::1," OWN "\n", "env.NO_PROXY=127.0.0.1,localhost,::1," OWN "\n",
		   "env.all_proxy=socks5://10.0.2.2:4\n", "env.ALL_PROXY=socks5://10.0.2.2:4\n",
		   "env.https_proxy=http://10.0.2.2:3\n", "env.HTTPS_PROXY=http://10.0.2.2:3\n", "env.A=b\n",
		   "env.ftp_proxy=x\n", "env.FTP_PROXY=x\n"),
	       NULL);
	expect("propagateProxyEnv: false\nenv: {http_proxy: 'http://127.0.0.1:5', HTTPS_PROXY: ''}", &h,
	       ALL("env.http_proxy=http://10.0.2.2:5\n", "env.HTTP_PROXY=http://10.0.2.2:5\n",
		   "env.no_proxy=localhost,127.0.0.1,::1," OWN "\n"),
	       ALL("https_proxy", "HTTPS_PROXY", "all_proxy", "http_proxy=http://10.0.2.2:1"));
	expect("propagateProxyEnv: false", &h, ALL("hostname=lima-box\n"), ALL("proxy", "PROXY"));
}

/* no_proxy of a host with a proxy, as the guest has it. */
static void what_is_here_needs_no_proxy(void **state)
{
	static const char *const rows[][2] = {
		{ "", "localhost,127.0.0.1,::1," OWN },
		{ "*", "*" },
		{ "a.example", "a.example,localhost,127.0.0.1,::1," OWN },
		{ ".corp, LOCALHOST ,10.0.2.2", ".corp, LOCALHOST ,10.0.2.2,127.0.0.1,::1,10.0.2.15," NAMES },
		{ "notlocalhost,127.0.0.10", "notlocalhost,127.0.0.10,localhost,127.0.0.1,::1," OWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct plan_host h = {
			.proxy = { { (char *)"all_proxy", (char *)"socks5://p" }, { (char *)"NO_PROXY", (char *)rows[i][0] } },
			.proxies = 2,
		};
		auto_free char *lower = xasprintf("env.no_proxy=%s\n", rows[i][1]);
		auto_free char *upper = xasprintf("env.NO_PROXY=%s\n", rows[i][1]);

		expect("", &h, ALL(lower, upper), NULL);
	}
	/* Without a proxy it is what it was. */
	expect("env: {no_proxy: a}", &(struct plan_host){ 0 }, ALL("env.no_proxy=a\n", "env.NO_PROXY=a\n"), NULL);
}

static void hosts_become_addresses(void **state)
{
	struct plan_host h = { 0 };

	(void)state;
	expect("hostResolver: {hosts: {a: b, B: host.lima.internal, six: '::1', far: example.com, x: y, y: x}}", &h,
	       ALL("host.a=10.0.2.2\n", "host.B=10.0.2.2\n", "host.six=::1\n"), ALL("host.far", "host.x", "host.y"));
	expect("hostResolver: {enabled: false, hosts: {a: 1.2.3.4}}\ndns: [1.1.1.1, 'fd00::1']", &h,
	       ALL("net.dns=1.1.1.1 fd00::1\n"), ALL("host.a"));
}

static void the_rest(void **state)
{
	struct plan_host h = { .zoneinfo = (char *)"/usr/share/zoneinfo" };

	(void)state;
	expect("caCerts: {certs: [\"one\\ntwo\"], removeDefaults: true}\ntimezone: Mars/Olympus\n"
	       "upgradePackages: true\nparam: {p: v}\nmessage: '{{.Param.p}}'",
	       &h,
	       ALL("ca.cert.00=one\\ntwo\n", "ca.removeDefaults=true\n", "timezone=Mars/Olympus\n",
		   "upgradePackages=true\n", "param.p=v\n"),
	       ALL("localtime"));
	expect("caCerts: {removeDefaults: false}\ntimezone: ''", &h, ALL("hostname=lima-box\n"),
	       ALL("ca.", "timezone", "upgrade"));
	expect("provision: [{mode: data, path: '/a b', content: x, permissions: '600', overwrite: false},"
	       "{mode: yq, path: /c.json, expression: ., owner: 'a:b'}, {script: x}]",
	       &h,
	       ALL("provision.00.mode=data\nprovision.00.path=/a b\nprovision.00.owner=root:root\n"
		   "provision.00.permissions=600\nprovision.00.overwrite=false\nprovision.01.mode=yq\n"
		   "provision.01.path=/c.json\nprovision.01.owner=a:b\nprovision.01.permissions=644\n"
		   "provision.02.mode=system\n"),
	       NULL);
}

static void zones_are_files_below_the_folder(void **state)
{
	struct plan_host h = { .zoneinfo = (char *)"/etc" };
	auto_free char *found = plan_host_zone(&h, "passwd");

	(void)state;
	assert_string_equal(found, "/etc/passwd");
	assert_null(plan_host_zone(&h, "../etc/passwd"));
	assert_null(plan_host_zone(&h, "/passwd"));
	assert_null(plan_host_zone(&h, ""));
	assert_null(plan_host_zone(&h, "no such"));
	h.zoneinfo = NULL;
	assert_null(plan_host_zone(&h, "passwd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxies_as_the_guest_reaches_them),
		cmocka_unit_test(proxies_are_passed_on),
		cmocka_unit_test(what_is_here_needs_no_proxy),
		cmocka_unit_test(hosts_become_addresses),
		cmocka_unit_test(the_rest),
		cmocka_unit_test(zones_are_files_below_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
