/* Kernel and initramfs taken out of a guest that says what the test wants it to. */
#include "tests/unit/ha_peer.h"

#include <stdio.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/execproto.h"
#include "lib/le.h"
#include "lib/log.h"
#include "limactl-c/hostagent/harvester.h"
#include "limactl-c/store/harvest.h"
#include "tests/unit/tmp_dir.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define REST "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LOOK(boot) "BOOT_IMAGE=/vmlinuz root=LABEL=root\n/boot/vmlinuz-1\n/boot/initrd-1\n" boot REST "\n"
enum { COMMANDS = 4 };

static struct peer p;
static struct harvester *h;
static struct plan plan;

/* What each command in turn prints, and how it ends. */
static const char *said[COMMANDS];
static int ended[COMMANDS];
static size_t asked;
static size_t mute; /* the one that never ends */

static void run(struct peer *peer, struct mux_stream *s)
{
	auto_buf b = BUF_INIT(1 << 16);
	uint8_t status[4];

	(void)peer;
	assert_true(asked < COMMANDS);
	if (asked == mute)
		return;
	peer_record(&b, EP_STDOUT, said[asked], strlen(said[asked]));
	le32_put(status, (uint32_t)ended[asked]);
	peer_record(&b, EP_EXIT, status, sizeof(status));
	asked++;
	assert_int_equal(mux_write(s, b.data, b.len), b.len);
	mux_finish(s);
}

static void begin(void **state, enum plan_boot boot, const char *look)
{
	peer_begin(&p);
	p.mode = PEER_RUN;
	p.run = run;
	asked = 0;
	mute = COMMANDS;
	said[0] = look;
	said[1] = "the kernel";
	said[2] = "the initramfs";
	said[3] = HEX "  /boot/vmlinuz-1\n" HEX "  /boot/initrd-1\n";
	memset(ended, 0, sizeof(ended));
	plan = (struct plan){ .dir = *state, .harvest = true, .boot = boot };
	h = harvester_new(p.guest, &plan);
	peer_link(&p);
}

/* Everything there is to do is done. */
static void go(void)
{
	harvester_start(h);
	for (int i = 0; i < 8; i++)
		peer_run(&p, peer_rounds);
}

static void end(void)
{
	harvester_free(h);
	peer_end(&p);
}


static void expect(const void *state, const char *boot)
{
	auto_free char *fresh = xasprintf("%s/harvest.tmp", (const char *)state);
	auto_harvest got = { 0 };
	struct err e = { 0 };

	assert_false(fs_exists(fresh));
	assert_int_equal(harvest_load(state, &got, &e), boot ? 0 : -1);
	if (boot)
		assert_memory_equal(got.boot, boot, strlen(boot));
}

static void a_guest_by_its_own_loader_is_harvested_once(void **state)
{
	auto_harvest got = { 0 };
	auto_buf text = BUF_INIT(100);
	struct err e = { 0 };

	begin(state, PLAN_BOOT_BIOS, LOOK("a"));
	go();
	assert_int_equal(asked, COMMANDS);
	assert_int_equal(harvest_load(*state, &got, &e), 0);
	assert_string_equal(got.args, "root=LABEL=root");
	assert_string_equal(got.kernel_sha256, HEX);
	assert_int_equal(io_read_file(got.initrd, &text, &e), 0);
	assert_string_equal(text.data, "the initramfs");
	expect(*state, "a");
	/* The same is not taken again, above all not one that has failed. */
	harvest_mark(*state, HARVEST_FAILED, true);
	asked = 0;
	go();
	assert_int_equal(asked, 1);
	assert_true(harvest_marked(*state, HARVEST_FAILED));
	said[0] = LOOK("b");
	asked = 0;
	go();
	assert_int_equal(asked, COMMANDS);
	expect(*state, "b");
	assert_false(harvest_marked(*state, HARVEST_FAILED));
	end();
}

static void a_changed_boot_folder_is_noted_at_a_direct_start(void **state)
{
	begin(state, PLAN_BOOT_BIOS, LOOK("a"));
	go();
	end();
	begin(state, PLAN_BOOT_DIRECT, LOOK("a"));
	harvester_boots(h);
	assert_true(harvest_marked(*state, HARVEST_TRIED));
	harvester_answered(h);
	assert_false(harvest_marked(*state, HARVEST_TRIED));
	go();
	assert_false(harvest_marked(*state, HARVEST_STALE));
	asked = 0;
	said[0] = LOOK("b");
	go();
	assert_int_equal(asked, 1);
	assert_true(harvest_marked(*state, HARVEST_STALE));
	expect(*state, "a"); /* the machine may yet be saved and restored with it */
	end();
}

static void what_goes_wrong_leaves_nothing(void **state)
{
	begin(state, PLAN_BOOT_UEFI, LOOK("a"));
	for (int i = 0; i < COMMANDS; i++) {
		memset(ended, 0, sizeof(ended));
		ended[i] = i ? 1 : 66;
		asked = 0;
		go();
		assert_int_equal(asked, i + 1);
		expect(*state, NULL);
	}
	memset(ended, 0, sizeof(ended));
	said[0] = "nonsense";
	asked = 0;
	go();
	assert_int_equal(asked, 1);
	said[0] = LOOK("a");
	said[3] = "no digests\n";
	asked = 0;
	go();
	assert_int_equal(asked, COMMANDS);
	expect(*state, NULL);
	end();
}

static bool initramfs_asked(struct peer *peer)
{
	(void)peer;
	return asked == mute;
}

static void a_stop_in_between_leaves_nothing(void **state)
{
	begin(state, PLAN_BOOT_BIOS, LOOK("a"));
	mute = 2;
	harvester_start(h);
	peer_run(&p, initramfs_asked);
	harvester_stop(h);
	for (int i = 0; i < 4; i++)
		peer_run(&p, peer_rounds);
	expect(*state, NULL);
	end();
}

/* A small file system of its own, with room for so many pages more. */
static void leave_room(const char *dir, unsigned pages)
{
	auto_free char *size = NULL;
	struct statvfs vfs;

	assert_int_equal(statvfs(dir, &vfs), 0);
	size = xasprintf("size=%llu", (unsigned long long)(vfs.f_blocks - vfs.f_bfree + pages) * vfs.f_frsize);
	assert_int_equal(mount("none", dir, "tmpfs", MS_REMOUNT, size), 0);
}

/* What was harvested before stays whatever is the first for which there is no room. */
static void a_full_disk_loses_nothing(void **state)
{
	auto_free char *log = xasprintf("%s.log", (const char *)*state);
	int fd = open(log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	unsigned pages = 0;

	assert_int_equal(mount("none", *state, "tmpfs", 0, "size=64k"), 0);
	begin(state, PLAN_BOOT_BIOS, LOOK("a"));
	go();
	said[0] = LOOK("b");
	log_init("", fd, LOG_TEXT, LOG_INFO_);
	do {
		char text[1000] = "";

		assert_int_equal(ftruncate(fd, 0), 0);
		leave_room(*state, pages);
		asked = 0;
		go();
		assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
		if (strstr(text, "is known"))
			break;
		if (!strstr(text, "taken out of it: no free disk space for ") || strchr(text, '\n')[1])
			fail_msg("%s", text);
		expect(*state, "a");
	} while (++pages < 10);
	log_init("", 2, LOG_TEXT, LOG_INFO_);
	assert_in_range(pages, 2, 9); /* kernel, initramfs, record; the old one goes first */
	expect(*state, "b");
	end();
	close(fd);
	unlink(log);
	assert_int_equal(umount(*state), 0);
}

static void a_plan_without_it_asks_nothing(void **state)
{
	begin(state, PLAN_BOOT_BIOS, LOOK("a"));
	plan.harvest = false;
	harvester_boots(h);
	go();
	assert_int_equal(asked, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_guest_by_its_own_loader_is_harvested_once, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(a_changed_boot_folder_is_noted_at_a_direct_start, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(what_goes_wrong_leaves_nothing, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(a_stop_in_between_leaves_nothing, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(a_full_disk_loses_nothing, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(a_plan_without_it_asks_nothing, tmp_dir_make, tmp_dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
