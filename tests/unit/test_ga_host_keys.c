/* The keys by which the guest's SSH server is known: which of them are told, and when. */
#include "tests/unit/ga_host.h"

#include <sys/stat.h>

static struct host host;

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB"
#define NAME "ssh/ssh_host_ed25519_key.pub"

static int begin(void **state)
{
	char path[200], text[300];

	(void)state;
	host_begin(&host);
	snprintf(path, sizeof(path), "%s/ssh", host.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(text, sizeof(text), "user.name=root\nssh.folder=%s\n", path);
	host_file(&host, "settings", text, 0600);
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

/* A stream to the server, which nobody serves here: its end is heard after what was told before. */
static void connect_to(uint16_t port)
{
	struct peer peer;

	peer_open(&host, &peer, &(struct ap_open){ .kind = AP_OPEN_TCP, .family = 4, .addr = { 127, 255, 0, 9 }, .port = port });
	host_until(&host, !peer.s);
}

static void they_are_told_at_first_and_before_a_connection_to_the_server(void **state)
{
	(void)state;
	host_file(&host, NAME, KEY " root@guest\n", 0644);
	host_start_agent(&host);
	host_until(&host, host.key_messages);
	assert_int_equal(host.keys.count, 1);
	assert_string_equal(host.keys.key[0], KEY);
	connect_to(22);
	assert_int_equal(host.key_messages, 1); /* nothing new */
	host_file(&host, "ssh/ssh_host_rsa_key.pub", "ssh-rsa AAAAB3Nz+/=", 0644);
	connect_to(23);
	assert_int_equal(host.key_messages, 1);
	connect_to(22);
	assert_int_equal(host.key_messages, 2);
	assert_int_equal(host.keys.count, 2);
	assert_string_equal(host.keys.key[1], "ssh-rsa AAAAB3Nz+/=");
}

static void what_is_no_key_is_left_out(void **state)
{
	static char large[AP_HOST_KEY_MAX + 20];

	(void)state;
	memset(large, 'A', sizeof(large) - 1);
	memcpy(large, "ssh-rsa ", 8);
	host_file(&host, "ssh/ssh_host_a_key.pub", "", 0644);
	host_file(&host, "ssh/ssh_host_b_key.pub", "@cert-authority AAAA\n", 0644);
	host_file(&host, "ssh/ssh_host_c_key.pub", "ssh-rsa\nAAAA\n", 0644);
	host_file(&host, "ssh/ssh_host_d_key.pub", large, 0644);
	host_file(&host, "ssh/ssh_host_e_key", KEY, 0600);
	host_file(&host, "ssh/other.pub", KEY, 0600);
	host_file(&host, NAME, KEY, 0644);
	host_start_agent(&host);
	host_until(&host, host.key_messages);
	assert_int_equal(host.keys.count, 1);
	assert_string_equal(host.keys.key[0], KEY);
	for (int i = 0; i < AP_HOST_KEYS_MAX; i++) {
		char name[60];

		snprintf(name, sizeof(name), "ssh/ssh_host_f%d_key.pub", i);
		host_file(&host, name, KEY, 0644);
	}
	connect_to(22);
	assert_int_equal(host.keys.count, AP_HOST_KEYS_MAX);
}

static void an_agent_started_anew_tells_them_again(void **state)
{
	(void)state;
	host_start_agent(&host);
	host_until(&host, host.key_messages);
	assert_int_equal(host.keys.count, 0); /* that there are none, too */
	host_stop_agent(&host, SIGKILL);
	host_file(&host, NAME, KEY, 0644);
	host_start_agent(&host);
	host_until(&host, host.key_messages == 2);
	assert_int_equal(host.keys.count, 1);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(they_are_told_at_first_and_before_a_connection_to_the_server),
		T(what_is_no_key_is_left_out),
		T(an_agent_started_anew_tells_them_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
