/* What plan.json may not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/plan.h"

static char *good(void)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err e = { 0 };

	assert_int_equal(io_read_file("tests/golden/kvm.plan.json", &b, &e), 0);
	return b.data;
}

/* text with the first `from` in it replaced; malloc'd. */
static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void test_good(void **state)
{
	auto_free char *text = good();
	struct plan p = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(plan_parse(&p, text, strlen(text), &e), 0);
	assert_string_equal(p.name, "box");
	assert_int_equal(p.accel, PLAN_KVM);
	assert_int_equal(p.memory, 4ull << 30);
	assert_int_equal(p.rules, 10);
	assert_int_equal(p.rule[1].host_first, 8080);
	plan_free(&p);
	assert_null(p.name);
	plan_free(&p);
}

static void test_refused_by_name(void **state)
{
	static const struct {
		const char *from, *to, *msg;
	} rows[] = {
		{ "\"version\": 1", "\"version\": 2", "version 2 is not known here, only 1" },
		{ "\"version\": 1", "\"release\": 1", "member \"version\" is missing" },
		{ "\"cpus\": 4", "\"cpus\": \"4\"", "member \"cpus\" is not a whole number" },
		{ "\"cpus\": 4", "\"cpus\": -1", "member \"cpus\" is -1, not from 0 to 4294967295" },
		{ "\"cpus\": 4,", "", "member \"cpus\" is missing" },
		{ "\"driver\": \"qemu\"", "\"driver\": \"xen\"", "member \"driver\" has the unknown value \"xen\"" },
		{ "\"proto\": \"any\"", "\"proto\": \"\"", "rules[0]: member \"proto\" has the unknown value \"\"" },
		{ "\"guest_first\": 22", "\"guest_first\": 65536",
		  "rules[0]: member \"guest_first\" is 65536, not from 0 to 65535" },
		{ "\"readonly\": false", "\"readonly\": 0", "disks[0]: member \"readonly\" is not true or false" },
		{ "\"kernel\": \"/cache/kernel\"", "\"kernel\": null", "member \"kernel\" is not a string" },
		{ "\"disks\": [", "\"disks\": {}, \"x\": [", "member \"disks\" is not an array" },
		{ "\"disks\": [", "\"disks\": [7,", "disks[0]: \"path\" is looked for in something that is no object" },
	};
	auto_free char *text = good();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *bad = replaced(text, rows[i].from, rows[i].to);
		struct plan p = { 0 };
		struct err e = { 0 };

		assert_int_equal(plan_parse(&p, bad, strlen(bad), &e), -1);
		assert_string_equal(e.msg, rows[i].msg);
		assert_null(p.name);
	}
}

static void test_cut_short(void **state)
{
	auto_free char *text = good();

	(void)state;
	for (size_t n = 0; n < strlen(text) - 2; n++) {
		struct plan p = { 0 };
		struct err e = { 0 };

		assert_int_equal(plan_parse(&p, text, n, &e), -1);
	}
}

static void test_load_names_the_file(void **state)
{
	struct plan p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(plan_load(&p, "/no/such/plan.json", &e), -1);
	assert_non_null(strstr(e.msg, "/no/such/plan.json"));
	assert_int_equal(plan_load(&p, "tests/golden/kvm.yaml", &e), -1);
	assert_memory_equal(e.msg, "tests/golden/kvm.yaml: JSON: line 1", 35);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_refused_by_name),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_load_names_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
