/* model_world.h - a port of ours that leads, through a host agent's relays and a guest agent in child processes, to a port
 * of the test; the carrier between the two is cut on demand. */
#ifndef TEST_MODEL_WORLD_H
#define TEST_MODEL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/daemon.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/listen.h"

struct world {
	char dir[40];
	pid_t agent, host;
	int control;            /* to the host's process: a byte cuts the carrier, one comes back when it is there again */
	int listener;           /* of the test: what is in the guest */
	struct sockaddr_in direct, relayed;
};

/* The host agent's process. */
static struct {
	const char *path;
	int control;
	bool asked; /* the parent waits to hear that there is a link */
	struct loop *loop;
	struct guest *guest;
	struct watch *watch;
} wh;

static int wh_connect(void *ctx, struct err *e)
{
	int fd = sock_connect_unix(ctx, e);

	if (fd >= 0)
		io_set_nonblock(fd, true);
	return fd;
}

static void wh_up(void *ctx, bool resumed)
{
	const char how = resumed ? 'r' : 'f';

	(void)ctx;
	if (wh.asked && write(wh.control, &how, 1) != 1)
		_exit(1);
	wh.asked = false;
}

static void wh_down(void *ctx)
{
	(void)ctx;
}

static int wh_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	(void)ctx, (void)type, (void)body, (void)len;
	return 0;
}

static void wh_control(void *ctx, unsigned events)
{
	char byte;

	(void)ctx, (void)events;
	if (read(wh.control, &byte, 1) != 1)
		_exit(0); /* the test is over */
	wh.asked = true;
	guest_disconnect(wh.guest);
	guest_connect(wh.guest);
}

static void wh_before_wait(void *ctx)
{
	(void)ctx;
	guest_flush(wh.guest);
}

static _Noreturn void wh_main(const struct world *w, int control)
{
	static const struct guest_ops ops = { .connect = wh_connect, .up = wh_up, .down = wh_down, .message = wh_message };
	char path[60];
	struct ap_port host = { .family = 4, .addr = { 127, 0, 0, 1 }, .port = ntohs(w->relayed.sin_port) };
	struct ap_open guest = { .kind = AP_OPEN_TCP, .family = 4, .addr = { 127, 0, 0, 1 },
				 .port = ntohs(w->direct.sin_port) };
	struct err e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_init("host", STDERR_FILENO, LOG_TEXT, LOG_ERROR_ + 1);
	snprintf(path, sizeof(path), "%s/sock", w->dir);
	wh.control = control;
	wh.asked = true;
	wh.loop = loop_new();
	wh.guest = guest_new(wh.loop, &ops, path, &e);
	if (!wh.guest || !listen_tcp(wh.loop, conns_new(wh.loop, wh.guest), NULL, &host, &guest, &e))
		_exit(1);
	wh.watch = watch_new(wh.loop, control, wh_control, NULL);
	watch_set(wh.watch, WATCH_READ);
	loop_before_wait(wh.loop, wh_before_wait, NULL);
	guest_connect(wh.guest);
	loop_run(wh.loop);
	_exit(1);
}

static _Noreturn void world_agent(const struct world *w, int listener)
{
	char carrier[20], settings[60], run[60];
	char *argv[] = { "daemon", "--carrier", carrier, "--settings", settings, "--run", run, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(carrier, sizeof(carrier), "listen:%d", listener);
	snprintf(settings, sizeof(settings), "%s/settings", w->dir);
	snprintf(run, sizeof(run), "%s", w->dir);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	optind = 0;
	_exit(daemon_main(7, argv));
}

static struct sockaddr_in world_address(int fd)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return sa;
}

/* Waits for the link that was asked for. */
static inline void world_linked(const struct world *w, char expected)
{
	char how = 0;

	assert_int_equal(read(w->control, &how, 1), 1);
	assert_int_equal(how, expected);
}

static inline void world_cut(const struct world *w)
{
	assert_int_equal(write(w->control, "c", 1), 1);
	world_linked(w, 'r');
}

static inline void world_begin(struct world *w)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char path[60];
	int carrier, free_port, pair[2];
	struct err e;

	snprintf(w->dir, sizeof(w->dir), "/tmp/model.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(path, sizeof(path), "%s/sock", w->dir);
	carrier = sock_listen_unix(path, 0600, &e);
	w->listener = sock_listen_tcp((struct sockaddr *)&any, sizeof(any), &e);
	free_port = sock_listen_tcp((struct sockaddr *)&any, sizeof(any), &e);
	assert_true(carrier >= 0 && w->listener >= 0 && free_port >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	w->direct = world_address(w->listener);
	w->relayed = world_address(free_port);
	close(free_port);
	w->control = pair[0];
	w->agent = fork();
	if (!w->agent)
		world_agent(w, carrier);
	w->host = fork();
	if (!w->host) {
		close(pair[0]);
		wh_main(w, pair[1]);
	}
	close(pair[1]);
	close(carrier);
	world_linked(w, 'f');
}

static inline void world_end(struct world *w)
{
	char command[100];

	close(w->control);
	kill(w->host, SIGKILL);
	assert_int_equal(waitpid(w->host, NULL, 0), w->host);
	kill(w->agent, SIGTERM);
	assert_int_equal(waitpid(w->agent, NULL, 0), w->agent);
	close(w->listener);
	snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	assert_int_equal(system(command), 0);
}

#endif
