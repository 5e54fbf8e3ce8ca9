/* The table of tunings, what Docker is given, pauses of services, times of cache-trim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/service.h"
#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "guestagent/trim.h"
#include "guestagent/tuning.h"
#include "limactl-c/base/jsonx.h"

static char root[64];
static struct settings settings;
static struct setup su = { &settings, root };

static void set(const char *key, const char *value)
{
	settings.item[settings.count++] = (struct setting){ key, value };
}

static void put(const char *path, const char *text)
{
	char folder[200];
	struct err e;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	assert_int_equal(su_mkdirs(&su, folder, 0755, &e), 0);
	assert_int_equal(su_write(&su, path, text, 0644, &e), 0);
}

static int begin(void **state)
{
	(void)state;
	settings.count = 0;
	snprintf(root, sizeof(root), "/tmp/tuning.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static char *docker_json(void)
{
	static struct buf b = BUF_INIT(4096);

	buf_free(&b);
	assert_int_equal(tuning_docker_json(&su, &b), 0);
	return b.data;
}

static struct jx *parsed(const char *text)
{
	struct err e;
	struct jx *v = jx_parse(text, strlen(text), "daemon.json", &e);

	assert_non_null(v);
	return v;
}

static void test_docker_gets_its_limits(void **state)
{
	auto_jx *all = NULL;
	const struct jx *logs, *gc;

	(void)state;
	set("tuning.dockerLogSize", "10485760");
	set("tuning.dockerLogFiles", "2");
	set("tuning.buildCache", "2147483648");
	all = parsed(docker_json());
	logs = jx_member(all, "log-opts");
	gc = jx_member(jx_member(all, "builder"), "gc");
	assert_string_equal(jx_string_or(logs, "max-size", ""), "10m");
	assert_string_equal(jx_string_or(logs, "max-file", ""), "2");
	assert_true(jx_bool_or(gc, "enabled", false));
	assert_string_equal(jx_string_or(gc, "defaultKeepStorage", ""), "2GB");
}

static void test_docker_without_limits(void **state)
{
	auto_jx *all = NULL;

	(void)state;
	/* Docker refuses max-file where there is no max-size. */
	set("tuning.dockerLogFiles", "2");
	set("tuning.dockerLogSize", "0");
	all = parsed(docker_json());
	assert_null(jx_member(all, "log-opts"));
	assert_null(jx_member(all, "builder"));
}

static void test_odd_sizes_stay_exact(void **state)
{
	(void)state;
	set("tuning.dockerLogSize", "1000");
	set("tuning.dockerLogFiles", "1");
	set("tuning.buildCache", "1537");
	assert_non_null(strstr(docker_json(), "\"max-size\": \"1000\""));
	assert_non_null(strstr(docker_json(), "\"defaultKeepStorage\": \"1537\""));
}

static void test_an_engine_is_configured_where_there_is_one(void **state)
{
	char path[SU_PATH_MAX];
	struct err e;

	(void)state;
	put("/etc/hosts", "");
	assert_int_equal(engine_configure(&su, &e), 0);
	assert_int_equal(access(su_path(&su, RUN_DIR "/daemon.json", path), F_OK), -1);
	set("docker", "true");
	assert_int_equal(su_mkdirs(&su, RUN_DIR, 0755, &e), 0);
	assert_int_equal(engine_configure(&su, &e), 0);
	assert_int_equal(access(su_path(&su, RUN_DIR "/daemon.json", path), F_OK), 0);
	assert_int_equal(access(su_path(&su, RUN_DIR "/containerd.toml", path), F_OK), 0);
}

/* What tuning_check() prints; *rc is what it returned. */
static const char *check(int *rc)
{
	static char text[4096];
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	*rc = tuning_check(&su, f);
	fclose(f);
	return text;
}

static void test_check_says_what_is_not_in_force(void **state)
{
	const char *text;
	int rc;

	(void)state;
	set("tuning.initOnFree", "true");
	set("tuning.commit", "60");
	put("/proc/cmdline", "quiet\n");
	put("/proc/mounts", "/dev/vda / ext4 rw,relatime 0 0\ntmpfs /x tmpfs commit=60 0 0\n");
	put("/etc/inittab", "tty1::respawn:/sbin/getty 38400 tty1\n");
	text = check(&rc);
	assert_int_equal(rc, 1);
	assert_non_null(strstr(text, "tuning.initOnFree: NOT in force"));
	assert_non_null(strstr(text, "tuning.commit: NOT in force"));
	assert_non_null(strstr(text, "getty: NOT in force: /etc/inittab"));
	assert_non_null(strstr(text, "tuning.tmpfsVarLog: off"));
}

static void test_check_says_what_is_in_force(void **state)
{
	const char *text;
	int rc;

	(void)state;
	set("tuning.initOnFree", "true");
	set("tuning.commit", "60");
	set("tuning.tmpfsVarLog", "true");
	set("tuning.fstrimStop", "true");
	set("tuning.cacheTrim", "true");
	put("/proc/cmdline", "quiet init_on_free=1 x\n");
	put("/proc/mounts", "/dev/vda / ext4 rw,relatime,commit=60 0 0\ntmpfs /var/log tmpfs rw 0 0\n");
	put("/etc/inittab", "::shutdown:/run/lima/agent shutdown\n");
	put(RUN_DIR "/trim.last", "1\n");
	text = check(&rc);
	assert_non_null(strstr(text, "tuning.initOnFree: in force"));
	assert_non_null(strstr(text, "tuning.commit: in force"));
	assert_non_null(strstr(text, "tuning.tmpfsVarLog: in force"));
	assert_non_null(strstr(text, "tuning.fstrimStop: in force"));
	assert_non_null(strstr(text, "tuning.cacheTrim: in force"));
	assert_non_null(strstr(text, "getty: in force"));
}

static void test_pauses_grow_and_end(void **state)
{
	(void)state;
	assert_int_equal(service_pause(0), 0);
	assert_int_equal(service_pause(1), 1);
	assert_int_equal(service_pause(2), 2);
	assert_int_equal(service_pause(6), 32);
	assert_int_equal(service_pause(7), 60);
	assert_int_equal(service_pause(4000000000u), 60);
}

static void test_trim_that_is_off_wants_nothing(void **state)
{
	struct trim *t = trim_new(&settings);

	(void)state;
	assert_non_null(t);
	trim_boot_done(t);
	assert_int_equal(trim_fd(t), -1);
	assert_int_equal(trim_timeout(t, 0), -1);
	trim_free(t);
	assert_int_equal(trim_timeout(NULL, 0), -1);
	trim_boot_done(NULL);
	trim_expired(NULL, 1);
	trim_free(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	static const struct CMUnitTest tests[] = {
		T(test_docker_gets_its_limits),
		T(test_docker_without_limits),
		T(test_odd_sizes_stay_exact),
		T(test_an_engine_is_configured_where_there_is_one),
		T(test_check_says_what_is_not_in_force),
		T(test_check_says_what_is_in_force),
		T(test_pauses_grow_and_end),
		T(test_trim_that_is_off_wants_nothing),
	};

	return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
