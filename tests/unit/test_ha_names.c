/* The host asks the host agent for names of containers; the guest's Docker is the test. */
#include "tests/unit/ha_stub.h"

#include "lib/dns.h"

#define OK "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"

static const char *docker; /* what it answers with from now on; NULL: nothing */
static struct mux_stream *held;
static int asked;
static int asker = -1;

static void reply(struct mux_stream *s, const char *text)
{
	mux_write(s, text, strlen(text));
	mux_finish(s);
}

static void on_request(struct peer *peer, struct mux_stream *s)
{
	const uint8_t *bytes;
	size_t n;

	(void)peer;
	bytes = mux_peek(s, &n);
	if (n > 10 && !memcmp(bytes, "GET /_ping", 10)) {
		reply(s, "HTTP/1.0 200 OK\r\n\r\nOK");
		return;
	}
	assert_true(n > 20 && !memcmp(bytes, "GET /containers/json ", 21));
	asked++;
	held = s;
	if (docker)
		reply(s, docker);
}

static void begin_names(const char *says)
{
	static char host[60];
	static struct plan_socket sock = { .host_path = host, .guest_path = "/var/run/docker.sock" };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	snprintf(host, sizeof(host), "%s/sock/docker.sock", dir);
	plan.socket = &sock;
	plan.sockets = 1;
	plan.dns_port = (uint16_t)free_port();
	docker = says;
	asked = 0;
	to.sin_port = htons(plan.dns_port);
	asker = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(connect(asker, (struct sockaddr *)&to, sizeof(to)), 0);
}

static void guest_with_docker(struct peer *peer)
{
	peer->mode = PEER_RUN;
	peer->run = on_request;
	guest_is_booted(peer);
}

static void start_names(const char *says)
{
	begin_names(says);
	assert_int_equal(start_with(guest_with_docker), 0);
	peer_run(&p, is_running);
}

static int end_names(void **state)
{
	close(asker);
	plan.dns_port = 0;
	return end(state);
}

static void send_question(const char *name, unsigned type)
{
	uint8_t m[DNS_UDP_MIN] = { 0, (uint8_t)name[0], 1, 0, 0, 1 };
	size_t n = DNS_HEADER + dns_name_pack(name, m + DNS_HEADER);

	memcpy(m + n, (uint8_t[]){ 0, (uint8_t)type, 0, DNS_IN }, 4);
	assert_int_equal(send(asker, m, n + 4, 0), n + 4);
}

static bool has_answer(struct peer *peer)
{
	struct pollfd f = { .fd = asker, .events = POLLIN };

	(void)peer;
	return poll(&f, 1, 0) == 1;
}

/* "0 127.0.0.1": the code, and each address. */
static const char *read_reply(const char *name)
{
	static char text[400];
	uint8_t m[DNS_UDP_MIN], wire[DNS_NAME_MAX];
	size_t at = DNS_HEADER + dns_name_pack(name, wire) + 4, len, out;
	ssize_t n;

	peer_run(&p, has_answer);
	n = recv(asker, m, sizeof(m), 0);
	assert_true(n >= (ssize_t)at && m[1] == (uint8_t)name[0] && m[2] >> 7 == 1);
	out = (size_t)snprintf(text, sizeof(text), "%d", m[3] & 15);
	for (int i = 0; i < m[7]; i++, at += 12 + len) {
		len = m[at + 11];
		assert_true(at + 12 + len <= (size_t)n && (len == 4 || len == 16));
		text[out++] = ' ';
		assert_non_null(inet_ntop(len == 4 ? AF_INET : AF_INET6, m + at + 12, text + out, 50));
		out += strlen(text + out);
	}
	assert_int_equal(at, n);
	return text;
}

static void expect_name(const char *name, unsigned type, const char *answer)
{
	const char *got;

	send_question(name, type);
	got = read_reply(name);
	if (strcmp(got, answer))
		fail_msg("%s: \"%s\" instead of \"%s\"", name, got, answer);
}

static void containers_have_names(void **state)
{
	(void)state;
	start_names(OK "[{\"Names\":[\"/web\"],\"Ports\":[]},{\"Names\":[\"/db\"]}]");
	assert_int_equal(asked, 0);
	expect_name("web.t.local", DNS_A, "0 127.0.0.1");
	expect_name("WEB.T.Local", DNS_AAAA, "0");
	expect_name("db.t.local", DNS_MX, "0");
	assert_int_equal(asked, 1);
	expect_name("new.t.local", DNS_A, "3");
	assert_int_equal(asked, 2);
	docker = OK "[{\"Names\":[\"/new\"]}]";
	expect_name("new.t.local", DNS_A, "0 127.0.0.1");
	expect_name("t.local", DNS_A, "0 127.0.0.1");
	expect_name("t.local", DNS_AAAA, "0");
	expect_name("web.u.local", DNS_A, "5");
	expect_name("example.com", DNS_A, "5");
	assert_int_equal(asked, 3);
	expect("GET", "/v1/info", "", "200", "\"dnsLocalPort\":");
	expect("GET", "/v1/status", "", "200", "\"names\":{\"domain\":\"t.local\",\"address\":\"127.0.0.1:");
}

/* Not a name of this server's is asked, and it goes on. */
static void noise(void **state)
{
	static const uint8_t answer[DNS_HEADER] = { 0, 'n', 0x80 }, broken[DNS_HEADER] = { 0, '.', 1, 0, 0, 1 };

	(void)state;
	start_names(OK "[]");
	assert_int_equal(send(asker, "x", 1, 0), 1);
	assert_int_equal(send(asker, answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(send(asker, broken, sizeof(broken), 0), sizeof(broken));
	peer_run(&p, has_answer);
	assert_int_equal(recv(asker, (uint8_t[DNS_HEADER]){ 0 }, DNS_HEADER, 0), DNS_HEADER);
	expect_name("t.local", DNS_A, "0 127.0.0.1");
}

static void where_its_ports_are_published(void **state)
{
	static char answer[300];
	unsigned port = free_port();

	(void)state;
	snprintf(answer, sizeof(answer), OK "[{\"Names\":[\"/web\"],\"Ports\":[{\"PublicPort\":%u},{\"PublicPort\":%u}]}]", port, port);
	start_names(answer);
	say_port(4, port, true, true);
	peer_run(&p, peer_rounds);
	expect_name("web.t.local", DNS_A, "0 127.0.0.1");
	expect_name("web.t.local", DNS_AAAA, "0");
	say_port(6, port, true, false);
	peer_run(&p, peer_rounds);
	expect_name("web.t.local", DNS_A, "0 127.0.0.1");
	expect_name("web.t.local", DNS_AAAA, "0 ::1");
}

static void the_address_of_the_rule(void **state)
{
	static struct plan_port_rule rule;
	static char answer[200];
	unsigned port = free_port();

	(void)state;
	rule = all_ports;
	rule.host_ip = "127.0.0.3";
	plan.rule = &rule;
	snprintf(answer, sizeof(answer), OK "[{\"Names\":[\"/web\"],\"Ports\":[{\"PublicPort\":%u}]}]", port);
	start_names(answer);
	say_port(4, port, true, true);
	peer_run(&p, peer_rounds);
	expect_name("web.t.local", DNS_A, "0 127.0.0.3");
	plan.rule = &all_ports;
}

/* A list that was asked for before the question says nothing about a container that is not in it. */
static void a_question_while_another_waits(void **state)
{
	(void)state;
	start_names(NULL);
	send_question("a.t.local", DNS_A);
	while (!asked)
		peer_run(&p, peer_rounds);
	send_question("b.t.local", DNS_A);
	peer_run(&p, peer_rounds);
	assert_int_equal(asked, 1);
	docker = OK "[{\"Names\":[\"/b\"]}]";
	reply(held, OK "[]");
	assert_string_equal(read_reply("a.t.local"), "3");
	assert_string_equal(read_reply("b.t.local"), "0 127.0.0.1");
	assert_int_equal(asked, 2);
}

static void a_docker_that_does_not_say(void **state)
{
	static const char *const bad[] = { "HTTP/1.0 500 Oh\r\n\r\n[]", OK "{}", OK "[", "", "HTTP/1.0 200 OK\r\n" };

	(void)state;
	start_names(NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		docker = bad[i];
		expect_name("a.t.local", DNS_A, "2");
	}
	docker = NULL; /* for two seconds */
	expect_name("a.t.local", DNS_A, "2");
	p.mode = PEER_REFUSE;
	expect_name("a.t.local", DNS_A, "2");
	p.mode = PEER_RUN;
	docker = OK "[{\"Names\":[\"/a\"]}]";
	expect_name("a.t.local", DNS_A, "0 127.0.0.1");
	/* What is known is better than nothing. */
	docker = NULL;
	send_question("b.t.local", DNS_A);
	expect_name("a.t.local", DNS_A, "0 127.0.0.1");
	assert_string_equal(read_reply("b.t.local"), "2");
}

static void a_machine_that_sleeps_is_not_asked(void **state)
{
	(void)state;
	start_names(OK "[{\"Names\":[\"/a\"]}]");
	expect("POST", "/v1/pause", "", "200", "paused");
	expect_name("a.t.local", DNS_A, "2"); /* nothing was ever asked */
	expect("POST", "/v1/resume", "", "200", "running");
	expect_name("a.t.local", DNS_A, "0 127.0.0.1");
	expect("POST", "/v1/pause", "", "200", "paused");
	expect_name("a.t.local", DNS_A, "0 127.0.0.1");
	expect_name("b.t.local", DNS_A, "3");
	assert_int_equal(asked, 1);
}

static void the_port_of_another(void **state)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	auto_close int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)state;
	begin_names(OK "[]");
	here.sin_port = htons(plan.dns_port);
	assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(start_with(guest_with_docker), 0);
	peer_run(&p, is_running);
	expect("GET", "/v1/status", "", "200", "\"degraded\":false");
	expect("GET", "/v1/status", "", "200", "\"error\":\"Address already in use\"}");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end_names)
	const struct CMUnitTest tests[] = {
		T(containers_have_names),
		T(noise),
		T(where_its_ports_are_published),
		T(the_address_of_the_rule),
		T(a_question_while_another_waits),
		T(a_docker_that_does_not_say),
		T(a_machine_that_sleeps_is_not_asked),
		T(the_port_of_another),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
