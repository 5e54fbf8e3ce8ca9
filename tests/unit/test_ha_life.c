/* The life of an instance: commands, deaths, saved states, adoption. */
#include "tests/unit/ha_stub.h"

#include "limactl-c/base/mem.h"

static void start_and_stop(void **state)
{
	(void)state;
	plan.ssh_port = 60022;
	start();
	expect("GET", "/v1/info", "", "200", "{\"sshLocalPort\":60022}");
	expect("GET", "/v1/status", "", "200", "{\"state\":\"running\",\"vmPid\":4711,\"degraded\":false,\"errors\":[]");
	expect("GET", "/v1/status", "", "200", "\"agent\":{\"connected\":true,\"pid\":77,");
	expect("GET", "/v1/nothing", "", "404", "message");
	expect("GET", "/v1/stop", "", "405", "message");
	expect("POST", "/v1/stop", "{", "400", "message");
	expect("POST", "/v1/stop", "", "200", "{\"state\":\"stopped\"}");
	assert_true(ha->ended);
	assert_int_equal(ha->exit_code, 0);
	assert_int_equal(drv.starts, 1);
	assert_int_equal(drv.kills, 0);
	assert_false(in_folder("ha.sock"));
	assert_non_null(strstr(events(), "\"status\":{\"sshLocalPort\":60022}}\n"));
	assert_non_null(strstr(events(), "\"status\":{\"running\":true,\"sshLocalPort\":60022}}\n"));
	assert_non_null(strstr(events(), "\"status\":{\"exiting\":true,\"sshLocalPort\":60022}}\n"));
}

static void what_fits_no_state_is_refused_in_words(void **state)
{
	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	expect("POST", "/v1/pause", "", "409", "the instance is starting");
	expect("POST", "/v1/save", "", "409", "the instance is starting");
	say_boot(AP_BOOT_DONE);
	peer_run(&p, is_running);
	expect("POST", "/v1/resume", "", "200", "running");
	expect("POST", "/v1/restore", "", "409", "no saved machine");
	expect("POST", "/v1/pause", "", "200", "{\"state\":\"paused\"}");
	expect("POST", "/v1/pause", "", "200", "paused");
	expect("POST", "/v1/restore", "", "409", "resume it");
	expect("POST", "/v1/save", "", "200", "{\"state\":\"saved\"}");
	expect("POST", "/v1/save", "", "200", "saved");
	expect("POST", "/v1/pause", "", "409", "restore it first");
	expect("POST", "/v1/resume", "", "409", "restore it");
	expect("POST", "/v1/restore", "", "200", "{\"state\":\"running\"}");
	expect("POST", "/v1/stop", "", "200", "stopped");
}

static bool hurried(struct peer *peer)
{
	(void)peer;
	return guest_silence(ha->guest)->counting;
}

static bool not_hurried(struct peer *peer)
{
	return !hurried(peer);
}

static void clients_are_in_a_hurry_only_while_the_machine_runs(void **state)
{
	(void)state;
	start();
	peer_run(&p, hurried);
	expect("POST", "/v1/pause", "", "200", "paused");
	peer_run(&p, not_hurried);
	expect("POST", "/v1/resume", "", "200", "running");
	peer_run(&p, hurried);
	expect("POST", "/v1/save", "", "200", "saved");
	peer_run(&p, not_hurried);
	expect("POST", "/v1/stop", "", "200", "stopped");
}

static void a_paused_machine_is_stopped_by_its_button(void **state)
{
	(void)state;
	start();
	expect("POST", "/v1/pause", "", "200", "paused");
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_int_equal(drv.kills, 0);
}

static void a_guest_that_cannot_be_powered_off_is_killed_which_is_said(void **state)
{
	(void)state;
	start();
	drv.fail = "no button";
	expect("POST", "/v1/stop", "", "200", "{\"state\":\"killed\"}");
	assert_int_equal(drv.kills, 1);
	assert_int_equal(ha->exit_code, 0);
}

static void stop_by_force(void **state)
{
	(void)state;
	start();
	drv.deaf = true;
	send_request("POST /v1/stop HTTP/1.1\r\n\r\n");
	peer_run(&p, peer_rounds);
	assert_int_equal(ha->state, HA_STOPPING);
	close(client);
	expect("POST", "/v1/pause", "", "409", "stopping");
	expect("POST", "/v1/stop", "{\"force\":true}", "200", "stopped");
	assert_int_equal(drv.kills, 1);
	assert_int_equal(ha->exit_code, 0);
}

static void signals_stop_and_then_kill(void **state)
{
	(void)state;
	start();
	drv.deaf = true;
	life_signal(ha, SIGTERM);
	assert_int_equal(ha->state, HA_STOPPING);
	life_signal(ha, SIGINT); /* at once: the same Ctrl-C through two processes */
	assert_int_equal(drv.kills, 0);
	ha->signal_at -= 1000;
	life_signal(ha, SIGTERM);
	peer_run(&p, has_ended);
	assert_int_equal(drv.kills, 1);
}

static void wake(void)
{
	vmctl_begin(ha->vm, VMCTL_NONE, NULL, NULL); /* the driver has something to say */
}

static void a_machine_that_dies_ends_the_instance(void **state)
{
	unsigned port = free_port();

	(void)state;
	start();
	say_port(4, port, true, true);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, port));
	machine_goes();
	queue(VM_EV_EXITED, "qemu was killed by signal 9");
	wake();
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 1);
	assert_non_null(strstr(events(), "\"exiting\":true,\"errors\":[\"qemu was killed by signal 9\"]"));
	assert_false(in_folder("ha.sock"));
	assert_false(accepts(4, port));
}

static void a_guest_that_powers_itself_off_is_a_clean_end(void **state)
{
	(void)state;
	start();
	queue(VM_EV_POWERDOWN, NULL);
	wake();
	peer_run(&p, peer_rounds);
	assert_int_equal(ha->state, HA_STOPPING);
	machine_goes();
	queue(VM_EV_EXITED, NULL);
	wake();
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 0);
	assert_non_null(strstr(events(), "\"exiting\":true"));
	assert_null(strstr(events(), "errors"));
}

static void powered_off_before_it_was_ready_is_no_start(void **state)
{
	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	peer_run(&p, peer_rounds);
	queue(VM_EV_POWERDOWN, NULL);
	machine_goes();
	queue(VM_EV_EXITED, NULL);
	wake();
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 1);
	assert_non_null(strstr(events(), "the guest powered itself off before it was ready"));
}

#define PANIC "Kernel panic - not syncing: sysrq triggered crash"

static bool is_answered(struct peer *peer)
{
	(void)peer;
	return !ha->resets;
}

static void a_panic_ends_a_start(void **state)
{
	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	peer_run(&p, peer_rounds);
	queue(VM_EV_RESET, PANIC);
	wake();
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 1);
	assert_int_equal(drv.kills, 1);
	assert_non_null(strstr(events(), "\"exiting\":true,\"errors\":[\"the guest's kernel panicked: " PANIC "\"]"));
	assert_false(in_folder("ha.sock"));
}

/* As SeaBIOS does at a reboot; a while after the last. */
static void reset_three_times(void)
{
	ha->reset_at -= 1000;
	for (int i = 0; i < 3; i++)
		queue(VM_EV_RESET, NULL);
	wake();
	peer_run(&p, peer_rounds);
}

static void a_guest_that_reboots_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	for (int i = 0; i < 12; i++) {
		reset_three_times();
		assert_int_equal(ha->state, HA_STARTING);
		if (i % 4 < 3)
			continue;
		peer_new_agent(&p); /* until a script reboots it again */
		peer_run(&p, is_answered);
	}
	say_boot(AP_BOOT_DONE);
	peer_run(&p, is_running);
}

static void resets_that_lead_nowhere_end_a_start(void **state)
{
	auto_free char *log = xasprintf("%s/serial.log", dir);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	assert_int_equal(fs_write_atomic(log, "first\r\nno bootable \033device\r\n", 28, 0600, &e), 0);
	peer_run(&p, peer_rounds);
	for (int i = 0; i < 5; i++) {
		assert_false(ha->ended);
		reset_three_times();
	}
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 1);
	assert_non_null(strstr(events(), "the guest has reset the machine 5 times and its agent does not answer; its console ends "
					 "with: no bootable ?device\""));
}

static void a_panic_while_it_runs_is_told_and_it_goes_on(void **state)
{
	(void)state;
	start();
	for (int i = 1; i <= 2; i++) {
		queue(VM_EV_RESET, PANIC);
		wake();
		peer_run(&p, peer_rounds);
		assert_int_equal(ha->state, HA_RUNNING);
		expect("GET", "/v1/status", "", "200", i == 1 ? "\"degraded\":true,\"errors\":[\"the guest's kernel panicked, and "
								 "the guest booted again: " PANIC "\"]" :
								 "\"errors\":[\"the guest's kernel panicked 2 times, and the guest "
								 "booted again: " PANIC "\"]");
		peer_new_agent(&p);
		peer_run(&p, is_answered);
	}
	expect("POST", "/v1/stop", "", "200", "{\"state\":\"stopped\"}");
	assert_int_equal(ha->exit_code, 0);
}

static void a_panic_of_the_boot_after_it_is_the_end(void **state)
{
	(void)state;
	start();
	queue(VM_EV_RESET, PANIC);
	queue(VM_EV_RESET, PANIC);
	wake();
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 1);
	assert_non_null(strstr(events(), "\"exiting\":true,\"errors\":[\"the guest's kernel panicked: " PANIC "\"]"));
}

static void a_panic_while_it_stops_is_an_error_and_no_wait(void **state)
{
	(void)state;
	start();
	drv.deaf = true;
	life_stop(ha, false);
	queue(VM_EV_RESET, PANIC);
	wake();
	peer_run(&p, has_ended);
	assert_int_equal(drv.kills, 1);
	assert_int_equal(ha->exit_code, 1);
}

static void say_trouble(const char *what, const char *why)
{
	struct ap_trouble v = { "", "" };
	uint8_t out[700];

	snprintf(v.what, sizeof(v.what), "%s", what);
	snprintf(v.why, sizeof(v.why), "%s", why);
	say(AP_MSG_TROUBLE, out, ap_trouble_pack(&v, out, sizeof(out)));
}

static void a_guest_in_trouble_is_degraded_while_it_is(void **state)
{
	char name[20];

	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	peer_run(&p, peer_rounds);
	say_trouble("engine disk", "cannot mount /dev/vdb");
	say_trouble("dockerd", "ended too soon, 3 times");
	say_trouble("dockerd", "ended too soon, 4 times");
	say_boot(AP_BOOT_DONE);
	peer_run(&p, is_running);
	assert_non_null(strstr(events(), "\"running\":true,\"degraded\":true,\"errors\":[\"engine disk: cannot mount /dev/vdb\","
					 "\"dockerd: ended too soon, 4 times\"]"));
	say_trouble("engine disk", "");
	say_trouble("never heard of", "");
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "\"degraded\":true,\"errors\":[\"dockerd: ended too soon, 4 times\"]");
	say_trouble("dockerd", "");
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "\"degraded\":false,\"errors\":[]");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "disk %d", i);
		say_trouble(name, "none");
	}
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "\"disk 19: none\"]");
	/* A guest that boots again has those it tells of. */
	p.on_up = guest_is_booted;
	peer_new_agent(&p);
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "\"degraded\":false,\"errors\":[]");
}

static void a_machine_that_does_not_start(void **state)
{
	(void)state;
	drv.fail = "qemu: no such device";
	start_with(guest_is_booted);
	peer_run(&p, has_ended);
	assert_int_equal(ha->exit_code, 1);
	assert_non_null(strstr(events(), "\"exiting\":true,\"errors\":[\"qemu: no such device\"]"));
}

static void a_machine_left_running_is_adopted(void **state)
{
	char stale[60];
	int fd;

	(void)state;
	snprintf(stale, sizeof(stale), "%s/vm.state", dir);
	fd = open(stale, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "older", 5), 5);
	close(fd);
	drv.left = VM_PAUSED;
	start();
	assert_int_equal(drv.restores, 0);
	assert_false(in_folder("vm.state"));
	assert_int_equal(drv.starts, 0);
	assert_int_equal(drv.vm.state, VM_RUNNING);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(start_and_stop),
		T(what_fits_no_state_is_refused_in_words),
		T(clients_are_in_a_hurry_only_while_the_machine_runs),
		T(a_paused_machine_is_stopped_by_its_button),
		T(a_guest_that_cannot_be_powered_off_is_killed_which_is_said),
		T(stop_by_force),
		T(signals_stop_and_then_kill),
		T(a_machine_that_dies_ends_the_instance),
		T(a_guest_that_powers_itself_off_is_a_clean_end),
		T(powered_off_before_it_was_ready_is_no_start),
		T(a_panic_ends_a_start),
		T(a_guest_in_trouble_is_degraded_while_it_is),
		T(a_guest_that_reboots_is_waited_for),
		T(resets_that_lead_nowhere_end_a_start),
		T(a_panic_while_it_runs_is_told_and_it_goes_on),
		T(a_panic_of_the_boot_after_it_is_the_end),
		T(a_panic_while_it_stops_is_an_error_and_no_wait),
		T(a_machine_that_does_not_start),
		T(a_machine_left_running_is_adopted),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
