/* Folders shared in folders the guest may write: a link in their place, the guest's, leads no start elsewhere. */
#include "limactl-c/plan/nested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "tests/unit/tmp_dir.h"

static const char *dir;
static char out[400], in[400], deep[400], way[400];

static int begin(void **state)
{
	if (tmp_dir_make(state) < 0)
		return -1;
	dir = *state;
	snprintf(out, sizeof(out), "%s/out", dir);
	snprintf(in, sizeof(in), "%s/out//in", dir);
	snprintf(deep, sizeof(deep), "%s/out/in/de/ep", dir);
	snprintf(way, sizeof(way), "%s/way", dir);
	return mkdir(out, 0700) < 0 || symlink("out", way) < 0 ? -1 : 0;
}

static void check(bool writable, char *outer, char *inner, const char *want)
{
	struct plan_mount m[] = { { .host_path = inner }, { .host_path = outer, .writable = writable },
				  { .host_path = inner, .writable = true } };
	const struct plan p = { .mount = m, .mounts = 3 };
	const char *rest;
	auto_free char *found = nested_in(&p, &m[0], &rest);

	if (want)
		assert_string_equal(rest, want);
	else
		assert_null(found);
	assert_true(!found == !rest);
}

static void the_outermost_writable_is_found(void **state)
{
	char other[500], slash[] = "/";

	(void)state;
	snprintf(other, sizeof(other), "%s-other", out);
	check(true, out, in, "in");
	check(false, out, in, NULL);
	check(true, out, deep, "in/de/ep");
	check(true, way, deep, "in/de/ep"); /* by what it leads to */
	check(true, out, other, NULL);
	check(true, out, out, NULL);
	check(true, in, out, NULL);
	check(true, slash, in, in + 1);
}

static int checked(char *inner, const char *says)
{
	struct plan_mount m[] = { { .host_path = out, .writable = true }, { .host_path = inner } };
	const struct plan p = { .mount = m, .mounts = 2 };
	struct err e = { 0 };
	int rc = nested_check(&p, &m[1], &e);

	assert_int_equal(nested_check(&p, &m[0], &e), 0);
	if (rc < 0)
		assert_non_null(strstr(e.msg, says));
	return rc;
}

static void a_link_out_of_it_is_refused(void **state)
{
	static const char *const bad[] = { "/etc", "..", "../nothing", "/etc/nothing" };

	(void)state;
	assert_int_equal(checked(in, ""), 0); /* it is not there yet */
	assert_int_equal(checked(deep, ""), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(symlink(bad[i], in), 0);
		assert_int_equal(checked(in, i < 2 ? "leads to /" : "leads to nothing"), -1);
		assert_int_equal(checked(deep, "leads to "), -1);
		assert_int_equal(unlink(in), 0);
	}
	assert_int_equal(mkdir(in, 0700), 0);
	assert_int_equal(checked(in, ""), 0);
	assert_int_equal(checked(deep, ""), 0);
}

static void a_link_that_stays_in_it_is_not(void **state)
{
	(void)state;
	assert_int_equal(symlink(".", in), 0);
	assert_int_equal(checked(in, ""), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, tmp_dir_remove)
	const struct CMUnitTest tests[] = {
		T(the_outermost_writable_is_found), T(a_link_out_of_it_is_refused), T(a_link_that_stays_in_it_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
