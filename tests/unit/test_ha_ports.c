/* What an instance shows to the outside: readiness, listeners, the control socket's streams. */
#include "tests/unit/ha_stub.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

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
	static struct plan_socket sock = { .host_path = host, .guest_path = "/var/run/docker.sock", .mode = 0600 };

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

/* A network of its own, in which the first port for everybody is 1024. */
static void enter_net(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

/* Of this process: no port below 1024, until some are allowed. */
static int net_before, first_port = -1;

static void give_up_rights(void)
{
	static const char *const names[] = { "", "ha.sock", "ha.stdout.log" };

	net_before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	enter_net();
	first_port = open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char file[80];

		snprintf(file, sizeof(file), "%s/%s", dir, names[i]);
		assert_int_equal(in_folder(names[i]) ? chown(file, 65534, 65534) : 0, 0);
	}
	assert_int_equal(seteuid(65534), 0);
}

static void allow_ports_from(const char *first)
{
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(pwrite(first_port, first, strlen(first), 0), strlen(first));
	assert_int_equal(seteuid(65534), 0);
}

static int end_with_rights(void **state)
{
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setns(net_before, CLONE_NEWNET), 0);
	close(net_before);
	close(first_port);
	return end(state);
}

static bool has_port_80(struct peer *peer)
{
	(void)peer;
	return strstr(events(), "\"type\":\"forwarding\",\"protocol\":\"tcp\",\"guestAddr\":\"0.0.0.0:80\"");
}

static void a_privileged_port_is_told_once_and_comes_with_the_right_to_it(void **state)
{
	static const char why[] = "port 80 of this host needs root, or net.ipv4.ip_unprivileged_port_start of at most 80";
	const char *first;

	(void)state;
	start();
	give_up_rights();
	say_port(4, 80, true, true);
	say_port(4, 8080, true, false);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, 8080));
	first = strstr(events(), why);
	assert_non_null(first);
	assert_null(strstr(first + 1, why));
	assert_non_null(strstr(events(), "\"type\":\"not-forwarding\""));
	expect("GET", "/v1/status", "", "200", why);
	assert_false(has_port_80(&p));
	allow_ports_from("80");
	peer_run(&p, has_port_80);
	assert_true(accepts(4, 80));
}

static bool has_port_82(struct peer *peer)
{
	(void)peer;
	return strstr(events(), "\"type\":\"forwarding\",\"protocol\":\"tcp\",\"guestAddr\":\"/b\"");
}

static void one_that_leads_to_a_socket_comes_as_soon(void **state)
{
	static struct plan_socket sock[] = { { .host_ip = "127.0.0.1", .host_port = 81, .guest_path = "/a" },
					     { .host_ip = "127.0.0.1", .host_port = 82, .guest_path = "/b" } };

	(void)state;
	plan.socket = sock;
	plan.sockets = 2;
	give_up_rights();
	start();
	expect("GET", "/v1/status", "", "200", "port 81 of this host needs root");
	expect("GET", "/v1/status", "", "200", "port 82 of this host needs root");
	allow_ports_from("82");
	peer_run(&p, has_port_82);
	assert_true(accepts(4, 82));
	assert_false(accepts(4, 81));
	/* A change in the guest is an occasion, too. */
	allow_ports_from("81");
	say_port(4, 8080, true, true);
	peer_run(&p, peer_rounds);
	assert_true(accepts(4, 81));
}

static bool has_ssh(struct peer *peer)
{
	(void)peer;
	return accepts(4, plan.ssh_port);
}

static void the_port_of_ssh_comes_as_soon_too(void **state)
{
	(void)state;
	plan.ssh_port = 84;
	give_up_rights();
	start();
	expect("GET", "/v1/status", "", "200", "\"error\":\"port 84 of this host needs root");
	assert_false(has_ssh(&p));
	allow_ports_from("84");
	peer_run(&p, has_ssh);
	expect("GET", "/v1/status", "", "200", "\"hostKeys\":0}");
}

static void every_forward_is_shown_with_what_went_through_it(void **state)
{
	static struct plan_socket sock = { .host_ip = "127.0.0.1", .guest_path = "/x" };
	unsigned port = free_port();
	char text[300];
	int fd;

	(void)state;
	sock.host_port = (uint16_t)free_port();
	plan.socket = &sock;
	plan.sockets = 1;
	start();
	say_port(4, port, true, true);
	peer_run(&p, peer_rounds);
	p.mode = PEER_ECHO;
	fd = connect_port(4, port);
	assert_int_equal(write(fd, "question", 8), 8);
	peer_run(&p, peer_rounds);
	snprintf(text, sizeof(text), "\"hostAddr\":\"127.0.0.1:%u\",\"state\":\"forwarding\",\"connections\":1,\"connectionsTotal\":1,"
				     "\"bytesToGuest\":8,\"bytesToHost\":8}", port);
	expect("GET", "/v1/forwards", "", "200", text);
	close(fd);
	peer_run(&p, peer_rounds);
	expect("GET", "/v1/forwards", "", "200", "\"connections\":0,\"connectionsTotal\":1,\"bytesToGuest\":8");
	snprintf(text, sizeof(text), "{\"protocol\":\"tcp\",\"guestAddr\":\"/x\",\"hostAddr\":\"127.0.0.1:%u\",\"state\":"
				     "\"forwarding\",\"connections\":0,", sock.host_port);
	expect("GET", "/v1/forwards", "", "200", text);
	say_port(4, port, false, false);
	peer_run(&p, peer_rounds);
	assert_non_null(strstr(events(), "\"type\":\"stopping\""));
	assert_non_null(strstr(strstr(events(), "\"type\":\"stopping\""), "\"connectionsTotal\":1,\"bytesToGuest\":8,"));
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
		cmocka_unit_test_setup_teardown(a_privileged_port_is_told_once_and_comes_with_the_right_to_it, begin, end_with_rights),
		cmocka_unit_test_setup_teardown(one_that_leads_to_a_socket_comes_as_soon, begin, end_with_rights),
		cmocka_unit_test_setup_teardown(the_port_of_ssh_comes_as_soon_too, begin, end_with_rights),
		T(every_forward_is_shown_with_what_went_through_it),
		T(commands_run_in_the_guest_through_the_socket),
		T(events_are_streamed),
		T(clients_that_leave_or_crowd_harm_nobody),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
