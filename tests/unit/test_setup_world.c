/* Steps of `agent setup` that tell the guest of the world around it: hosts, name servers, time zone, certificates. */
#include "tests/unit/setup_root.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "guestagent/dhcp.h"
#include "guestagent/trouble.h"

/* --- hosts and name servers --- */

static void test_hosts_of_the_template(void **state)
{
	struct err e;

	(void)state;
	set("hostname", "lima-demo");
	set("host.host.docker.internal", "10.0.2.2");
	set("host.six", "fd00::1");
	set("host.bad", "example.com");
	set("host.x y", "10.0.0.1");
	assert_int_equal(setup_hostname(&su, &e), 0);
	assert_non_null(strstr(text_of("/etc/hosts"), "host.lima.internal\n10.0.2.2 host.docker.internal\nfd00::1 six\n# lima: end"));
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), "\"bad\" with \"example.com\" is no name with"));
}

static void test_name_servers(void **state)
{
	struct err e;

	(void)state;
	put("/etc/resolv.conf", "nameserver 10.0.2.3\nsearch example.org\nnameserver 192.0.2.99", 0644);
	set("net.dns", "192.0.2.1 fd00::53 nonsense 192.0.2.2");
	assert_int_equal(net_dns(&su, &e), 0);
	assert_string_equal(text_of("/etc/resolv.conf"),
			    "search example.org\n# lima: begin (kept by lima-guestagent, written anew at each boot)\n"
			    "nameserver 192.0.2.1\nnameserver fd00::53\nnameserver 192.0.2.2\n# lima: end\n");
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), "dns: \"nonsense\" is no address"));
	settings.count = 0;
	assert_int_equal(net_dns(&su, &e), 0);
	assert_non_null(strstr(text_of("/etc/resolv.conf"), "nameserver 10.0.2.3\n"));
	set("net.dns", "nonsense");
	assert_int_equal(net_dns(&su, &e), -1);
}

static void test_name_servers_of_dhcp_clients(void **state)
{
	struct err e;

	(void)state;
	put("/etc/dhcpcd.conf", "duid\n", 0644);
	assert_int_equal(net_dns_clients(&su, &e), 0); /* nothing is asked for: nothing is made */
	assert_string_equal(text_of("/etc/dhcpcd.conf"), "duid\n");
	assert_int_equal(access(at("/etc/udhcpc"), F_OK), -1);
	set("net.dns", "192.0.2.1 192.0.2.2");
	assert_int_equal(net_dns_clients(&su, &e), 0);
	assert_non_null(strstr(text_of("/etc/dhcpcd.conf"), "\nstatic domain_name_servers=192.0.2.1 192.0.2.2\n"));
	assert_non_null(strstr(text_of("/etc/udhcpc/udhcpc.conf"), "\ndns=\"192.0.2.1 192.0.2.2\"\n"));
	settings.count = 0; /* no longer */
	assert_int_equal(net_dns_clients(&su, &e), 0);
	assert_string_equal(text_of("/etc/dhcpcd.conf"), "duid\n");
	assert_string_equal(text_of("/etc/udhcpc/udhcpc.conf"), "");
}

/* --- DHCP --- */

static const char *const dhcp_names[] = { "interface", "ip", "subnet", "router", "dns" };
enum { DHCP_NAMES = sizeof(dhcp_names) / sizeof(dhcp_names[0]) };

/* What udhcpc says, in the order of the names; NULL: not at all. */
static int lease(struct dhcp_lease *l, const char *const said[DHCP_NAMES], struct err *e)
{
	for (size_t i = 0; i < DHCP_NAMES; i++)
		assert_int_equal(said[i] ? setenv(dhcp_names[i], said[i], 1) : unsetenv(dhcp_names[i]), 0);
	return dhcp_lease_read(l, e);
}

static bool is_address(struct in_addr a, const char *text)
{
	char got[INET_ADDRSTRLEN];

	return strcmp(inet_ntop(AF_INET, &a, got, sizeof(got)), text) == 0;
}

static void test_lease(void **state)
{
	static const char *const whole[] = { "eth0", "192.168.64.7", "255.255.255.0", "192.168.64.1 192.168.64.2",
					     "192.168.64.1 nonsense 9.9.9.9" };
	static const char *const least[] = { "eth0", "10.1.2.3", "255.255.255.255", NULL, NULL };
	struct dhcp_lease l;
	struct err e;

	(void)state;
	assert_int_equal(lease(&l, whole, &e), 0);
	assert_string_equal(l.card, "eth0");
	assert_true(is_address(l.net.address, "192.168.64.7") && is_address(l.net.mask, "255.255.255.0"));
	assert_true(is_address(l.net.gateway, "192.168.64.1"));
	assert_int_equal(l.dns_count, 2);
	put("/etc/resolv.conf", "search example.org\n", 0644);
	assert_int_equal(dhcp_name_servers(&su, &l, &e), 0);
	assert_non_null(strstr(text_of("/etc/resolv.conf"), "search example.org\n# lima: begin"));
	assert_non_null(strstr(text_of("/etc/resolv.conf"), "nameserver 192.168.64.1\nnameserver 9.9.9.9\n# lima: end"));
	/* The template's own are what is asked. */
	set("net.dns", "192.0.2.1");
	assert_int_equal(dhcp_name_servers(&su, &l, &e), 0);
	assert_null(strstr(text_of("/etc/resolv.conf"), "9.9.9.9"));
	assert_non_null(strstr(text_of("/etc/resolv.conf"), "nameserver 192.0.2.1\n"));
	settings.count = 0;
	assert_int_equal(lease(&l, least, &e), 0);
	assert_true(!l.net.gateway.s_addr && !l.dns_count);
	assert_int_equal(dhcp_name_servers(&su, &l, &e), 0); /* those of before stay */
	assert_non_null(strstr(text_of("/etc/resolv.conf"), "nameserver 192.0.2.1\n"));
}

static void test_bad_leases(void **state)
{
	static const struct {
		const char *said[DHCP_NAMES], *words;
	} rows[] = {
		{ { NULL, "10.0.0.2", "255.0.0.0" }, "udhcpc names no network card" },
		{ { "a-name-longer-than-any-card", "10.0.0.2", "255.0.0.0" }, "udhcpc names no network card" },
		{ { "eth0", NULL, "255.0.0.0" }, "ip, \"\", is no IPv4 address" },
		{ { "eth0", "10.0.0.2;reboot", "255.0.0.0" }, "ip, \"10.0.0.2;reboot\", is no IPv4 address" },
		{ { "eth0", "10.0.0.2", "24" }, "subnet, \"24\", is no IPv4 address" },
		{ { "eth0", "10.0.0.2", "255.0.255.0" }, "subnet, \"255.0.255.0\", is no network mask" },
		{ { "eth0", "10.0.0.2", "0.0.0.0" }, "subnet, \"0.0.0.0\", is no network mask" },
		{ { "eth0", "10.0.0.2", "255.0.0.0", "fe80::1" }, "router, \"fe80::1\", is no IPv4 address" },
		{ { "eth0", "192.168.0.2", "255.255.0.0", "192.168.100.1001" }, "router, \"192.168.100.1001\", is no IPv4 address" },
		{ { "eth0", "10.0.0.2", "255.0.0.0", " 10.0.0.1" }, "router, \" 10.0.0.1\", is no IPv4 address" },
	};
	static const char *const many[] = { "eth0", "10.0.0.2", "255.0.0.0", "10.0.0.1",
					    "1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1  1.1.1.1" };
	struct dhcp_lease l;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(lease(&l, rows[i].said, &e), -1);
		if (!strstr(e.msg, rows[i].words))
			fail_msg("\"%s\" is not in \"%s\"", rows[i].words, e.msg);
	}
	assert_int_equal(lease(&l, many, &e), 0);
	assert_int_equal(l.dns_count, 8);
}

/* A client that fails, that goes to the background without a lease, and that does neither. */
static void test_no_lease(void **state)
{
	static const struct {
		const char *client, *words;
	} rows[] = {
		{ "#!/bin/sh\nexit 3\n", "udhcpc ended with exit code 3" },
		{ "#!/bin/sh\nexit 0\n", "no DHCP server has answered yet" },
		{ "#!/bin/sh\nexec sleep 20\n", "no DHCP server has answered yet" },
	};
	char *path = strdup(getenv("PATH"));
	struct timespec begun, now;
	struct err e;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char with[5000];

		put("/usr/bin/udhcpc", rows[i].client, 0755);
		snprintf(with, sizeof(with), "%s:%s", at("/usr/bin"), path);
		setenv("PATH", with, 1);
		assert_int_equal(dhcp_start(&su, "no-such-card", 1000, &e), -1);
		assert_string_equal(e.msg, rows[i].words);
	}
	setenv("PATH", path, 1);
	free(path);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(now.tv_sec - begun.tv_sec < 15);
	assert_non_null(strstr(text_of(RUN_DIR "/dhcp"), "exec /run/lima/agent dhcp \"$1\"\n"));
}

static void test_trouble_that_is_over(void **state)
{
	(void)state;
	trouble_note(&su, "network", "no DHCP server has answered yet");
	assert_int_equal(access(at(RUN_DIR "/trouble/network"), F_OK), 0);
	trouble_over(&su, "network");
	trouble_over(&su, "network");
	assert_int_equal(access(at(RUN_DIR "/trouble/network"), F_OK), -1);
}

/* --- time zone --- */

static const char *localtime_target(void)
{
	static char link[200];
	ssize_t n = readlink(at("/etc/localtime"), link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	return link;
}

static void test_zone_of_the_guest(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(su_mkdirs(&su, "/usr/share/zoneinfo/Europe", 0755, &e), 0);
	put("/usr/share/zoneinfo/Europe/Berlin", "TZif", 0644);
	put("/etc/localtime", "old", 0644);
	set("timezone", "Europe/Berlin");
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(setup_timezone(&su, &e), 0);
		assert_string_equal(localtime_target(), "/usr/share/zoneinfo/Europe/Berlin");
		assert_string_equal(text_of("/etc/timezone"), "Europe/Berlin\n");
	}
}

static void test_zone_of_the_host(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(su_write_bytes(&su, RUN_DIR "/localtime", "TZif\0\1\2", 7, 0644, &e), 0);
	set("timezone", "Europe/Berlin");
	assert_int_equal(setup_timezone(&su, &e), 0);
	{
		auto_buf got = BUF_INIT(100);

		assert_int_equal(su_read(&su, "/etc/localtime", &got, &e), 0);
		assert_int_equal(got.len, 7);
		assert_memory_equal(got.data, "TZif\0\1\2", 7);
	}
	assert_string_equal(localtime_target(), "");
}

static void test_zones_that_nobody_knows(void **state)
{
	static const char *const names[] = { "Mars/Olympus", "../../etc/shadow", "/etc/shadow", "a b", "Europe/" };
	struct err e;

	(void)state;
	put("/etc/localtime", "old", 0644);
	assert_int_equal(su_mkdirs(&su, "/usr/share/zoneinfo/Europe", 0755, &e), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		settings.count = 0;
		set("timezone", names[i]);
		assert_int_equal(setup_timezone(&su, &e), -1);
	}
	assert_string_equal(text_of("/etc/localtime"), "old");
	settings.count = 0; /* none is asked for */
	assert_int_equal(setup_timezone(&su, &e), 0);
	assert_string_equal(text_of("/etc/localtime"), "old");
	set("timezone", "Etc/UTC"); /* what is without a description */
	assert_int_equal(setup_timezone(&su, &e), 0);
	assert_int_equal(access(at("/etc/localtime"), F_OK), -1);
}

/* --- certificates --- */

#define CERT(x) "-----BEGIN CERTIFICATE-----\n" x "\n-----END CERTIFICATE-----\n"
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

static void certificates(void)
{
	struct err e = { 0 };

	if (setup_certificates(&su, &e) < 0)
		fail_msg("%s", e.msg);
}

static void test_certificates_in_a_bundle(void **state)
{
	struct err e;
	struct stat before, after;

	(void)state;
	assert_int_equal(su_mkdirs(&su, "/etc/ssl/certs", 0755, &e), 0);
	put(BUNDLE, CERT("default"), 0644);
	certificates();
	assert_string_equal(text_of(BUNDLE), CERT("default"));
	assert_int_equal(su_mkdirs(&su, RUN_DIR "/ca", 0755, &e), 0);
	put(RUN_DIR "/ca/00.crt", CERT("file"), 0644);
	set("ca.cert.00", "-----BEGIN CERTIFICATE-----\ninline\n-----END CERTIFICATE-----");
	set("ca.cert.01", "nonsense");
	certificates();
	assert_int_equal(stat(at(BUNDLE), &before), 0);
	certificates(); /* the next boot has nothing to do */
	assert_int_equal(stat(at(BUNDLE), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_non_null(strstr(text_of(BUNDLE), CERT("default") "# lima: begin"));
	assert_non_null(strstr(text_of(BUNDLE), CERT("file") CERT("inline") "# lima: end\n"));
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), "ca.cert.01 is no certificate in PEM form"));
	/* An empty file is none, and costs those after it nothing. */
	settings.count = 0;
	put(RUN_DIR "/ca/00.crt", "", 0644);
	put(RUN_DIR "/ca/01.crt", CERT("next"), 0644);
	certificates();
	assert_non_null(strstr(text_of(BUNDLE), "written anew at each boot)\n" CERT("next") "# lima: end\n"));
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), "/ca/00.crt is no certificate in PEM form"));
	assert_int_equal(unlink(at(RUN_DIR "/ca/00.crt")), 0);
	assert_int_equal(unlink(at(RUN_DIR "/ca/01.crt")), 0);
	certificates();
	assert_string_equal(text_of(BUNDLE), CERT("default"));
}

static void test_defaults_removed_and_given_back(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(su_mkdirs(&su, "/etc/ssl/certs", 0755, &e), 0);
	put(BUNDLE, CERT("default"), 0644);
	set("ca.cert.00", CERT("mine"));
	set("ca.removeDefaults", "true");
	for (int twice = 0; twice < 2; twice++) {
		certificates();
		assert_null(strstr(text_of(BUNDLE), "default"));
		assert_non_null(strstr(text_of(BUNDLE), CERT("mine")));
	}
	settings.count = 1;
	certificates();
	assert_non_null(strstr(text_of(BUNDLE), CERT("default") "# lima: begin"));
	settings.count = 0;
	certificates();
	assert_string_equal(text_of(BUNDLE), CERT("default"));
}

#define OURS "/usr/local/share/ca-certificates/lima-0"

static void test_certificates_by_the_guests_tool(void **state)
{
	(void)state;
	put("/usr/sbin/update-ca-certificates", "", 0755);
	put("/etc/ca-certificates.conf", "# head\nmozilla/A.crt\n!mozilla/B.crt\n", 0644);
	set("ca.cert.00", CERT("one") CERT("two"));
	set("ca.cert.01", CERT("three"));
	set("ca.removeDefaults", "true");
	for (int twice = 0; twice < 2; twice++) {
		certificates();
		assert_string_equal(text_of(OURS "0.crt"), CERT("one"));
		assert_string_equal(text_of(OURS "1.crt"), CERT("two"));
		assert_string_equal(text_of(OURS "2.crt"), CERT("three"));
		assert_string_equal(text_of("/etc/ca-certificates.conf"), "# head\n!mozilla/A.crt\n!mozilla/B.crt\n");
	}
	settings.count = 1;
	certificates();
	assert_int_equal(access(at(OURS "1.crt"), F_OK), 0);
	assert_int_equal(access(at(OURS "2.crt"), F_OK), -1);
	assert_string_equal(text_of("/etc/ca-certificates.conf"), "# head\nmozilla/A.crt\n!mozilla/B.crt\n");
	assert_int_equal(access(at(BUNDLE), F_OK), -1); /* the tool's own */
}

/* --- crond --- */

#define INITTAB "::sysinit:x\n"

static void test_cron_only_when_there_is_something_for_it(void **state)
{
	static const struct {
		const char *path, *text;
		bool wanted;
	} rows[] = {
		{ "/etc/crontabs/root", "# comment\n\n*/15 * * * * run-parts /etc/periodic/15min\n", false },
		{ "/etc/crontabs/cron.update", "root\n", false },
		{ "/etc/periodic/daily/.keep", "", false },
		{ "/etc/crontabs/dev", "0 1 * * * true\n", true },
		{ "/etc/periodic/daily/job", "", true },
		{ "/etc/crontabs/root", "0 2 * * * run-parts /etc/periodic/daily\n  1 2 3 4 5 x\n", true },
	};
	struct err e;

	(void)state;
	assert_false(setup_wants_cron(&su));
	assert_int_equal(su_mkdirs(&su, "/etc/crontabs", 0755, &e), 0);
	assert_int_equal(su_mkdirs(&su, "/etc/periodic/daily", 0755, &e), 0);
	put(RUN_DIR "/inittab", INITTAB, 0644);
	assert_int_equal(setup_cron(&su, &e), 0);
	assert_string_equal(text_of(RUN_DIR "/inittab"), INITTAB);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put(rows[i].path, rows[i].text, 0600);
		if (setup_wants_cron(&su) != rows[i].wanted)
			fail_msg("%s", rows[i].path);
		if (rows[i].wanted)
			assert_int_equal(unlink(at(rows[i].path)), 0);
	}
	put("/etc/crontabs/dev", "0 1 * * * true\n", 0600);
	assert_int_equal(setup_cron(&su, &e), 0);
	assert_string_equal(text_of(RUN_DIR "/inittab"), INITTAB "::respawn:" RUN_DIR "/agent service crond\n");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_hosts_of_the_template),
		T(test_name_servers),
		T(test_name_servers_of_dhcp_clients),
		T(test_lease),
		T(test_bad_leases),
		T(test_no_lease),
		T(test_trouble_that_is_over),
		T(test_zone_of_the_guest),
		T(test_zone_of_the_host),
		T(test_zones_that_nobody_knows),
		T(test_certificates_in_a_bundle),
		T(test_defaults_removed_and_given_back),
		T(test_certificates_by_the_guests_tool),
		T(test_cron_only_when_there_is_something_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
