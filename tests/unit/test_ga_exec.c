/* Commands through the guest agent: exit codes, signals, streams. */
#include "tests/unit/ga_client.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/shell_line.h"

static int status_of(const char *script)
{
	struct client c;
	int status;

	run_sh(&c, script);
	status = finish(&c);
	done(&c);
	return status;
}

/* --- tests --- */

static void exit_codes(void **state)
{
	(void)state;
	assert_int_equal(status_of("true"), 0);
	assert_int_equal(status_of("exit 7"), 7);
	assert_int_equal(status_of("exit 255"), 255);
	assert_int_equal(status_of("kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(status_of("kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(status_of("no-such-program-here 2>/dev/null"), 127);
}

/* The agent may have more descriptors open than a command may have; what it forks has them too until it is the command. */
static void a_command_while_a_thousand_are_connected(void **state)
{
	enum { PEERS = 1024 };
	static struct peer peer[PEERS];
	struct ap_open to = { .kind = AP_OPEN_UNIX };
	struct client c;
	char shell[100];
	struct err e;
	int listener;

	(void)state;
	snprintf(to.path, sizeof(to.path), "%s/many", host.dir);
	listener = sock_listen_unix(to.path, 0600, &e);
	assert_true(listener >= 0);
	for (int i = 0; i < PEERS; i++)
		peer_open(&host, &peer[i], &to);
	host_file(&host, "path", "/of/setup:/usr/bin:/bin\n", 0600);
	host_file(&host, "shell", "#!/bin/sh\necho \"$PATH\"\n", 0700);
	snprintf(shell, sizeof(shell), "%s/shell", host.dir);
	run(&c, &(struct ep_start){ .term = "", .workdir = "", .shell = shell, .argc = 1, .argv = { "any" } });
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "/of/setup:/usr/bin:/bin\n"); /* a file could be read */
	done(&c);
	for (int i = 0; i < PEERS; i++)
		mux_reset(peer[i].s, MUX_RESET_ABORT); /* none was refused */
	close(listener);
}

static int begin_emulated(void **state)
{
	(void)state;
	host_begin_with(&host, "emulated=true\nuser.name=root\nuser.home=/\nuser.shell=/bin/sh\n");
	return 0;
}

/* Emulated or not: what reads what strangers sent is run by commands, too. */
static void addresses_are_random(void **state)
{
	static const char ask[] = "exec cat /proc/self/personality";
	struct client c;

	(void)state;
	run_sh(&c, ask);
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "00000000\n");
	done(&c);
	run(&c, &(struct ep_start){ .term = "", .workdir = "", .shell = "" });
	send_record(&c, EP_STDIN, ask, sizeof(ask) - 1);
	send_record(&c, EP_STDIN_END, NULL, 0);
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "00000000\n");
	done(&c);
}

static void output_of_both_kinds(void **state)
{
	struct client c;

	(void)state;
	run_sh(&c, "echo out; echo err >&2");
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "out\n");
	assert_string_equal(c.err.data, "err\n");
	done(&c);
}

static void environment_of_a_login(void **state)
{
	struct client c;

	(void)state;
	run(&c, &(struct ep_start){ .term = "", .workdir = "/tmp", .shell = "", .argc = 3, .envc = 1,
				    .argv = { "sh", "-c",
					      "echo \"$HOME|$USER|$LOGNAME|$SHELL|$FROM_SETTINGS|$FROM_CLIENT|\""
					      "\"$LANG|$PWD\"" },
				    .env = { "FROM_CLIENT=x=y" } });
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "/|root|root|/bin/sh|a b|x=y||/tmp\n");
	done(&c);
	run(&c, &(struct ep_start){ .term = "", .workdir = "/no/such/folder", .shell = "", .argc = 1,
				    .argv = { "pwd" } });
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "/\n");
	done(&c);
}

/* A login has XDG_RUNTIME_DIR where there is such a folder and it is the user's. */
static void runtime_folder_of_a_login(void **state)
{
	char path[40], want[48];
	struct client c;
	bool made;

	(void)state;
	snprintf(path, sizeof(path), "/run/user/%u", (unsigned)getuid());
	made = mkdir(path, 0700) == 0;
	snprintf(want, sizeof(want), "%s\n", access(path, F_OK) == 0 ? path : "");
	run_sh(&c, "echo $XDG_RUNTIME_DIR");
	assert_int_equal(finish(&c), 0);
	if (made)
		rmdir(path);
	assert_string_equal(c.out.data, want);
	done(&c);
}

static void words_arrive_byte_for_byte(void **state)
{
	struct client c;
	struct ep_start s = { .term = "", .workdir = "", .shell = "", .argc = 9,
			      .argv = { "printf", "<%s>", "", "a b", "it's", "$HOME `id`", "\"\\\n\t", "*",
					"\xff\x01!#~" } };

	(void)state;
	run(&c, &s);
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "<><a b><it's><$HOME `id`><\"\\\n\t><*><\xff\x01!#~>");
	done(&c);
	/* a leading assignment is one, as with limactl */
	s = (struct ep_start){ .term = "", .workdir = "", .shell = "", .argc = 5,
			       .argv = { "A=1 2", "B=", "sh", "-c", "echo \"$A$B.\"" } };
	run(&c, &s);
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "1 2.\n");
	done(&c);
}

static void line_of_words(void **state)
{
	const char *const words[] = { "A=x y", "B=", "cmd", "C=1 2", "" };
	auto_buf line = BUF_INIT(100);

	(void)state;
	assert_int_equal(shell_line(&line, words, 5), 0);
	assert_string_equal(line.data, "A='x y' B= cmd 'C=1 2' ''");
	line.max = line.len;
	assert_int_equal(shell_line(&line, words, 5), -1);
}

static void a_login_shell_reads_its_standard_input(void **state)
{
	static const char script[] = "echo \"$0\"; exit 3\n";
	struct client c;

	(void)state;
	run(&c, &(struct ep_start){ .term = "", .workdir = "", .shell = "" });
	send_record(&c, EP_STDIN, script, sizeof(script) - 1);
	assert_int_equal(finish(&c), 3);
	assert_string_equal(c.out.data, "-sh\n");
	done(&c);
}

static void standard_input_ends(void **state)
{
	struct client c;

	(void)state;
	run_sh(&c, "cat; echo end");
	send_record(&c, EP_STDIN, "ab", 2);
	host_until(&host, has(&c, "ab"));
	assert_int_equal(c.status, -1);
	send_record(&c, EP_STDIN_END, "", 0);
	assert_int_equal(finish(&c), 0);
	assert_string_equal(c.out.data, "abend\n");
	done(&c);
}

static void input_nobody_reads_is_dropped(void **state)
{
	static char much[512 * 1024];
	struct client c;

	(void)state;
	run_sh(&c, "exec <&-; echo closed; read x </dev/null; sleep 0.3; exit 4");
	host_until(&host, has(&c, "closed"));
	for (size_t at = 0; at < sizeof(much) && c.peer.s && !c.peer.end; at += 16384)
		send_record(&c, EP_STDIN, much + at, 16384);
	assert_int_equal(finish(&c), 4);
	done(&c);
}

static void signals_reach_the_group(void **state)
{
	struct client c;

	(void)state;
	run_sh(&c, "trap 'echo got; exit 9' INT; echo ready; while :; do sleep 0.1; done");
	host_until(&host, has(&c, "ready"));
	send_record(&c, EP_SIGNAL, "\2", 1);
	assert_int_equal(finish(&c), 9);
	assert_string_equal(c.out.data, "ready\ngot\n");
	done(&c);
	run_sh(&c, "echo ready; exec sleep 100");
	host_until(&host, has(&c, "ready"));
	send_record(&c, EP_SIGNAL, "\17", 1);
	assert_int_equal(finish(&c), 128 + SIGTERM);
	done(&c);
}

static void a_client_that_goes_hangs_up(void **state)
{
	struct client c;
	pid_t pid;

	(void)state;
	run_sh(&c, "echo $$; exec sleep 100");
	pid = pid_of(&c);
	mux_reset(c.peer.s, MUX_RESET_ABORT);
	host_until(&host, gone(pid));
	done(&c);

	run_sh(&c, "echo $$; exec sleep 100");
	pid = pid_of(&c);
	mux_finish(c.peer.s);
	assert_int_equal(finish(&c), 128 + SIGHUP);
	assert_true(gone(pid));
	done(&c);

	/* one that will not hear it is killed after the grace */
	run_sh(&c, "trap '' HUP; echo $$; while :; do sleep 0.1; done");
	pid = pid_of(&c);
	mux_reset(c.peer.s, MUX_RESET_ABORT);
	host_for(&host, 1000);
	assert_false(gone(pid));
	host_until(&host, gone(pid));
	done(&c);
}

static void a_background_process_does_not_hold_the_end(void **state)
{
	struct client c;
	uint64_t start = host_now();

	(void)state;
	run_sh(&c, "echo before; sleep 30 & echo $!");
	assert_int_equal(finish(&c), 0);
	assert_true(host_now() - start < 5000);
	assert_memory_equal(c.out.data, "before\n", 7);
	kill((pid_t)atoi(c.out.data + 7), SIGKILL);
	done(&c);
}

static void all_output_comes_before_the_end(void **state)
{
	struct client c;

	(void)state;
	/* more than window and pipe hold, written before an exit that is at once */
	run_sh(&c, "head -c 3000000 /dev/zero; exit 5");
	c.peer.hold = true;
	host_for(&host, 300);
	c.peer.hold = false;
	peer_take(&c.peer);
	assert_int_equal(finish(&c), 5);
	assert_int_equal(c.out.len, 3000000);
	done(&c);
}

static void sixty_four_mib_through_cat(void **state)
{
	enum { BYTES = 64 << 20, RECORD = 32000 };
	uint8_t *data = malloc(BYTES);
	struct client c;
	uint32_t seed = 7;
	uint64_t start = host_now();

	(void)state;
	for (size_t i = 0; i < BYTES; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (uint8_t)(seed >> 24);
	}
	run(&c, &(struct ep_start){ .term = "", .workdir = "", .shell = "", .argc = 1, .argv = { "cat" } });
	for (size_t at = 0; at < BYTES; at += RECORD)
		send_record(&c, EP_STDIN, data + at, BYTES - at < RECORD ? BYTES - at : RECORD);
	send_record(&c, EP_STDIN_END, "", 0);
	assert_int_equal(finish(&c), 0);
	assert_int_equal(c.out.len, BYTES);
	assert_memory_equal(c.out.data, data, BYTES);
	print_message("64 MiB there and back in %u ms\n", (unsigned)(host_now() - start));
	free(data);
	done(&c);
}

static void a_hundred_at_once(void **state)
{
	enum { MANY = 100 };
	static struct client c[MANY];
	char text[20];

	(void)state;
	for (int i = 0; i < MANY; i++)
		run_sh(&c[i], "read n; echo $n; exit $n");
	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "%d\n", i);
		send_record(&c[i], EP_STDIN, text, strlen(text));
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(finish(&c[i]), i);
		assert_int_equal(atoi(c[i].out.data), i);
		done(&c[i]);
	}
	assert_int_equal(mux_count(host.mux), 0);
}

static void what_cannot_start_says_why(void **state)
{
	struct client c;

	(void)state;
	run(&c, &(struct ep_start){ .term = "", .workdir = "", .shell = "/bin/nosuch", .argc = 1,
				    .argv = { "true" } });
	finish(&c);
	assert_string_equal(c.failed, "the guest has no shell \"/bin/nosuch\"");
	done(&c);
}

static void nonsense_resets_the_stream(void **state)
{
	static const struct {
		enum ep_type type;
		const char *bytes;
		size_t n;
	} bad[] = {
		{ EP_STDIN, "early", 5 },
		{ EP_SIGNAL, "\2", 1 },
		{ EP_START, "x", 1 },
		{ EP_STDOUT, "x", 1 },
		{ EP_WINDOW, "too long for a window record", 28 },
	};
	struct client c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ap_open o = { .kind = AP_OPEN_EXEC };

		memset(&c, 0, sizeof(c));
		peer_open(&host, &c.peer, &o);
		send_record(&c, bad[i].type, bad[i].bytes, bad[i].n);
		host_until(&host, c.peer.reset);
		assert_int_equal(c.peer.code, MUX_RESET_PROTOCOL);
	}
	run_sh(&c, "echo ready; sleep 100");
	host_until(&host, has(&c, "ready"));
	peer_write(&c.peer, "\xff\xff\xff\xff", 4);
	host_until(&host, c.peer.reset);
	assert_int_equal(c.peer.code, MUX_RESET_PROTOCOL);
	done(&c);
}

/* The usual limit, whatever this shell has. */
static int begin(void **state)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = 1024;
	setrlimit(RLIMIT_NOFILE, &files);
	return client_begin(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(output_of_both_kinds),
		cmocka_unit_test(environment_of_a_login),
		cmocka_unit_test(runtime_folder_of_a_login),
		cmocka_unit_test(words_arrive_byte_for_byte),
		cmocka_unit_test(line_of_words),
		cmocka_unit_test(a_login_shell_reads_its_standard_input),
		cmocka_unit_test(standard_input_ends),
		cmocka_unit_test(input_nobody_reads_is_dropped),
		cmocka_unit_test(signals_reach_the_group),
		cmocka_unit_test(a_client_that_goes_hangs_up),
		cmocka_unit_test(a_background_process_does_not_hold_the_end),
		cmocka_unit_test(all_output_comes_before_the_end),
		cmocka_unit_test(sixty_four_mib_through_cat),
		cmocka_unit_test(a_hundred_at_once),
		cmocka_unit_test(what_cannot_start_says_why),
		cmocka_unit_test(nonsense_resets_the_stream),
		cmocka_unit_test(addresses_are_random),
		cmocka_unit_test(a_command_while_a_thousand_are_connected),
	};
	const struct CMUnitTest emulated[] = {
		cmocka_unit_test(addresses_are_random),
	};

	return cmocka_run_group_tests(tests, begin, client_end) + cmocka_run_group_tests(emulated, begin_emulated, client_end);
}
