/* What an instance shows to the outside: readiness, listeners, the control socket's streams. */
#include "tests/unit/ha_stub.h"

static bool is_degraded(struct peer *peer)
{
	(void)peer;
	return ha->state == HA_RUNNING && jx_count(ha->errors);
}

static void a_failed_script_makes_it_degraded(void **state)
{
	(void)state;
	assert_int_equal(start_with(guest_boots), 0);
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "\"waiting\":[\"provisioning has finished\"]");
	say_failed(1, 7, "first\nthe disk of doom is missing\n\n");
	say_failed(2, -9, "");
	say_boot(AP_BOOT_DONE);
	peer_run(&p, is_degraded);
	assert_non_null(strstr(events(), "\"running\":true,\"degraded\":true,\"errors\":[\"provision script 2 failed with exit "
					 "code 7: first\\nthe disk of doom is missing\",\"provision script 3 failed with "
					 "signal 9\"]"));
	expect("GET", "/v1/status", "", "200", "\"degraded\":true");
}

static void docker_must_answer_its_ping(void **state)
{
	static char host[60];
	static struct plan_socket sock = { .host_path = host, .guest_path = "/var/run/docker.sock" };

	(void)state;
	snprintf(host, sizeof(host), "%s/sock/docker.sock", dir);
	plan.socket = &sock;
	plan.sockets = 1;
	assert_int_equal(start_with(guest_is_booted), 0);
	p.mode = PEER_REFUSE;
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "\"waiting\":[\"/var/run/docker.sock answers /_ping\"]");
	assert_true(in_folder("sock/docker.sock"));
	assert_int_equal(ha->state, HA_STARTING);
	p.mode = PEER_ECHO; /* an echo of the request is no answer either */
	for (int i = 0; i < 30; i++)
		peer_run(&p, peer_rounds);
	assert_int_equal(ha->state, HA_STARTING);
	p.mode = PEER_HOLD;
	p.last = NULL;
	p.got = p.opened;
	for (int i = 0; i < 100 && !p.last; i++)
		peer_run(&p, peer_rounds);
	assert_non_null(p.last);
	assert_string_equal(p.last_open.path, "/var/run/docker.sock");
	mux_write(p.last, "HTTP/1.0 200 OK\r\n\r\nOK", 21);
	mux_finish(p.last);
	peer_run(&p, is_running);
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_false(in_folder("sock/docker.sock"));
}

static void ports_appear_and_go(void **state)
{
	unsigned port = free_port();

	(void)state;
	start();
	say_port(4, port, true, true);
	say_port(6, port, true, false);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, port));
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_open.family, 4);
	assert_true(accepts(6, port));
	expect("GET", "/v1/status", "", "200", "\"state\":\"forwarding\"");
	say_port(4, port, false, false);
	peer_run(&p, peer_rounds);
	/* [::] still listens: both are served from there. */
	assert_true(accepts(4, port));
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_open.family, 6);
	assert_true(accepts(6, port));
	say_port(6, port, false, false);
	peer_run(&p, peer_rounds);
	assert_false(accepts(4, port) || accepts(6, port));
	/* A new agent tells everything afresh: what is not in its snapshot is closed. */
	say_port(4, port, true, false);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, port));
	peer_new_agent(&p);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, port));
	say_port(4, free_port(), true, true);
	peer_run(&p, peer_rounds);
	assert_false(accepts(4, port));
}

static unsigned contested;

static bool takes_over(struct peer *peer)
{
	(void)peer;
	return strstr(events(), "\"type\":\"forwarding\"");
}

static void a_taken_port_is_told_once_and_tried_again(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *first;
	struct err e = { 0 };
	int fd;

	(void)state;
	start();
	contested = free_port();
	in.sin_port = htons((uint16_t)contested);
	fd = sock_listen_tcp((struct sockaddr *)&in, sizeof(in), &e);
	assert_true(fd >= 0);
	say_port(4, contested, true, true);
	peer_run(&p, peer_rounds);
	say_port(4, free_port(), false, false); /* another change: tried again, not told again */
	peer_run(&p, peer_rounds);
	first = strstr(events(), "\"type\":\"failed\"");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\"type\":\"failed\""));
	expect("GET", "/v1/status", "", "200", "\"state\":\"failed\",\"error\":\"Address already in use\"");
	close(fd);
	peer_run(&p, takes_over);
	assert_true(accepts(4, contested));
}

static void commands_run_in_the_guest_through_the_socket(void **state)
{
	(void)state;
	p.on_up = NULL;
	assert_int_equal(start_with(NULL), 0);
	expect("POST", "/v1/exec", "", "503", "has not answered yet");
	peer_run(&p, peer_rounds);
	p.mode = PEER_ECHO;
	send_request("POST /v1/exec HTTP/1.1\r\nConnection: Upgrade\r\n\r\nrecords");
	shutdown(client, SHUT_WR);
	assert_string_equal(read_answer(), "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
					   "Upgrade: execproto\r\n\r\nrecords");
	assert_int_equal(p.last_open.kind, AP_OPEN_EXEC);
}

static bool has_line(struct peer *peer)
{
	return client_ready(peer);
}

static void events_are_streamed(void **state)
{
	char buf[2000];
	ssize_t k;

	(void)state;
	start();
	send_request("GET /v1/events HTTP/1.1\r\n\r\n");
	peer_run(&p, has_line);
	peer_run(&p, peer_rounds);
	k = read(client, buf, sizeof(buf) - 1);
	assert_true(k > 0);
	buf[k] = '\0';
	assert_non_null(strstr(buf, "application/x-ndjson"));
	assert_non_null(strstr(buf, "\"running\":true"));
	say_port(4, free_port(), true, false);
	peer_run(&p, has_line);
	k = read(client, buf, sizeof(buf) - 1);
	assert_true(k > 0);
	buf[k] = '\0';
	assert_non_null(strstr(buf, "portForward"));
	close(client);
}

static void clients_that_leave_or_crowd_harm_nobody(void **state)
{
	int crowd[140];
	char text[200];

	(void)state;
	start();
	send_request("POST /v1/st");
	peer_run(&p, peer_rounds);
	close(client);
	send_request("POST /v1/pause HTTP/1.1\r\n\r\n");
	close(client);
	for (int i = 0; i < 140; i++) {
		send_request("GET /v1/info HTT");
		crowd[i] = client;
	}
	peer_run(&p, peer_rounds);
	for (int i = 0; i < 200; i++)
		peer_run(&p, peer_rounds);
	/* Who has been silent for longest makes room; the others, and who speaks, stay. */
	assert_true(read(crowd[0], text, sizeof(text)) <= 0);
	assert_int_equal(recv(crowd[139], text, sizeof(text), MSG_DONTWAIT), -1);
	expect("GET", "/v1/status", "", "200", "state");
	for (int i = 0; i < 140; i++)
		close(crowd[i]);
	for (int i = 0; i < 10; i++)
		peer_run(&p, peer_rounds);
	expect("GET", "/v1/status", "", "200", "state");
	expect("GET", "/v1/events/x", "", "404", "message");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_failed_script_makes_it_degraded),
		T(docker_must_answer_its_ping),
		T(ports_appear_and_go),
		T(a_taken_port_is_told_once_and_tried_again),
		T(commands_run_in_the_guest_through_the_socket),
		T(events_are_streamed),
		T(clients_that_leave_or_crowd_harm_nobody),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
