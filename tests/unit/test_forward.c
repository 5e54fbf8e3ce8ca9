/* Port rules: Lima's meaning, by tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/hostagent/forward.h"

/* "tcp 0.0.0.0:80" */
static struct ap_port port(const char *text)
{
	struct ap_port p = { .proto = strncmp(text, "udp ", 4) ? AP_TCP : AP_UDP };
	char ip[64];
	const char *colon;

	text += 4;
	colon = strrchr(text, ':');
	p.port = (uint16_t)atoi(colon + 1);
	if (*text == '[') {
		p.family = 6;
		snprintf(ip, sizeof(ip), "%.*s", (int)(colon - text - 2), text + 1);
	} else {
		p.family = 4;
		snprintf(ip, sizeof(ip), "%.*s", (int)(colon - text), text);
	}
	assert_int_equal(inet_pton(p.family == 6 ? AF_INET6 : AF_INET, ip, p.addr), 1);
	return p;
}

static struct plan_port_rule rule(enum plan_proto proto, bool ignore, bool must_be_zero, const char *guest_ip,
				  uint16_t first, uint16_t last, const char *host_ip, uint16_t host_first)
{
	return (struct plan_port_rule){ .proto = proto,
					.ignore = ignore,
					.guest_ip_must_be_zero = must_be_zero,
					.guest_ip = (char *)(uintptr_t)guest_ip,
					.host_ip = (char *)(uintptr_t)host_ip,
					.guest_first = first,
					.guest_last = last,
					.host_first = host_first };
}

static struct fwd_rule *rules_of(struct plan_port_rule *r, size_t n)
{
	struct plan plan = { .rule = r, .rules = n };
	struct err e = { 0 };
	struct fwd_rule *out = fwd_rules(&plan, &e);

	assert_non_null(out);
	return out;
}

struct match_case {
	const char *guest;
	const char *host; /* NULL: not forwarded; "silent": not even told */
};

static void check(struct plan_port_rule *r, size_t n, const struct match_case *cases, size_t count)
{
	struct fwd_rule *rules = rules_of(r, n);

	for (size_t i = 0; i < count; i++) {
		struct ap_port guest = port(cases[i].guest), host;
		char text[FWD_TEXT_MAX] = "";
		enum fwd_verdict v = fwd_match(rules, n, &guest, &host);

		if (v == FWD_TO)
			fwd_text(&host, text);
		else if (v == FWD_SILENT)
			snprintf(text, sizeof(text), "silent");
		if (strcmp(text, cases[i].host ? cases[i].host : ""))
			fail_msg("%s: \"%s\", expected \"%s\"", cases[i].guest, text,
				 cases[i].host ? cases[i].host : "");
	}
	free(rules);
}

#define CHECK(r, c) check(r, sizeof(r) / sizeof(*(r)), c, sizeof(c) / sizeof(*(c)))

static void the_rules_of_every_instance(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_ANY, true, false, "0.0.0.0", 22, 22, "127.0.0.1", 22),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	static const struct match_case cases[] = {
		{ "tcp 0.0.0.0:80", "127.0.0.1:80" },
		{ "tcp 127.0.0.1:80", "127.0.0.1:80" },
		{ "tcp [::]:80", "127.0.0.1:80" },
		{ "tcp [::1]:80", "127.0.0.1:80" },
		{ "udp 0.0.0.0:53", "127.0.0.1:53" },
		{ "tcp 0.0.0.0:65535", "127.0.0.1:65535" },
		{ "tcp 192.168.5.15:80", NULL },
		{ "tcp 127.0.0.2:80", NULL },
		{ "tcp [fe80::1]:80", NULL },
		{ "tcp 0.0.0.0:22", NULL },
		{ "tcp [::]:22", NULL },
		{ "tcp 127.0.0.1:22", NULL },
	};

	(void)state;
	CHECK(r, cases);
}

/* As plan/ports.c makes them of a template with one rule. */
static void a_rule_takes_what_the_catch_all_leaves_alone(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_ANY, true, false, "0.0.0.0", 22, 22, "127.0.0.1", 22),
		rule(PLAN_UDP, false, false, "127.0.0.1", 68, 68, "127.0.0.1", 10068),
		rule(PLAN_ANY, true, false, "0.0.0.0", 53, 53, "127.0.0.1", 53),
		rule(PLAN_ANY, true, false, "0.0.0.0", 68, 68, "127.0.0.1", 68),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	static const struct match_case cases[] = {
		{ "udp 0.0.0.0:68", "127.0.0.1:10068" },
		{ "udp [::]:68", "127.0.0.1:10068" },
		{ "tcp 0.0.0.0:68", NULL },
		{ "udp 0.0.0.0:53", NULL },
		{ "udp 127.0.0.1:53", NULL },
		{ "udp 0.0.0.0:22", NULL },
		{ "udp 0.0.0.0:69", "127.0.0.1:69" },
		{ "udp [::1]:69", "127.0.0.1:69" },
		{ "udp 192.168.5.15:69", NULL },
	};

	(void)state;
	CHECK(r, cases);
}

static void the_first_rule_that_matches_decides(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_TCP, false, false, "127.0.0.1", 8000, 8009, "127.0.0.1", 18000),
		rule(PLAN_ANY, false, false, "0.0.0.0", 8005, 8020, "0.0.0.0", 9005),
		rule(PLAN_TCP, false, false, "127.0.0.1", 60000, 65535, "127.0.0.1", 60001),
	};
	static const struct match_case cases[] = {
		{ "tcp 127.0.0.1:8000", "127.0.0.1:18000" },
		{ "tcp 127.0.0.1:8009", "127.0.0.1:18009" },
		{ "tcp 0.0.0.0:8007", "127.0.0.1:18007" },
		/* guestIP 0.0.0.0 without guestIPMustBeZero takes every address */
		{ "tcp 10.0.0.1:8007", "0.0.0.0:9007" },
		{ "tcp 127.0.0.1:8010", "0.0.0.0:9010" },
		{ "tcp [2001:db8::1]:8010", "0.0.0.0:9010" },
		{ "udp 127.0.0.1:8007", "0.0.0.0:9007" },
		{ "tcp 127.0.0.1:7999", NULL },
		{ "tcp 127.0.0.1:8021", NULL },
		{ "tcp 127.0.0.1:65534", "127.0.0.1:65535" },
		{ "tcp 127.0.0.1:65535", NULL },
	};

	(void)state;
	CHECK(r, cases);
}

static void must_be_zero_takes_the_unspecified_address_only(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_ANY, false, true, "0.0.0.0", 1, 65535, "0.0.0.0", 1),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	static const struct match_case cases[] = {
		{ "tcp 0.0.0.0:80", "0.0.0.0:80" },
		{ "tcp [::]:80", "0.0.0.0:80" },
		{ "tcp 127.0.0.1:80", "127.0.0.1:80" },
		{ "tcp [::1]:80", "127.0.0.1:80" },
		{ "tcp 10.0.0.1:80", NULL },
	};

	(void)state;
	CHECK(r, cases);
}

static void ignoring_one_address_does_not_hide_a_wider_binding(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_TCP, true, false, "127.0.0.1", 80, 80, "127.0.0.1", 80),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	static const struct match_case cases[] = {
		{ "tcp 127.0.0.1:80", NULL },
		{ "tcp [::1]:80", NULL },
		{ "tcp 0.0.0.0:80", "127.0.0.1:80" },
		{ "udp 127.0.0.1:80", "127.0.0.1:80" },
	};

	(void)state;
	CHECK(r, cases);
}

static void a_leading_rule_for_all_ports_silences(void **state)
{
	struct plan_port_rule r[] = { rule(PLAN_TCP, true, false, "0.0.0.0", 1, 65535, "127.0.0.1", 1) };
	static const struct match_case cases[] = {
		{ "tcp 0.0.0.0:80", "silent" },
		{ "udp 0.0.0.0:80", NULL },
	};

	(void)state;
	CHECK(r, cases);
}

static void an_address_that_is_no_number_is_refused(void **state)
{
	struct plan_port_rule r = rule(PLAN_TCP, false, false, "localhost", 1, 2, "127.0.0.1", 1);
	struct plan plan = { .rule = &r, .rules = 1 };
	struct err e = { 0 };

	(void)state;
	assert_null(fwd_rules(&plan, &e));
	assert_string_equal(e.msg, "port forward 1: \"localhost\" is no IP address");
}

static void one_listener_for_each_host_port(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_TCP, false, false, "10.0.0.1", 80, 80, "127.0.0.1", 80),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	struct fwd_rule *rules = rules_of(r, 2);
	static const char *const guests[] = { "tcp [::]:80",  "tcp 10.0.0.1:80", "tcp 0.0.0.0:80",
					      "tcp [::1]:81", "udp 0.0.0.0:80",	 "udp [::]:80" };
	static const char *const expected[] = {
		"0.0.0.0:80 on 127.0.0.1:80",
		"[::1]:81 on 127.0.0.1:81",
		"[::]:80 on [::1]:80",
		"[::1]:81 on [::1]:81",
		/* UDP beside the same port of TCP */
		"0.0.0.0:80 on 127.0.0.1:80",
		"[::]:80 on [::1]:80",
	};
	struct ap_port ports[6];
	struct fwd_want want[12];

	(void)state;
	/* In whatever order they are reported. */
	for (size_t turn = 0; turn < 6; turn++) {
		for (size_t i = 0; i < 6; i++)
			ports[i] = port(guests[(i + turn) % 6]);
		assert_int_equal(fwd_wanted(rules, 2, ports, 6, want), 6);
		for (size_t i = 0; i < 6; i++) {
			char host[FWD_TEXT_MAX], guest[FWD_TEXT_MAX], both[2 * FWD_TEXT_MAX + 4];

			fwd_text(&want[i].host, host);
			fwd_text(&want[i].guest, guest);
			snprintf(both, sizeof(both), "%s on %s", guest, host);
			assert_string_equal(both, expected[i]);
			assert_int_equal(want[i].extra, want[i].host.family == 6);
		}
	}
	free(rules);
}

static void static_ports_are_wanted_whether_or_not_the_guest_listens(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_ANY, false, false, "127.0.0.1", 80, 81, "127.0.0.1", 8080),
		rule(PLAN_UDP, false, false, "127.0.0.1", 90, 90, "127.0.0.1", 90),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	struct ap_port guest = port("tcp 0.0.0.0:81");
	struct fwd_want want[8];
	struct fwd_rule *rules;

	(void)state;
	r[0].is_static = r[1].is_static = true;
	rules = rules_of(r, 3);
	assert_int_equal(fwd_wanted_most(rules, 3, 1), 4);
	assert_int_equal(fwd_wanted(rules, 3, &guest, 1, want), 2);
	assert_true(want[0].fixed && want[0].guest.port == 80 && want[0].host.port == 8080);
	/* What listens in the guest says where. */
	assert_true(!want[1].fixed && want[1].host.port == 8081 && !want[1].guest.addr[0]);
	assert_int_equal(fwd_open(&want[1].guest).kind, AP_OPEN_TCP);
	assert_int_equal(fwd_open(&want[1].guest).addr[0], 127);
	free(rules);
}

static void a_port_that_has_a_socket_is_forwarded_nowhere_else(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_ANY, true, false, "0.0.0.0", 22, 22, "127.0.0.1", 22),
		rule(PLAN_TCP, false, false, "127.0.0.1", 80, 80, "127.0.0.1", 80),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	static const struct match_case cases[] = {
		{ "tcp 0.0.0.0:80", "silent" },
		{ "tcp 10.0.0.1:80", NULL },
		{ "tcp 127.0.0.1:81", "127.0.0.1:81" },
	};

	(void)state;
	r[1].to_socket = true;
	CHECK(r, cases);
}

static void rules_of_every_instance_do_not_undo_the_silence(void **state)
{
	struct plan_port_rule r[] = {
		rule(PLAN_ANY, true, false, "0.0.0.0", 22, 22, "127.0.0.1", 22),
		rule(PLAN_ANY, true, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
		rule(PLAN_ANY, false, false, "127.0.0.1", 1, 65535, "127.0.0.1", 1),
	};
	static const struct match_case cases[] = {
		{ "tcp 127.0.0.1:80", "silent" },
		{ "tcp 10.0.0.1:22", "silent" },
	};

	(void)state;
	CHECK(r, cases);
}

static void connections_go_to_the_loopback_of_what_is_bound_everywhere(void **state)
{
	static const char *const cases[][2] = {
		{ "tcp 0.0.0.0:80", "127.0.0.1:80" },
		{ "tcp [::]:80", "[::1]:80" },
		{ "tcp 10.0.0.1:80", "10.0.0.1:80" },
		{ "tcp [2001:db8::1]:80", "[2001:db8::1]:80" },
		{ "udp 0.0.0.0:53", "127.0.0.1:53" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ap_port bound = port(cases[i][0]), target = fwd_target(&bound);
		struct ap_open open = fwd_open(&bound);
		char text[FWD_TEXT_MAX];

		fwd_text(&target, text);
		assert_string_equal(text, cases[i][1]);
		assert_int_equal(open.kind, bound.proto == AP_UDP ? AP_OPEN_UDP : AP_OPEN_TCP);
		assert_int_equal(open.port, target.port);
		assert_memory_equal(open.addr, target.addr, sizeof(open.addr));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rules_of_every_instance),
		cmocka_unit_test(a_rule_takes_what_the_catch_all_leaves_alone),
		cmocka_unit_test(the_first_rule_that_matches_decides),
		cmocka_unit_test(must_be_zero_takes_the_unspecified_address_only),
		cmocka_unit_test(ignoring_one_address_does_not_hide_a_wider_binding),
		cmocka_unit_test(a_leading_rule_for_all_ports_silences),
		cmocka_unit_test(an_address_that_is_no_number_is_refused),
		cmocka_unit_test(one_listener_for_each_host_port),
		cmocka_unit_test(static_ports_are_wanted_whether_or_not_the_guest_listens),
		cmocka_unit_test(a_port_that_has_a_socket_is_forwarded_nowhere_else),
		cmocka_unit_test(rules_of_every_instance_do_not_undo_the_silence),
		cmocka_unit_test(connections_go_to_the_loopback_of_what_is_bound_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
