/* Forwards with a socket at one end, and static ports: what is there from the start, and what a guest may ask for. */
#include "tests/unit/ha_stub.h"

static char served[60], made[60];
static struct plan_socket sockets[4];

static void sockets_are(struct plan_socket a)
{
	sockets[0] = a;
	plan.socket = sockets;
	plan.sockets = 1;
}

static int begin_paths(void **state)
{
	begin(state);
	snprintf(served, sizeof(served), "%s/served", dir);
	snprintf(made, sizeof(made), "%s/sock/made", dir);
	return 0;
}

static struct mux_stream *guest_opens(unsigned kind, unsigned index)
{
	struct ap_open o = { .kind = (enum ap_open_kind)kind, .index = (uint16_t)index, .family = 4, .port = 1, .path = "/x" };
	uint8_t request[40];
	ssize_t n = ap_open_pack(&o, request, sizeof(request));

	assert_true(n > 0);
	p.resets = 0;
	return mux_open(p.mux, request, (size_t)n, NULL);
}

static bool is_reset(struct peer *peer)
{
	return peer->resets;
}

static int listener;

static bool somebody_connects(struct peer *peer)
{
	struct pollfd f = { .fd = listener, .events = POLLIN };

	(void)peer;
	return poll(&f, 1, 0) == 1;
}

static bool has_echo(struct peer *peer)
{
	return peer->got;
}

static void a_reverse_socket_leads_to_the_host(void **state)
{
	struct mux_stream *s;
	struct err e = { 0 };
	char got[10];
	int fd;

	(void)state;
	sockets_are((struct plan_socket){ .host_path = served, .guest_path = "/run/r.sock", .reverse = true, .mode = 0600 });
	listener = sock_listen_unix(served, 0600, &e);
	assert_true(listener >= 0);
	start();
	/* The guest was told: count, index, mode, group, path. */
	assert_int_equal(p.last_message_len, 2 + 4 + 2 + 2 + 11);
	assert_memory_equal(p.last_message, "\1\0\0\0\x80\1\0\0\13\0/run/r.sock", 21);
	s = guest_opens(AP_OPEN_REVERSE, 0);
	peer_run(&p, somebody_connects);
	fd = accept(listener, NULL, NULL);
	assert_int_equal(mux_write(s, "ping", 4), 4);
	assert_int_equal(write(fd, "pong", 4), 4);
	p.mode = PEER_COLLECT;
	peer_run(&p, has_echo);
	assert_int_equal(read(fd, got, sizeof(got)), 4);
	assert_memory_equal(got, "ping", 4);
	mux_reset(s, MUX_RESET_ABORT);
	close(fd);
	/* It is the host's own: it stays, and it goes on. */
	expect("POST", "/v1/stop", "", "200", "stopped");
	fd = sock_connect_unix(served, &e);
	assert_true(fd >= 0);
	close(fd);
	close(listener);
}

static void a_guest_gets_nothing_but_reverse_sockets_of_the_plan(void **state)
{
	static const struct {
		unsigned kind, index;
		enum mux_reset_code code;
	} tries[] = {
		{ AP_OPEN_REVERSE, 1, MUX_RESET_PROTOCOL },     /* not reverse */
		{ AP_OPEN_REVERSE, 2, MUX_RESET_PROTOCOL },     /* there is none */
		{ AP_OPEN_REVERSE, 65535, MUX_RESET_PROTOCOL },
		{ AP_OPEN_UNIX, 0, MUX_RESET_PROTOCOL },
		{ AP_OPEN_TCP, 0, MUX_RESET_PROTOCOL },
		{ AP_OPEN_EXEC, 0, MUX_RESET_PROTOCOL },
		{ AP_OPEN_REVERSE, 0, MUX_RESET_REFUSED },      /* nobody listens on the host */
	};

	(void)state;
	sockets_are((struct plan_socket){ .host_path = served, .guest_path = "/run/r.sock", .reverse = true });
	sockets[1] = (struct plan_socket){ .host_path = made, .guest_path = "/run/s.sock", .mode = 0600 };
	plan.sockets = 2;
	start();
	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		guest_opens(tries[i].kind, tries[i].index);
		peer_run(&p, is_reset);
		assert_int_equal(p.last_code, tries[i].code);
	}
	/* Bytes that are no request at all. */
	p.resets = 0;
	mux_open(p.mux, "\6\0", 2, NULL);
	peer_run(&p, is_reset);
	assert_int_equal(p.last_code, MUX_RESET_PROTOCOL);
	assert_int_equal(conns_count(ha->conns), 0);
	assert_false(in_folder("served"));
}

static void one_reverse_socket_takes_not_all_descriptors(void **state)
{
	struct mux_stream *s = NULL;
	struct err e = { 0 };
	int fds[SOCKETS_REVERSE_CONNS];

	(void)state;
	sockets_are((struct plan_socket){ .host_path = served, .guest_path = "/run/r.sock", .reverse = true });
	listener = sock_listen_unix(served, 0600, &e);
	start();
	for (int i = 0; i < SOCKETS_REVERSE_CONNS; i++) {
		s = guest_opens(AP_OPEN_REVERSE, 0);
		peer_run(&p, somebody_connects);
		fds[i] = accept(listener, NULL, NULL);
	}
	guest_opens(AP_OPEN_REVERSE, 0);
	peer_run(&p, is_reset);
	assert_int_equal(p.last_code, MUX_RESET_LIMIT);
	mux_reset(s, MUX_RESET_ABORT);
	peer_run(&p, peer_rounds);
	guest_opens(AP_OPEN_REVERSE, 0);
	peer_run(&p, somebody_connects);
	for (int i = 0; i < SOCKETS_REVERSE_CONNS; i++)
		close(fds[i]);
	close(listener);
}

static void a_port_leads_to_a_socket_and_heals(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned port = free_port();
	struct err e = { 0 };
	char text[100];
	int fd;

	(void)state;
	in.sin_port = htons((uint16_t)port);
	fd = sock_listen_tcp((struct sockaddr *)&in, sizeof(in), &e);
	assert_true(fd >= 0);
	sockets_are((struct plan_socket){ .host_ip = "127.0.0.1", .host_port = (uint16_t)port, .guest_path = "/run/app.sock" });
	start();
	snprintf(text, sizeof(text), "\"type\":\"failed\",\"protocol\":\"tcp\",\"guestAddr\":\"/run/app.sock\",\"hostAddr\":"
				     "\"127.0.0.1:%u\"", port);
	assert_non_null(strstr(events(), text));
	close(fd);
	for (int i = 0; i < 200 && !strstr(events(), "\"type\":\"forwarding\""); i++)
		peer_run(&p, peer_rounds);
	assert_true(accepts(4, port));
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_open.kind, AP_OPEN_UNIX);
	assert_string_equal(p.last_open.path, "/run/app.sock");
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_false(accepts(4, port));
}

static void a_socket_leads_to_a_port_with_its_own_rights(void **state)
{
	struct err e = { 0 };
	struct stat st;
	int fd;

	(void)state;
	sockets_are((struct plan_socket){ .host_path = made, .guest_ip = "0.0.0.0", .guest_port = 8082, .mode = 0660,
					  .group = "daemon" });
	start();
	assert_int_equal(stat(made, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_gid, 1);
	fd = sock_connect_unix(made, &e);
	assert_true(fd >= 0);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_open.kind, AP_OPEN_TCP);
	assert_int_equal(p.last_open.port, 8082);
	assert_int_equal(p.last_open.addr[0], 127);
	close(fd);
	assert_non_null(strstr(events(), "\"type\":\"forwarding\",\"protocol\":\"unix\",\"guestAddr\":\"0.0.0.0:8082\""));
}

static void a_group_that_is_not_there_is_said(void **state)
{
	(void)state;
	sockets_are((struct plan_socket){ .host_path = made, .guest_path = "/x", .mode = 0660, .group = "no-such-group" });
	assert_int_equal(start_with(NULL), -1);
	assert_non_null(strstr(events(), "this host has no group \\\"no-such-group\\\""));
	assert_false(in_folder("sock/made"));
}

static void a_static_port_is_open_from_the_start(void **state)
{
	static struct plan_port_rule r[1];
	unsigned port = free_port();
	char byte;
	int fd;

	(void)state;
	r[0] = (struct plan_port_rule){ .proto = PLAN_ANY, .is_static = true, .guest_ip = "127.0.0.1", .host_ip = "127.0.0.1",
					.guest_first = 80, .guest_last = 80, .host_first = (uint16_t)port };
	plan.rule = r;
	start();
	p.mode = PEER_REFUSE;
	fd = connect_port(4, port);
	assert_true(fd >= 0);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_open.port, 80);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	/* The guest listens, and no more: the host's side stays one and the same. */
	for (int i = 0; i < 100; i++) {
		say_port(4, 80, true, false);
		peer_run(&p, peer_rounds);
		say_port(4, 80, false, false);
		peer_run(&p, peer_rounds);
	}
	assert_true(accepts(4, port));
	assert_null(strstr(strstr(events(), "\"type\":\"forwarding\"") + 1, "\"type\":\"forwarding\""));
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_false(accepts(4, port));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_reverse_socket_leads_to_the_host, begin_paths, end),
		cmocka_unit_test_setup_teardown(a_guest_gets_nothing_but_reverse_sockets_of_the_plan, begin_paths, end),
		cmocka_unit_test_setup_teardown(one_reverse_socket_takes_not_all_descriptors, begin_paths, end),
		cmocka_unit_test_setup_teardown(a_port_leads_to_a_socket_and_heals, begin_paths, end),
		cmocka_unit_test_setup_teardown(a_socket_leads_to_a_port_with_its_own_rights, begin_paths, end),
		cmocka_unit_test_setup_teardown(a_group_that_is_not_there_is_said, begin_paths, end),
		cmocka_unit_test_setup_teardown(a_static_port_is_open_from_the_start, begin_paths, end),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
