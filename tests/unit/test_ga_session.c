/* What the guest agent tells by itself: description, boot phase, provisioning, ports and their order, time. */
#include "tests/unit/ga_host.h"
#include "tests/unit/ga_ports.h"

#include <sys/stat.h>

#include "guestagent/script.h"
#include "guestagent/session.h"

/* --- tests --- */

static struct host host;

static int begin(void **state)
{
	(void)state;
	shared_begin();
	host_begin(&host);
	host_file(&host, "settings", "", 0600);
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

static void it_describes_itself(void **state)
{
	(void)state;
	host_file(&host, "boot-id", "00000000000000ff\n", 0600);
	host_file(&host, "setup.warnings", "no second disk\nmore\n", 0600);
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE && host.port_messages == 1);
	assert_int_equal(host.info.pid, host.agent);
	assert_int_equal(host.info.boot_id, 0xff);
	assert_string_equal(host.info.version, VERSION);
	assert_string_equal(host.info.port_events, "fake");
	assert_true(*host.info.hostname && *host.info.kernel);
	assert_true(host.ports.snapshot);
	assert_string_equal(host.boot.detail, "no second disk");
}

static void a_new_agent_says_all_of_it_again(void **state)
{
	(void)state;
	shared->port = 80;
	host_start_agent(&host);
	for (int i = 0; i < 10; i++) {
		host_until(&host, host.boot.phase == AP_BOOT_DONE);
		host_stop_agent(&host, i & 1 ? SIGKILL : SIGTERM);
		memset(&host.boot, 0, sizeof(host.boot));
		memset(&host.ports, 0, sizeof(host.ports));
		host_start_agent(&host);
		host_until(&host, host.boot.phase == AP_BOOT_DONE && host.ports.snapshot);
		assert_int_equal(host.info.pid, host.agent);
	}
}

/* What the host was told last of this trouble: "" when it is over, NULL when it never heard of it. */
static const char *trouble(const char *what)
{
	for (size_t i = 0; i < HOST_TROUBLES; i++)
		if (strcmp(host.trouble[i].what, what) == 0)
			return host.trouble[i].why;
	return NULL;
}

static bool trouble_is(const char *what, const char *why)
{
	return trouble(what) && strcmp(trouble(what), why) == 0;
}

static void troubles_are_told_as_they_come_and_go(void **state)
{
	static const char *const younger[] = { "b", "a", "d", "c", "f", "e", NULL };
	char path[200], name[20];

	(void)state;
	snprintf(path, sizeof(path), "%s/trouble", host.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	host_file(&host, "trouble/engine disk", "cannot mount\nmore\n", 0600);
	host_file(&host, "trouble/half.lima~", "is being written\n", 0600);
	host_file(&host, "trouble/empty", "", 0600);
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	assert_true(trouble_is("engine disk", "cannot mount")); /* before that */
	assert_null(trouble("half.lima~"));
	assert_null(trouble("empty"));
	host_file(&host, "trouble/dockerd", "ended too soon, 3 times\n", 0600);
	host_until(&host, trouble_is("dockerd", "ended too soon, 3 times"));
	host_file(&host, "trouble/dockerd", "ended too soon, 4 times\n", 0600);
	host_until(&host, trouble_is("dockerd", "ended too soon, 4 times"));
	snprintf(path, sizeof(path), "%s/trouble/dockerd", host.dir);
	assert_int_equal(unlink(path), 0);
	host_until(&host, trouble_is("dockerd", ""));
	/* An agent started anew tells what there is, the oldest first. */
	for (int i = 0; younger[i]; i++) {
		snprintf(name, sizeof(name), "trouble/%s", younger[i]);
		host_file(&host, name, "younger\n", 0600);
		host_until(&host, trouble_is(younger[i], "younger"));
	}
	host_stop_agent(&host, SIGKILL);
	memset(host.trouble, 0, sizeof(host.trouble));
	memset(&host.boot, 0, sizeof(host.boot));
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	assert_string_equal(host.trouble[0].what, "engine disk");
	for (int i = 0; younger[i]; i++)
		assert_string_equal(host.trouble[i + 1].what, younger[i]);
	assert_true(trouble_is("engine disk", "cannot mount"));
	assert_null(trouble("dockerd"));
}

static void however_many_troubles_16_are_told(void **state)
{
	char name[40];
	int told = 0;

	(void)state;
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	host_file(&host, "trouble/first", "no\n", 0600);
	host_until(&host, trouble_is("first", "no"));
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "trouble/disk %d", i);
		host_file(&host, name, "no\n", 0600);
	}
	host_file(&host, "trouble/first", "gone\n", 0600);
	host_until(&host, trouble_is("first", "gone"));
	for (size_t i = 0; i < HOST_TROUBLES; i++)
		told += host.trouble[i].what[0] != 0;
	assert_int_equal(told, 16);
}

/* Outlives its test: the agent's end is heard of after that. */
static struct peer p;

/* p becomes a stream to a server of the test; returns the server's end of it. */
static int open_stream(void)
{
	struct ap_open o = { .kind = AP_OPEN_UNIX };
	struct pollfd pfd = { .events = POLLIN };
	struct err e;
	int fd;

	snprintf(o.path, sizeof(o.path), "%s/target", host.dir);
	pfd.fd = sock_listen_unix(o.path, 0600, &e);
	assert_true(pfd.fd >= 0);
	peer_open(&host, &p, &o);
	host_until(&host, poll(&pfd, 1, 0) == 1);
	fd = accept(pfd.fd, NULL, NULL);
	close(pfd.fd);
	return fd;
}

/* design: before any byte of an answer leaves the guest, every port change before it has been sent. */
static void a_port_is_told_before_the_answer(void **state)
{
	unsigned scans;
	int fd;

	(void)state;
	host_start_agent(&host);
	fd = open_stream();
	for (uint16_t port = 1000; port < 1200; port++) {
		size_t before = p.count;

		shared->port = port;
		shared->pending = true; /* the container listens, */
		assert_int_equal(send(fd, "created", 7, 0), 7); /* then the engine answers */
		host_until(&host, p.count == before + 7);
		assert_int_equal(host.ports.change[0].port.port, port);
		assert_int_equal(host.port_bytes, before);
	}
	shared->port = 0;

	/* and nothing is looked up when nothing has changed */
	scans = shared->scans;
	for (int i = 0; i < 100; i++) {
		size_t before = p.count;

		assert_int_equal(send(fd, "log line", 8, 0), 8);
		host_until(&host, p.count == before + 8);
	}
	assert_int_equal(shared->scans, scans);

	/* the end of an answer counts as well */
	shared->port = 2000;
	shared->pending = true;
	close(fd);
	host_until(&host, p.end);
	assert_int_equal(host.ports.change[0].port.port, 2000);
}

/* The order of the bytes is the acknowledgement, so nobody waits for another. */
static void a_host_that_never_acknowledges_delays_no_answer(void **state)
{
	int fd;

	(void)state;
	host_start_agent(&host);
	fd = open_stream();
	host.silent = true;
	shared->many = AP_PORTS_MAX - 1;
	/* Far more messages than wait for a host. */
	for (uint16_t port = 1000; port < 1300; port++) {
		size_t before = p.count;

		shared->port = port;
		shared->pending = true;
		assert_int_equal(send(fd, "created", 7, 0), 7);
		host_until(&host, p.count == before + 7);
	}
	assert_int_not_equal(host.ports.change[0].port.port, 1299);
	/* Once it listens again it is told what it has missed, though nothing more happens. */
	host.silent = false;
	host.mux->control.rx_acked = 0;
	shared->many = 0;
	host_until(&host, host.ports.snapshot && host.ports.change[0].port.port == 1299);
	close(fd);
}

/* The kernel told of a port that its table does not have yet, and nothing else happens in the guest. */
static void a_port_that_shows_late_is_told(void **state)
{
	int fd;

	(void)state;
	host_start_agent(&host);
	fd = open_stream();
	shared->port = 3000;
	shared->settling = 3;
	shared->pending = true;
	assert_int_equal(send(fd, "x", 1, 0), 1);
	host_until(&host, host.ports.count == 1 && host.ports.change[0].port.port == 3000);
	shared->port = 0;
	close(fd);
}

static struct ap_provision *script(int i)
{
	return &host.script[i];
}

static bool file_has(const char *name, const char *text)
{
	auto_buf b = BUF_INIT(1 << 20);
	char path[200];
	struct err e;

	snprintf(path, sizeof(path), "%s/%s", host.dir, name);
	return io_read_file(path, &b, &e) == 0 && b.len && strstr(b.data, text);
}

static void make_scripts(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/provision", host.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	host_file(&host, "settings",
		  "env.ONE=1 x\nparam.TWO=2\nprovision.00.mode=system\nprovision.01.mode=boot\n"
		  "provision.02.mode=system\nprovision.03.mode=system\nprovision.04.mode=system\n",
		  0600);
	host_file(&host, "provision/00", "#!/bin/sh\necho \"$ONE $PARAM_TWO\" >>\"$0.out\"\n", 0600);
	host_file(&host, "provision/01", "#!/bin/sh\necho never >>\"$0.out\"\n", 0600);
	host_file(&host, "provision/02",
		  "#!/bin/sh\nfor i in $(seq 50); do echo \"line $i\"; done\necho last >&2\nexit 42\n", 0600);
	host_file(&host, "provision/03", "echo plain >>\"$0.out\"; kill -9 $$\n", 0600);
	host_file(&host, "provision/04", "#!/no/such/interpreter\n", 0600);
}

static void check_scripts(void)
{
	assert_int_equal(script(0)->state, AP_PROVISION_OK);
	assert_int_equal(script(1)->state, 0);
	assert_int_equal(script(2)->state, AP_PROVISION_FAILED);
	assert_int_equal(script(2)->status, 42);
	assert_true(strncmp(script(2)->tail, "line 32\n", 8) == 0);
	assert_non_null(strstr(script(2)->tail, "line 50\nlast\n"));
	assert_int_equal(script(3)->state, AP_PROVISION_FAILED);
	assert_int_equal(script(3)->status, -SIGKILL);
	assert_int_equal(script(4)->state, AP_PROVISION_FAILED);
	assert_int_equal(script(4)->status, 127);
	assert_non_null(strstr(script(4)->tail, "No such file"));
}

static void scripts_run_in_order_and_once(void **state)
{
	(void)state;
	make_scripts();
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	check_scripts();
	assert_true(file_has("provision/00.out", "1 x 2\n"));
	assert_true(file_has("provision/03.out", "plain\n"));

	/* an agent started anew repeats the results, not the scripts */
	host_stop_agent(&host, SIGKILL);
	memset(host.script, 0, sizeof(host.script));
	memset(&host.boot, 0, sizeof(host.boot));
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	check_scripts();
	assert_false(file_has("provision/00.out", "1 x 2\n1 x 2\n"));
}

static void scripts_outlive_the_agent(void **state)
{
	(void)state;
	make_scripts();
	host_file(&host, "provision/00",
		  "#!/bin/sh\necho run >>\"$0.out\"\nwhile [ ! -e \"${0%/*}/go\" ]; do sleep 0.05; done\n", 0600);
	host_start_agent(&host);
	host_until(&host, file_has("provision/00.out", "run"));
	for (int i = 0; i < 3; i++) {
		host_stop_agent(&host, SIGKILL);
		host_start_agent(&host);
		host_until(&host, script(0)->state == AP_PROVISION_RUNNING);
		assert_int_equal(host.boot.phase, AP_BOOT_PROVISIONING);
	}
	host_file(&host, "provision/go", "", 0600);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	check_scripts();
	assert_false(file_has("provision/00.out", "run\nrun"));
}

static void an_interrupted_script_counts_as_failed(void **state)
{
	(void)state;
	make_scripts();
	host_file(&host, "provision/00.status", "running\n", 0600);
	host_start_agent(&host);
	host_until(&host, host.boot.phase == AP_BOOT_DONE);
	assert_int_equal(script(0)->state, AP_PROVISION_FAILED);
	assert_int_equal(script(0)->status, -SIGKILL);
	assert_false(file_has("provision/00.out", "1 x 2"));
	assert_int_equal(script(2)->status, 42);
}

static void keys_of_scripts(void **state)
{
	(void)state;
	assert_int_equal(script_index("provision.00.mode"), 0);
	assert_int_equal(script_index("provision.123.mode"), 123);
	assert_int_equal(script_index("provision.0.mode"), -1);
	assert_int_equal(script_index("provision.1000.mode"), -1);
	assert_int_equal(script_index("provision.+1.mode"), -1);
	assert_int_equal(script_index("provision.00.model"), -1);
	assert_int_equal(script_index("provision.00"), -1);
}

static void nonsense_time_is_ignored_and_said_once(void **state)
{
	uint8_t body[8] = { 0 };

	(void)state;
	host_start_agent(&host);
	for (int i = 0; i < 3; i++)
		assert_int_equal(mux_send(host.mux, AP_MSG_TIME, body, 8), 0);
	host_until(&host, file_has("log", "makes no sense"));
	host_for(&host, 50);
	assert_true(host.up);
	assert_int_equal(host.ups, 1);
	host_stop_agent(&host, SIGTERM);
	assert_false(file_has("log", "ignored\nlima-guestagent: warning: the host"));
}

/* Outside a guest nothing is ours to switch off, and the host's word for it changes nothing; one that says more than it
 * may is malformed. */
static void power_off_is_for_guests_only(void **state)
{
	(void)state;
	host_start_agent(&host);
	assert_int_equal(mux_send(host.mux, AP_MSG_POWER_OFF, NULL, 0), 0);
	host_for(&host, 50);
	assert_int_equal(host.ups, 1);
	assert_int_equal(mux_send(host.mux, AP_MSG_POWER_OFF, "x", 1), 0);
	host_until(&host, host.ups > 1);
	host_stop_agent(&host, SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_describes_itself, begin, end),
		cmocka_unit_test_setup_teardown(a_new_agent_says_all_of_it_again, begin, end),
		cmocka_unit_test_setup_teardown(troubles_are_told_as_they_come_and_go, begin, end),
		cmocka_unit_test_setup_teardown(however_many_troubles_16_are_told, begin, end),
		cmocka_unit_test_setup_teardown(a_port_is_told_before_the_answer, begin, end),
		cmocka_unit_test_setup_teardown(a_host_that_never_acknowledges_delays_no_answer, begin, end),
		cmocka_unit_test_setup_teardown(a_port_that_shows_late_is_told, begin, end),
		cmocka_unit_test_setup_teardown(scripts_run_in_order_and_once, begin, end),
		cmocka_unit_test_setup_teardown(scripts_outlive_the_agent, begin, end),
		cmocka_unit_test_setup_teardown(an_interrupted_script_counts_as_failed, begin, end),
		cmocka_unit_test(keys_of_scripts),
		cmocka_unit_test_setup_teardown(power_off_is_for_guests_only, begin, end),
		cmocka_unit_test_setup_teardown(nonsense_time_is_ignored_and_said_once, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
