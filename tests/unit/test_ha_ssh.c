/* The port that leads to the guest's SSH server, and the file of what that is known by. */
#include "tests/unit/ha_stub.h"

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB"

static void say_keys(size_t count, const char *key)
{
	static struct ap_host_keys v;
	static uint8_t out[MUX_MESSAGE_MAX];

	v.count = count;
	snprintf(v.key[0], sizeof(v.key[0]), "%s", key);
	say(AP_MSG_HOST_KEYS, out, ap_host_keys_pack(&v, out, sizeof(out)));
	peer_run(&p, peer_rounds);
}

static const char *known_hosts(ino_t *ino)
{
	static char text[4096];
	char path[80];
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/known_hosts", dir);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	if (ino)
		*ino = st.st_ino;
	close(fd);
	return text;
}

static void it_leads_to_the_guests_port_22(void **state)
{
	unsigned port = free_port();

	(void)state;
	plan.ssh_port = (uint16_t)port;
	start();
	assert_true(accepts(4, port));
	assert_false(accepts(6, port));
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_open.kind, AP_OPEN_TCP);
	assert_int_equal(p.last_open.port, 22);
	assert_memory_equal(p.last_open.addr, "\x7f\0\0\1", 4);
	expect("GET", "/v1/status", "", "200", "\"hostKeys\":0}");
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_false(accepts(4, port));
}

static void keys_become_lines_of_the_instances_name(void **state)
{
	ino_t first, second;

	(void)state;
	plan.ssh_port = (uint16_t)free_port();
	start();
	assert_null(known_hosts(NULL));
	say_keys(1, KEY);
	assert_string_equal(known_hosts(&first), "lima-t " KEY "\n");
	say_keys(1, KEY);
	known_hosts(&second);
	assert_int_equal(first, second); /* not written for nothing */
	expect("GET", "/v1/status", "", "200", "\"hostKeys\":1}");
	say_keys(0, "");
	assert_string_equal(known_hosts(NULL), "");
	say_keys(1, KEY "2");
	expect("POST", "/v1/stop", "", "200", "stopped");
	assert_string_equal(known_hosts(NULL), "lima-t " KEY "2\n"); /* for who listens there next */
}

static void who_tells_keys_all_the_time_has_few_written(void **state)
{
	ino_t before = 0, now;
	unsigned written = 0;
	char key[80];
	int64_t began = clock_ms();

	(void)state;
	plan.ssh_port = (uint16_t)free_port();
	start();
	for (int i = 0; i < 60; i++) {
		snprintf(key, sizeof(key), KEY "%02d", i);
		say_keys(1, key);
		known_hosts(&now);
		written += now != before;
		before = now;
	}
	assert_true(written <= 4 * ((clock_ms() - began) / 1000 + 2));
	/* The last word is written all the same. */
	while (strcmp(known_hosts(NULL), "lima-t " KEY "59\n"))
		peer_run(&p, peer_rounds);
}

static void a_line_that_is_no_key_is_refused(void **state)
{
	static const char *const bad[] = { "ssh-rsa AAAA\n* ssh-rsa AAAA", "@cert-authority * ssh-rsa AAAA" };

	(void)state;
	plan.ssh_port = (uint16_t)free_port();
	start();
	say_keys(1, KEY);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t out[200] = { 1, 0, (uint8_t)strlen(bad[i]) };

		memcpy(out + 4, bad[i], strlen(bad[i]));
		say(AP_MSG_HOST_KEYS, out, (ssize_t)(4 + strlen(bad[i])));
		for (int k = 0; k < 3; k++)
			peer_run(&p, peer_rounds);
		assert_string_equal(known_hosts(NULL), "lima-t " KEY "\n");
	}
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(it_leads_to_the_guests_port_22),
		T(keys_become_lines_of_the_instances_name),
		T(who_tells_keys_all_the_time_has_few_written),
		T(a_line_that_is_no_key_is_refused),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
