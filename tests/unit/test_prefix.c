#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/prefix.h"

static void test_the_prefix_is_read_from_a_programs_place(void **state)
{
	static const struct {
		const char *program, *prefix;
	} rows[] = {
		{ "/usr/local/bin/limactl-c", "/usr/local" },
		{ "/usr/local/libexec/limactl-c/hostagent", "/usr/local" },
		{ "/bin/limactl-c", "/" },
		{ "/a/out/bin/limactl-c", "/a/out" },
		{ "/a/robin/limactl-c", NULL },
		{ "/a/limactl-c", NULL },
		{ "/a/libexec/other/hostagent", NULL },
		{ "/limactl-c", NULL },
		{ "bin/limactl-c", NULL },
		{ "limactl-c", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *prefix = prefix_of(rows[i].program);

		if ((prefix == NULL) != (rows[i].prefix == NULL) ||
		    (prefix && strcmp(prefix, rows[i].prefix)))
			fail_msg("%s: %s", rows[i].program, prefix ? prefix : "(none)");
	}
}

/* This test lies in no installation, so the environment decides. */
static void test_a_program_elsewhere_takes_the_environments_prefix_or_says_so(void **state)
{
	struct err e;
	char *none;
	auto_free char *share = NULL, *libexec = NULL, *dir = NULL;

	(void)state;
	assert_int_equal(unsetenv("LIMACTL_C_PREFIX"), 0);
	none = prefix_dir(&e);
	assert_null(none);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_non_null(strstr(e.msg, "test_prefix"));
	assert_int_equal(setenv("LIMACTL_C_PREFIX", "/opt/x", 1), 0);
	share = prefix_share("templates", &e);
	libexec = prefix_libexec("image", &e);
	dir = prefix_share(NULL, &e);
	assert_string_equal(share, "/opt/x/share/limactl-c/templates");
	assert_string_equal(libexec, "/opt/x/libexec/limactl-c/image");
	assert_string_equal(dir, "/opt/x/share/limactl-c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_prefix_is_read_from_a_programs_place),
		cmocka_unit_test(test_a_program_elsewhere_takes_the_environments_prefix_or_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
