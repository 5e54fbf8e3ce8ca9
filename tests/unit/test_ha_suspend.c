/* Into a file and back: what the guest is asked, what fits, and what becomes of a machine that cannot go on. */
#include "tests/unit/ha_stub.h"

#include "limactl-c/base/mem.h"

static void saved_and_restored(void **state)
{
	unsigned port = free_port();
	int fd;

	(void)state;
	start();
	say_port(4, port, true, true);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, port));
	expect("POST", "/v1/save", "", "200", "saved");
	assert_true(in_folder("vm.state") && in_folder("vm.state.json"));
	assert_false(in_folder("vm.state.tmp"));
	expect("GET", "/v1/status", "", "200", "\"vmPid\":0");
	/* Who comes now waits, and is served after. */
	fd = connect_port(4, port);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "ping", 4), 4);
	expect("POST", "/v1/restore", "", "200", "running");
	assert_true(drv.saw_file);
	assert_false(in_folder("vm.state") || in_folder("vm.state.json"));
	client = fd;
	shutdown(fd, SHUT_WR);
	assert_string_equal(read_answer(), "ping");
	expect("POST", "/v1/stop", "", "200", "stopped");
}

static void stopped_while_saved_it_is_restored_by_the_next_start(void **state)
{
	(void)state;
	start();
	expect("POST", "/v1/save", "", "200", "saved");
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_true(in_folder("vm.state"));
	peer_end_guest(&p);
	ha_free(ha);
	start();
	assert_int_equal(drv.starts, 1);
	assert_int_equal(drv.restores, 1);
	assert_false(in_folder("vm.state"));
}

static void a_state_of_another_machine_is_given_up(void **state)
{
	(void)state;
	start();
	expect("POST", "/v1/save", "", "200", "saved");
	expect("POST", "/v1/stop", "", "200", "stopped");
	peer_end_guest(&p);
	ha_free(ha);
	plan.memory = 123456;
	start();
	assert_int_equal(drv.starts, 2);
	assert_int_equal(drv.restores, 0);
	assert_false(in_folder("vm.state"));
}

static void a_state_that_cannot_be_restored_is_given_up(void **state)
{
	(void)state;
	start();
	expect("POST", "/v1/save", "", "200", "saved");
	expect("POST", "/v1/stop", "", "200", "stopped");
	peer_end_guest(&p);
	ha_free(ha);
	drv.fail = "the state is torn";
	start();
	assert_int_equal(drv.restores, 1);
	assert_int_equal(drv.starts, 2);
	assert_false(in_folder("vm.state"));
}

static bool is_starting(struct peer *peer)
{
	(void)peer;
	return drv.starts == 2 && ha->state == HA_STARTING && guest_is_up(ha->guest);
}

static void a_failed_restore_boots_afresh(void **state)
{
	(void)state;
	start();
	expect("POST", "/v1/save", "", "200", "saved");
	drv.fail = "no memory for the machine";
	send_request("POST /v1/restore HTTP/1.1\r\n\r\n");
	peer_run(&p, is_starting);
	assert_false(in_folder("vm.state"));
	say_boot(AP_BOOT_DONE);
	assert_non_null(strstr(read_answer(), "{\"state\":\"running\"}"));
	close(client);
	expect("GET", "/v1/status", "", "200", "could not go on and the guest has booted afresh: no memory for the machine");
}

static void one_whose_disk_was_changed_boots_afresh(void **state)
{
	struct plan_disk disk = { .path = "disk", .format = "raw" };
	auto_free char *path = xasprintf("%s/disk", dir);
	struct err e = { 0 };

	(void)state;
	disk.path = path;
	plan.disk = &disk;
	plan.disks = 1;
	assert_int_equal(fs_write_atomic(path, "one", 3, 0600, &e), 0);
	start();
	expect("POST", "/v1/save", "", "200", "saved");
	assert_int_equal(fs_write_atomic(path, "two!", 4, 0600, &e), 0);
	send_request("POST /v1/wake HTTP/1.1\r\n\r\n");
	peer_run(&p, is_starting);
	assert_int_equal(drv.restores, 0);
	say_boot(AP_BOOT_DONE);
	assert_non_null(strstr(read_answer(), "{\"state\":\"running\"}"));
	close(client);
	expect("GET", "/v1/status", "", "200", "the disk was changed since it was saved");
	expect("POST", "/v1/stop", "", "200", "stopped");
	plan.disks = 0;
}

static void the_guest_gets_ready_first_and_is_told_when_it_goes_on(void **state)
{
	(void)state;
	start();
	expect("POST", "/v1/pause", "", "200", "paused");
	expect("POST", "/v1/save", "", "200", "saved");
	assert_int_equal(p.asked_ready, 1);
	expect("POST", "/v1/restore", "", "200", "running");
	peer_run(&p, peer_rounds);
	assert_int_equal(p.woken, 1);
	p.not_ready = "/mnt is in use";
	expect("POST", "/v1/save", "", "500", "the machine cannot be saved: /mnt is in use");
	expect("GET", "/v1/status", "", "200", "\"state\":\"running\"");
	peer_run(&p, peer_rounds);
	assert_int_equal(p.woken, 2);
	assert_false(in_folder("vm.state") || in_folder("vm.state.tmp"));
}

static bool is_hurried(struct peer *peer)
{
	(void)peer;
	return guest_silence(ha->guest)->counting;
}

static bool is_not_hurried(struct peer *peer)
{
	return !is_hurried(peer);
}

static void nobody_is_in_a_hurry_before_a_loaded_guest_answers(void **state)
{
	(void)state;
	start();
	peer_run(&p, is_hurried);
	ha->suspend.untold = true; /* as between a restore and the link */
	expect("GET", "/v1/info", "", "200", "");
	peer_run(&p, is_not_hurried);
	suspend_linked(ha);
	expect("GET", "/v1/info", "", "200", "");
	peer_run(&p, is_hurried);
}

static bool was_asked(struct peer *peer)
{
	return peer->asked_ready == 1;
}

static void who_comes_while_the_guest_gets_ready_is_served_instead(void **state)
{
	static const char order[] = "POST /v1/save HTTP/1.1\r\nContent-Length: 18\r\n\r\n{\"untilUsed\":true}";
	struct ap_suspend ready = { 0 };
	uint8_t out[8];

	(void)state;
	start();
	p.never_ready = true;
	send_request(order);
	peer_run(&p, was_asked);
	use_note(guest_use(ha->guest), USE_PORT);
	say(AP_MSG_SUSPEND, out, ap_suspend_pack(&ready, out, sizeof(out)));
	assert_non_null(strstr(read_answer(), "is being used"));
	close(client);
	expect("GET", "/v1/status", "", "200", "\"state\":\"running\"");
}

static void killed_while_the_guest_gets_ready(void **state)
{
	(void)state;
	start();
	p.never_ready = true;
	send_request("POST /v1/save HTTP/1.1\r\n\r\n");
	peer_run(&p, was_asked);
	close(client);
	expect("POST", "/v1/stop", "{\"force\":true}", "200", "stopped");
	assert_false(in_folder("vm.state") || in_folder("vm.state.tmp"));
}

static void folders_by_virtiofs_cannot_be_saved(void **state)
{
	struct plan_mount m = { .host_path = "/x", .guest_path = "/x", .tag = "x", .type = PLAN_MOUNT_VIRTIOFS, .options = "" };

	(void)state;
	plan.mount = &m;
	plan.mounts = 1;
	start();
	expect("POST", "/v1/save", "", "409", "virtiofs");
	expect("POST", "/v1/stop", "", "200", "stopped");
	plan.mounts = 0;
}

static void a_failed_save_goes_on(void **state)
{
	(void)state;
	start();
	drv.fail = "no space left";
	expect("POST", "/v1/save", "", "500", "no space left");
	peer_run(&p, is_running);
	assert_int_equal(drv.vm.state, VM_RUNNING);
	assert_false(in_folder("vm.state") || in_folder("vm.state.tmp"));
	expect("POST", "/v1/stop", "", "200", "stopped");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(saved_and_restored),
		T(stopped_while_saved_it_is_restored_by_the_next_start),
		T(a_state_of_another_machine_is_given_up),
		T(a_state_that_cannot_be_restored_is_given_up),
		T(a_failed_restore_boots_afresh),
		T(one_whose_disk_was_changed_boots_afresh),
		T(the_guest_gets_ready_first_and_is_told_when_it_goes_on),
		T(who_comes_while_the_guest_gets_ready_is_served_instead),
		T(killed_while_the_guest_gets_ready),
		T(nobody_is_in_a_hurry_before_a_loaded_guest_answers),
		T(folders_by_virtiofs_cannot_be_saved),
		T(a_failed_save_goes_on),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
