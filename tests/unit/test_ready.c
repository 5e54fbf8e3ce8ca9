/* The requirements of a start, one by one. */
#include "tests/unit/ha_peer.h"

#include <stdio.h>

#include "lib/cleanup.h"
#include "limactl-c/hostagent/ready.h"

static struct peer p;
static struct ready *r;
static int changes;
static char docker[] = "/x/docker.sock", docker2[] = "/x/sub/docker.sock", other[] = "/x/other.sock";
static char guest_docker[] = "/run/docker.sock", guest_other[] = "/run/other.sock";
static struct plan_socket sockets[3] = {
	{ .host_path = docker, .guest_path = guest_docker },
	{ .host_path = other, .guest_path = guest_other },
	{ .host_path = docker2, .guest_path = guest_docker },
};
static struct plan plan = { .socket = sockets };

static void on_change(void *ctx)
{
	(void)ctx;
	changes++;
}

static void begin(size_t count)
{
	peer_begin(&p);
	plan.sockets = count;
	changes = 0;
	r = ready_new(p.loop, p.guest, &plan, on_change, NULL);
}

static int end(void **state)
{
	(void)state;
	ready_free(r);
	peer_end(&p);
	return 0;
}

static char *list(void (*fn)(const struct ready *ready, struct jx *out))
{
	auto_jx *names = jx_new_array();

	fn(r, names);
	return jx_dump(names);
}

static void expect(void (*fn)(const struct ready *ready, struct jx *out), const char *text)
{
	auto_free char *got = list(fn);

	assert_string_equal(got, text);
}

static int boot(enum ap_boot_phase phase)
{
	struct ap_boot b = { .phase = (uint8_t)phase, .detail = "a warning" };
	uint8_t out[400];

	return ready_boot(r, out, (size_t)ap_boot_pack(&b, out, sizeof(out)));
}

static int script(unsigned index, enum ap_provision_state s, int status, const char *tail)
{
	struct ap_provision v = { .index = (uint16_t)index, .state = (uint8_t)s, .status = status };
	uint8_t out[3000];

	snprintf(v.tail, sizeof(v.tail), "%s", tail);
	return ready_provision(r, out, (size_t)ap_provision_pack(&v, out, sizeof(out)));
}

static void without_sockets(void **state)
{
	(void)state;
	begin(0);
	expect(ready_waiting, "[\"the machine runs\",\"the guest agent answers\",\"provisioning has finished\"]");
	ready_machine(r);
	ready_agent(r, false);
	assert_false(ready_all(r));
	assert_int_equal(boot(AP_BOOT_PROVISIONING), 0);
	expect(ready_waiting, "[\"provisioning has finished\"]");
	assert_int_equal(boot(AP_BOOT_DONE), 0);
	assert_true(ready_all(r));
	assert_true(changes >= 3);
	expect(ready_errors, "[]");
}

static void a_guest_that_boots_again_starts_afresh(void **state)
{
	(void)state;
	begin(0);
	ready_machine(r);
	ready_agent(r, false);
	script(0, AP_PROVISION_FAILED, 1, "");
	ready_agent(r, false); /* another agent process */
	expect(ready_errors, "[]");
	boot(AP_BOOT_DONE);
	assert_true(ready_all(r));
	ready_agent(r, true); /* the same over a new carrier */
	assert_true(ready_all(r));
}

static void failures_are_sentences(void **state)
{
	(void)state;
	begin(1);
	ready_machine(r);
	ready_agent(r, false);
	script(0, AP_PROVISION_RUNNING, 0, "");
	script(0, AP_PROVISION_OK, 0, "");
	script(1, AP_PROVISION_FAILED, 7, "one\ntwo\r\n\n");
	script(1, AP_PROVISION_FAILED, 8, "told again"); /* after a new link: the newer word counts */
	script(4, AP_PROVISION_FAILED, -15, "");
	assert_false(ready_all(r));
	boot(AP_BOOT_DONE);
	assert_true(ready_all(r)); /* without waiting for the engine */
	expect(ready_errors, "[\"provision script 2 failed with exit code 8: told again\",\"provision script 5 failed with "
			     "signal 15\"]");
	assert_int_equal(p.opened, 0);
}

static void in_trouble_the_engine_is_not_waited_for(void **state)
{
	(void)state;
	begin(1);
	ready_machine(r);
	ready_agent(r, false);
	ready_trouble(r, true);
	assert_false(ready_all(r));
	ready_agent(r, false); /* a guest that has booted again is in none */
	boot(AP_BOOT_DONE);
	assert_false(ready_all(r));
	ready_trouble(r, true);
	assert_true(ready_all(r));
	ready_trouble(r, false); /* it was over before anybody was told */
	assert_false(ready_all(r));
}

static void too_many_failures_are_bounded(void **state)
{
	auto_jx *names = jx_new_array();

	(void)state;
	begin(0);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(script(i, AP_PROVISION_FAILED, 1, "x"), 0);
	ready_errors(r, names);
	assert_int_equal(jx_count(names), 32);
}

static void malformed_messages_are_refused(void **state)
{
	(void)state;
	begin(0);
	assert_int_equal(ready_boot(r, (const uint8_t *)"", 0), -1);
	assert_int_equal(ready_provision(r, (const uint8_t *)"\1\0", 2), -1);
}

static bool all_met(struct peer *peer)
{
	(void)peer;
	return ready_all(r);
}

static void each_docker_sock_must_answer(void **state)
{
	(void)state;
	begin(3);
	p.mode = PEER_ANSWER;
	p.first_answer = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
	p.answer = "HTTP/1.0 200 OK\r\n\r\nOK";
	peer_link(&p);
	ready_machine(r);
	ready_agent(r, false);
	assert_int_equal(p.opened, 0);
	boot(AP_BOOT_DONE);
	expect(ready_waiting, "[\"/run/docker.sock answers /_ping\",\"/run/docker.sock answers /_ping\"]");
	peer_run(&p, all_met);
	expect(ready_waiting, "[]");
	assert_int_equal(p.opened, 3); /* the one that was refused was asked again */
	ready_done(r);
}

static void no_more_questions_after_the_end(void **state)
{
	size_t opened;

	(void)state;
	begin(1);
	p.mode = PEER_REFUSE;
	peer_link(&p);
	ready_machine(r);
	ready_agent(r, false);
	boot(AP_BOOT_DONE);
	peer_run(&p, peer_rounds);
	ready_done(r);
	peer_run(&p, peer_rounds);
	opened = p.opened;
	assert_true(opened >= 1);
	for (int i = 0; i < 15; i++)
		peer_run(&p, peer_rounds);
	assert_int_equal(p.opened, opened);
}

int main(void)
{
#define T(fn) cmocka_unit_test_teardown(fn, end)
	const struct CMUnitTest tests[] = {
		T(without_sockets),
		T(a_guest_that_boots_again_starts_afresh),
		T(failures_are_sentences),
		T(in_trouble_the_engine_is_not_waited_for),
		T(too_many_failures_are_bounded),
		T(malformed_messages_are_refused),
		T(each_docker_sock_must_answer),
		T(no_more_questions_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
