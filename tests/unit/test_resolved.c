/* systemd-resolved is told of our name server. Its programs are scripts that note what they are asked. */
#include "tests/unit/setup_root.h"

#include <stdio.h>

#include "guestagent/resolved.h"

static const uint8_t addr[4] = { 192, 168, 5, 3 };

static void program(const char *path, const char *then)
{
	char text[300];

	snprintf(text, sizeof(text), "#!/bin/sh\necho \"$@\" >>%s/asked\n%s\n", root, then);
	put(path, text, 0755);
}

static int begin_systemd(void **state)
{
	struct err e;

	begin(state);
	assert_int_equal(su_mkdirs(&su, "/run/systemd/system", 0755, &e), 0);
	program("/usr/bin/systemctl", "");
	program("/usr/bin/resolvectl", "");
	return 0;
}

static void test_it_is_told(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(resolved_use(&su, "card", addr, &e), 0);
	assert_string_equal(text_of("/asked"), "is-active --quiet systemd-resolved.service\n"
					       "llmnr card no\ndomain card ~.\ndns card 192.168.5.3\n");
}

static void test_where_it_does_not_run_nothing_is_done(void **state)
{
	struct err e;

	(void)state;
	program("/usr/bin/systemctl", "exit 3");
	assert_int_equal(resolved_use(&su, "card", addr, &e), 0);
	assert_string_equal(text_of("/asked"), "is-active --quiet systemd-resolved.service\n");
	assert_int_equal(rmdir(at("/run/systemd/system")), 0);
	assert_int_equal(resolved_use(&su, "card", addr, &e), 0);
	assert_string_equal(text_of("/asked"), "is-active --quiet systemd-resolved.service\n");
}

static void test_a_failure_is_a_sentence(void **state)
{
	struct err e;

	(void)state;
	program("/usr/bin/resolvectl", "[ $1 != domain ] || exit 3");
	assert_int_equal(resolved_use(&su, "card", addr, &e), -1);
	assert_non_null(strstr(e.msg, "resolvectl ended with exit code 3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_it_is_told, begin_systemd, end),
		cmocka_unit_test_setup_teardown(test_where_it_does_not_run_nothing_is_done, begin_systemd, end),
		cmocka_unit_test_setup_teardown(test_a_failure_is_a_sentence, begin_systemd, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
