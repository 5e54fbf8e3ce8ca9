/* The shipped templates. Run from the repository's root. */
#include "tests/unit/cfg_util.h"

#include <dirent.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/base/mem.h"

enum { TEXT_MAX = 4 << 20 };

/* Every template we ship is right on both architectures, and draws no warning. */
static void test_shipped_templates_are_right(void **state)
{
	DIR *templates = opendir("templates");
	struct dirent *d;
	size_t count = 0;

	(void)state;
	assert_non_null(templates);
	while ((d = readdir(templates))) {
		static const char *const arches[] = { "x86_64", "aarch64" };

		for (size_t i = 0; i < 2 && strstr(d->d_name, ".yaml"); i++) {
			auto_free char *path = xasprintf("templates/%s", d->d_name);
			struct cfg_host h = cfg_test_host;
			auto_buf text = BUF_INIT(TEXT_MAX);
			struct err e;

			h.arch = arches[i];
			assert_int_equal(io_read_file(path, &text, &e), 0);
			auto_loaded l = load(text.data, &h);

			if (l.rc || l.findings.data)
				fail_msg("%s on %s: %s", path, arches[i], l.findings.data);
			count++;
		}
	}
	closedir(templates);
	assert_in_range(count, 4, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped_templates_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
