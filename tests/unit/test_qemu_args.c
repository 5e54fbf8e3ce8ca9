/* The golden command lines: tests/golden/NAME.plan.json of a QEMU machine becomes tests/golden/NAME.argv, an argument a
 * line. GOLDEN_UPDATE=1 writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/common.h"
#include "limactl-c/driver/qemu_args.h"

static char *joined(const struct plan *p, bool incoming)
{
	char **argv = qemu_args_make(p, incoming);
	struct buf b = BUF_INIT(1 << 20);

	for (size_t i = 0; argv[i]; i++)
		assert_int_equal(buf_addf(&b, "%s\n", argv[i]), 0);
	vm_args_free(argv);
	return b.data;
}

static bool check_golden(const char *json)
{
	auto_free char *golden = xasprintf("%.*s.argv", (int)(strlen(json) - strlen(".plan.json")), json), *text = NULL;
	auto_buf want = BUF_INIT(1 << 20);
	struct plan p = { 0 };
	struct err e = { 0 };

	if (plan_load(&p, json, &e) < 0)
		fail_msg("%s", e.msg);
	if (p.driver != PLAN_QEMU || !p.qemu) {
		plan_free(&p);
		return false;
	}
	text = joined(&p, false);
	plan_free(&p);
	if (getenv("GOLDEN_UPDATE"))
		assert_int_equal(fs_write_atomic(golden, text, strlen(text), 0644, &e), 0);
	if (io_read_file(golden, &want, &e) < 0)
		fail_msg("%s", e.msg);
	if (strcmp(text, want.data) != 0)
		fail_msg("%s is not what comes out:\n%s", golden, text);
	return true;
}

static void test_golden(void **state)
{
	unsigned checked = 0;
	glob_t g;

	(void)state;
	assert_int_equal(glob("tests/golden/*.plan.json", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		checked += check_golden(g.gl_pathv[i]);
	assert_true(checked >= 3);
	globfree(&g);
}

static struct plan small_plan(void)
{
	return (struct plan){ .name = (char *)"x", .arch = (char *)"x86_64", .qemu = (char *)"/opt/qemu",
			      .machine = (char *)"q35", .cpu = (char *)"qemu64", .cpus = 3, .memory = (1 << 20) + 1 };
}

static void test_commas_and_sizes(void **state)
{
	struct plan_disk d = { .path = (char *)"/a,b/,disk", .format = (char *)"raw", .readonly = true };
	struct plan p = small_plan();
	auto_free char *text = NULL;

	(void)state;
	p.disk = &d;
	p.disks = 1;
	text = joined(&p, false);
	assert_non_null(strstr(text, "driver=file,node-name=file0,read-only=on,filename=/a,,b/,,disk\n"));
	assert_non_null(strstr(text, "-m\n2M\n"));
	assert_non_null(strstr(text, "-smp\n3,sockets=1,cores=3,threads=1\n"));
	assert_non_null(strstr(text, "-accel\ntcg,thread=single\n")); /* QEMU's own code cache */
	assert_null(strstr(text, "-kernel"));           /* firmware boot */
	assert_int_equal(strncmp(text, "/opt/qemu\n", 10), 0);
}

/* A saved machine needs the very same line; only what it waits for differs. */
static void test_incoming_is_the_same_machine(void **state)
{
	struct plan p = small_plan();
	auto_free char *boot = joined(&p, false), *restore = joined(&p, true);

	(void)state;
	assert_int_equal(strncmp(restore, boot, strlen(boot)), 0);
	assert_string_equal(restore + strlen(boot), "-S\n-incoming\ndefer\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_commas_and_sizes),
		cmocka_unit_test(test_incoming_is_the_same_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
