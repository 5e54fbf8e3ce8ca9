/* Sockets the guest agent listens on for the host: what comes through them, whose they are, when they go. */
#include "tests/unit/ga_host.h"

#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct host host;
static char path[120];

/* --- system calls of the agent, in place of libc's --- */

static struct {
	char swap_for[120]; /* a link to this takes the socket's place when it has been made */
	volatile bool full; /* no descriptor is left */
	volatile unsigned tried, taken, in_a_row, most;
} *calls;

int bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	int rc = (int)syscall(SYS_bind, fd, sa, len);

	if (rc == 0 && calls->swap_for[0] && !strcmp(((const struct sockaddr_un *)(const void *)sa)->sun_path, path)) {
		assert_int_equal(unlink(path), 0);
		assert_int_equal(symlink(calls->swap_for, path), 0);
	}
	return rc;
}

int accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	int got;

	calls->tried++;
	if (calls->full) {
		errno = EMFILE;
		return -1;
	}
	got = (int)syscall(SYS_accept4, fd, sa, len, flags);
	if (got < 0)
		return got;
	calls->taken++;
	if (++calls->in_a_row > calls->most)
		calls->most = calls->in_a_row;
	return got;
}

int epoll_wait(int fd, struct epoll_event *ev, int count, int ms)
{
	calls->in_a_row = 0;
	return (int)syscall(SYS_epoll_pwait, fd, ev, count, ms, NULL, 8);
}

static int begin(void **state)
{
	(void)state;
	memset(calls, 0, sizeof(*calls));
	host_begin(&host);
	host_file(&host, "settings", "user.name=root\nuser.uid=1234\nuser.gid=1235\nuser.home=/\nuser.shell=/bin/sh\n", 0600);
	snprintf(path, sizeof(path), "%s/deep/er/r.sock", host.dir);
	host_start_agent(&host);
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

static void ask_for(unsigned index, const char *group, const char *at)
{
	static struct ap_reverse v;
	uint8_t body[2000];
	ssize_t n;

	memset(&v, 0, sizeof(v));
	v.count = at != NULL;
	v.socket[0] = (struct ap_reverse_socket){ .index = (uint16_t)index, .mode = 0660 };
	snprintf(v.socket[0].group, sizeof(v.socket[0].group), "%s", group);
	snprintf(v.socket[0].path, sizeof(v.socket[0].path), "%s", at ? at : "");
	n = ap_reverse_pack(&v, body, sizeof(body));
	assert_true(n > 0);
	assert_int_equal(mux_send(host.mux, AP_MSG_REVERSE, body, (size_t)n), 0);
}

static int connects(void)
{
	struct err e = { 0 };
	int fd = sock_connect_unix(path, &e);

	if (fd < 0)
		host_turn(&host, 5);
	return fd;
}

static void a_connection_is_a_stream_with_its_index(void **state)
{
	struct peer p = { 0 };
	struct stat st;
	char got[20];
	int fd = -1;

	(void)state;
	ask_for(7, "root", path);
	host.accept = &p;
	host_until(&host, (fd = connects()) >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 0);
	assert_int_equal(write(fd, "question", 8), 8);
	shutdown(fd, SHUT_WR);
	host_until(&host, p.end);
	assert_int_equal(host.accepted.kind, AP_OPEN_REVERSE);
	assert_int_equal(host.accepted.index, 7);
	assert_int_equal(p.got.len, 8);
	assert_memory_equal(p.got.data, "question", 8);
	/* The other direction is still open. */
	peer_write(&p, "answer", 6);
	mux_finish(p.s);
	host_until(&host, p.closed);
	assert_int_equal(io_read_full(fd, got, sizeof(got)), 6);
	assert_memory_equal(got, "answer", 6);
	close(fd);
	buf_free(&p.got);
}

static void a_refusal_of_the_host_ends_the_connection(void **state)
{
	char byte;
	int fd = -1;

	(void)state;
	ask_for(0, "", path);
	host_until(&host, (fd = connects()) >= 0);
	host_until(&host, recv(fd, &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN);
	close(fd);
}

static void the_next_list_replaces_it_and_the_end_removes_it(void **state)
{
	struct err e = { 0 };
	int fd = -1;

	(void)state;
	ask_for(0, "", path);
	host_until(&host, (fd = connects()) >= 0);
	close(fd);
	ask_for(0, "", NULL);
	host_until(&host, access(path, F_OK) < 0);
	ask_for(0, "", path);
	host_until(&host, (fd = connects()) >= 0);
	close(fd);
	host_stop_agent(&host, SIGTERM);
	assert_int_equal(access(path, F_OK), -1);
	/* Killed, it leaves the file; the next one takes its place. */
	host_start_agent(&host);
	ask_for(0, "", path);
	host_until(&host, (fd = connects()) >= 0);
	close(fd);
	host_stop_agent(&host, SIGKILL);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(sock_connect_unix(path, &e), -1);
	host_start_agent(&host);
	ask_for(0, "", path);
	host_until(&host, (fd = connects()) >= 0);
	close(fd);
}

static void what_is_in_the_way_is_kept_and_told(void **state)
{
	struct stat st;

	(void)state;
	host_file(&host, "precious", "text", 0600);
	snprintf(path, sizeof(path), "%s/precious", host.dir);
	ask_for(0, "", path);
	host_until(&host, host.trouble[0].why[0]);
	assert_non_null(strstr(host.trouble[0].what, "precious"));
	assert_non_null(strstr(host.trouble[0].why, "is there and is not a socket"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	memset(host.trouble, 0, sizeof(host.trouble));
	snprintf(path, sizeof(path), "%s/r.sock", host.dir);
	ask_for(0, "no-such-group", path);
	host_until(&host, host.trouble[0].why[0]);
	assert_non_null(strstr(host.trouble[0].why, "there is no group \"no-such-group\" in the guest"));
	assert_int_equal(access(path, F_OK), -1);
}

static void a_link_in_its_place_leads_to_no_other_file(void **state)
{
	struct stat st;

	(void)state;
	host_file(&host, "victim", "text", 0604);
	snprintf(calls->swap_for, sizeof(calls->swap_for), "%s/victim", host.dir);
	ask_for(0, "", path);
	host_until(&host, host.trouble[0].why[0]);
	assert_non_null(strstr(host.trouble[0].why, "something else was put there meanwhile"));
	assert_int_equal(stat(calls->swap_for, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_mode & 0777, 0604);
	assert_int_equal(lstat(path, &st), 0); /* whose it is, we do not know */
}

static void only_the_socket_itself_is_removed(void **state)
{
	struct stat st;
	int fd = -1;

	(void)state;
	ask_for(0, "", path);
	host_until(&host, (fd = connects()) >= 0);
	close(fd);
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	host_stop_agent(&host, SIGTERM);
	assert_int_equal(lstat(path, &st), 0);
	host_start_agent(&host);
}

static void many_connections_at_once_are_not_taken_in_one_go(void **state)
{
	int fds[60];

	(void)state;
	ask_for(0, "", path);
	host_until(&host, (fds[0] = connects()) >= 0);
	host_until(&host, calls->taken == 1);
	kill(host.agent, SIGSTOP);
	for (unsigned i = 1; i < 60; i++)
		assert_true((fds[i] = connects()) >= 0);
	kill(host.agent, SIGCONT);
	host_until(&host, calls->taken == 60);
	assert_true(calls->most <= 16);
	for (unsigned i = 0; i < 60; i++)
		close(fds[i]);
}

static void a_connection_without_a_descriptor_left_is_taken_later(void **state)
{
	struct peer p = { 0 };
	int fd = -1;

	(void)state;
	ask_for(0, "", path);
	calls->full = true;
	host.accept = &p;
	host_until(&host, (fd = connects()) >= 0);
	host_until(&host, calls->tried);
	assert_null(p.s);
	calls->full = false;
	host_until(&host, p.s);
	close(fd);
	host_until(&host, p.end);
	mux_finish(p.s);
	host_until(&host, p.closed);
	buf_free(&p.got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_connection_is_a_stream_with_its_index, begin, end),
		cmocka_unit_test_setup_teardown(a_refusal_of_the_host_ends_the_connection, begin, end),
		cmocka_unit_test_setup_teardown(the_next_list_replaces_it_and_the_end_removes_it, begin, end),
		cmocka_unit_test_setup_teardown(what_is_in_the_way_is_kept_and_told, begin, end),
		cmocka_unit_test_setup_teardown(a_link_in_its_place_leads_to_no_other_file, begin, end),
		cmocka_unit_test_setup_teardown(only_the_socket_itself_is_removed, begin, end),
		cmocka_unit_test_setup_teardown(many_connections_at_once_are_not_taken_in_one_go, begin, end),
		cmocka_unit_test_setup_teardown(a_connection_without_a_descriptor_left_is_taken_later, begin, end),
	};

	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(calls != MAP_FAILED);

	return cmocka_run_group_tests(tests, NULL, NULL);
}
