/* The tuning that a cloud guest's daemon has a child do: nobody waits for it but who asks for its lock, and what goes wrong
 * with it reaches the host. */
#include "tests/unit/setup_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

#include "guestagent/provision.h"
#include "guestagent/settle.h"
#include "lib/agentproto.h"
#include "tests/unit/feed.h"

#define LOCK RUN_DIR "/settle.lock"

static struct settle settle, again;
static struct ga ga;
static struct mux *host;
static struct feed to_guest, to_host;
static struct ap_boot boot;

/* --- a channel of two ends in one process --- */

static void on_link(void *ctx, bool resumed)
{
	(void)ctx;
	(void)resumed;
}

static void on_down(void *ctx)
{
	(void)ctx;
}

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	(void)ctx;
	assert_int_equal(type, AP_MSG_BOOT);
	ga.loop.quit = true;
	return ap_boot_unpack(&boot, body, len);
}

static bool carry(struct mux *from, struct mux *to, struct feed *f)
{
	const uint8_t *p;
	size_t n = first_part(from, &p);

	feed(f, to, p, n);
	mux_output_done(from, n);
	return n > 0;
}

static void exchange(void *ctx)
{
	(void)ctx;
	while (carry(ga.mux, host, &to_host) | carry(host, ga.mux, &to_guest))
		;
}

static unsigned provisioned;

static void on_provisioned(struct ga *g)
{
	assert_ptr_equal(g, &ga);
	provisioned++;
}

/* A Debian guest whose GRUB waits for /go, and then fails or not. */
static int begin_guest(void **state)
{
	static const struct mux_ops ops = { .up = on_link, .down = on_down, .message = on_message };
	char text[300];
	struct err e;

	begin(state);
	assert_int_equal(su_mkdirs(&su, "/etc/default", 0755, &e) | su_mkdirs(&su, "/boot/grub", 0755, &e) |
			 su_mkdirs(&su, RUN_DIR "/provision", 0755, &e), 0);
	put("/etc/default/grub", "", 0644);
	put("/boot/grub/grub.cfg", "old\n", 0644);
	snprintf(text, sizeof(text), "#!/bin/sh\nuntil [ -e %s/go ]; do sleep 0.05; done\necho new >\"$2\"\nexit $(cat %s/go)\n",
		 root, root);
	put("/usr/sbin/grub-mkconfig", text, 0755);
	put(RUN_DIR "/setup.warnings", "an old one\n", 0644);
	set("init", "cloud");
	set("tuning.skipBootMenu", "true");
	boot = (struct ap_boot){ 0 };
	ga = (struct ga){ .settings = &settings, .run_dir = strdup(at(RUN_DIR)) };
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &ga.files), 0);
	assert_int_equal(ga_loop_init(&ga.loop, &e), 0);
	ga.loop.before_sleep = exchange;
	ga.mux = mux_new(MUX_GUEST, 1, &ops, NULL);
	host = mux_new(MUX_HOST, 2, &ops, NULL);
	to_guest.len = to_host.len = 0;
	mux_carrier_open(ga.mux);
	mux_carrier_open(host);
	exchange(NULL);
	/* The boot script was faster than the daemon. */
	put(RUN_DIR "/provision/done", "", 0644);
	provisioned = 0;
	ga.provision = ga_provision_start(&ga, on_provisioned, &e);
	assert_non_null(ga.provision);
	assert_int_equal(provisioned, 1);
	return 0;
}

static int end_guest(void **state)
{
	settle_stop(&settle);
	ga_provision_free(ga.provision);
	mux_free(ga.mux);
	mux_free(host);
	ga_loop_free(&ga.loop);
	free((char *)(uintptr_t)ga.run_dir);
	return end(state);
}

static int lock_now(void)
{
	int fd = open(at(LOCK), O_RDWR | O_CLOEXEC), rc = fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB);

	close(fd);
	return rc;
}

static void await_lock(void)
{
	int fd = open(at(LOCK), O_RDWR | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	close(fd);
}

static void it_is_done_beside_the_daemon(void **state)
{
	(void)state;
	settle_start(&settle, &ga, root);
	assert_int_equal(lock_now(), -1);
	settle_start(&again, &ga, root); /* a daemon started anew */
	assert_int_equal(again.child.pid, 0);
	assert_string_equal(text_of("/boot/grub/grub.cfg"), "old\n");
	put("/go", "0\n", 0644);
	await_lock();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), "new\n");
	assert_int_equal(boot.phase, 0); /* nothing to be told */
}

static void too_late(struct ga_timer *t)
{
	(void)t;
	fail_msg("the host was told nothing");
}

static void what_fails_is_told(void **state)
{
	struct ga_timer deadline = { .fn = too_late };

	(void)state;
	ga_timer_set(&ga.loop, &deadline, 20000);
	put("/go", "4\n", 0644);
	settle_start(&settle, &ga, root);
	ga_loop_run(&ga.loop);
	ga_timer_stop(&ga.loop, &deadline);
	assert_int_equal(boot.phase, AP_BOOT_DONE);
	assert_non_null(strstr(boot.detail, "/usr/sbin/grub-mkconfig ended with exit code 4"));
	assert_int_equal(lock_now(), 0);
	assert_string_equal(text_of("/boot/grub/grub.cfg"), "old\n");
}

static void only_in_a_cloud_guest(void **state)
{
	(void)state;
	settings.item[0].value = "openrc";
	settle_start(&settle, &ga, root);
	assert_int_equal(access(at(LOCK), F_OK), -1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, begin_guest, end_guest)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(it_is_done_beside_the_daemon),
		T(what_fails_is_told),
		T(only_in_a_cloud_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
