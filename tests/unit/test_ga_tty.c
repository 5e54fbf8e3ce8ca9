/* Commands on a terminal through the guest agent. */
#include "tests/unit/ga_client.h"

static void start_tty(struct client *c, const char *script)
{
	run(c, &(struct ep_start){ .tty = true, .rows = 30, .cols = 100, .term = "xterm", .workdir = "", .shell = "",
				   .argc = 4, .argv = { "exec", "sh", "-c", script } });
}

static void a_terminal_has_a_size_and_a_name(void **state)
{
	struct client c;

	(void)state;
	start_tty(&c, "tty; stty size; echo $TERM; trap 'stty size; exit 6' WINCH; echo ready;"
		      "while :; do sleep 0.1; done");
	host_until(&host, has(&c, "ready"));
	assert_non_null(strstr(c.out.data, "/dev/pts/"));
	assert_non_null(strstr(c.out.data, "30 100\r\n"));
	assert_non_null(strstr(c.out.data, "xterm\r\n"));
	send_record(&c, EP_WINDOW, "\x32\0\x2c\1", 4);
	assert_int_equal(finish(&c), 6);
	assert_non_null(strstr(c.out.data, "50 300\r\n"));
	assert_int_equal(c.err.len, 0);
	done(&c);
}

static void a_terminal_passes_keys(void **state)
{
	struct client c;

	(void)state;
	start_tty(&c, "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done");
	host_until(&host, has(&c, "ready"));
	send_record(&c, EP_STDIN, "\3", 1);
	assert_int_equal(finish(&c), 9);
	done(&c);
	start_tty(&c, "echo ready; cat; exit 8");
	host_until(&host, has(&c, "ready"));
	send_record(&c, EP_STDIN_END, "", 0);
	assert_int_equal(finish(&c), 8);
	done(&c);
}

static void a_terminal_hangs_up(void **state)
{
	struct client c;
	pid_t pid;

	(void)state;
	start_tty(&c, "echo $$; exec sleep 100");
	pid = pid_of(&c);
	mux_reset(c.peer.s, MUX_RESET_ABORT);
	host_until(&host, gone(pid));
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_has_a_size_and_a_name),
		cmocka_unit_test(a_terminal_passes_keys),
		cmocka_unit_test(a_terminal_hangs_up),
	};

	return cmocka_run_group_tests(tests, client_begin, client_end);
}
