/* A hostile host against the guest agent's session: open requests and messages of any content, streams written to, ended and
 * reset in any order, a carrier that goes and comes. Input: commands of one byte, each followed by what it takes.
 * In a network namespace of its own. Nothing is executed and no file is made: the calls that would are answered here. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/provision.h"
#include "guestagent/session.h"
#include "lib/agentproto.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/mux_internal.h"
#include "tests/unit/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAMS = 8, PORT = 7, END_TURNS = 1000 };

static struct ga ga;
static struct mux *host;
static struct feed from_guest;
static struct mux_stream *streams[STREAMS];
static struct sockaddr_un carrier;
static socklen_t carrier_len;
static int listener, host_fd = -1, server = -1;

/* --- what the agent may not do here --- */

static int refused(void)
{
	errno = EACCES;
	return -1;
}

/* A child that ends at once: of a command only its start and its end are left. libFuzzer has another thread, which may be given
 * the signal of it. */
pid_t fork(void)
{
	pid_t pid = vfork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	raise(SIGCHLD);
	return pid;
}

int kill(pid_t pid, int sig)
{
	(void)pid, (void)sig;
	return 0;
}

int bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return sa->sa_family == AF_UNIX ? refused() : (int)syscall(SYS_bind, fd, sa, len);
}

int connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return sa->sa_family == AF_UNIX ? refused() : (int)syscall(SYS_connect, fd, sa, len);
}

int mkdir(const char *path, mode_t mode)
{
	(void)path, (void)mode;
	return refused();
}

int unshare(int kinds)
{
	(void)kinds;
	return refused();
}

void ga_provision_send(struct ga_provision *p)
{
	(void)p;
}

bool ga_provision_done(const struct ga_provision *p)
{
	(void)p;
	return true;
}

/* --- the host --- */

static struct mux_stream **slot_of(const struct mux_stream *s)
{
	for (size_t i = 0; i < STREAMS; i++)
		if (streams[i] == s)
			return &streams[i];
	return NULL;
}

static void on_link(void *ctx)
{
	(void)ctx;
}

static void on_up(void *ctx, bool resumed)
{
	(void)ctx, (void)resumed;
}

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	(void)ctx, (void)type, (void)body, (void)len;
	return 0;
}

static void on_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	(void)ctx, (void)request, (void)len;
	mux_reset(s, MUX_RESET_REFUSED);
}

static void on_readable(void *ctx, struct mux_stream *s)
{
	size_t n;

	(void)ctx;
	while (mux_peek(s, &n) && n)
		mux_consume(s, n);
}

static void on_writable(void *ctx, struct mux_stream *s)
{
	(void)ctx, (void)s;
}

static void on_closed(void *ctx, struct mux_stream *s)
{
	struct mux_stream **slot = slot_of(s);

	(void)ctx;
	if (slot)
		*slot = NULL;
}

static void on_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	(void)code;
	on_closed(ctx, s);
}

static const struct mux_ops host_ops = {
	on_up, on_link, on_message, on_open, on_readable, on_writable, on_reset, on_closed,
};

static void host_moves(void)
{
	static uint8_t bytes[64 * 1024];
	const uint8_t *p;
	ssize_t k;
	size_t n;

	while ((n = first_part(host, &p))) {
		k = send(host_fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (k <= 0)
			break;
		mux_output_done(host, (size_t)k);
	}
	while ((k = recv(host_fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		feed(&from_guest, host, bytes, (size_t)k);
}

/* Who connects in the guest gets an answer and the end. */
static void server_moves(void)
{
	int fd;

	while ((fd = accept(server, NULL, NULL)) >= 0) {
		(void)!write(fd, "answer", 6);
		close(fd);
	}
}

static void on_turn_over(struct ga_timer *t)
{
	(void)t;
	ga.loop.quit = true;
}

static void guest_moves(int ms)
{
	struct ga_timer over = { .fn = on_turn_over };

	ga.loop.quit = false;
	ga_timer_set(&ga.loop, &over, ms);
	ga_loop_run(&ga.loop);
	ga_timer_stop(&ga.loop, &over);
}

/* Both sides do what there is to do, once. */
static void turn(void)
{
	host_moves();
	guest_moves(0);
	server_moves();
	host_moves();
}

static void host_connect(void)
{
	host_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Until earlier ones were taken there is no room. */
	for (int i = 0; syscall(SYS_connect, host_fd, &carrier, carrier_len) < 0; i++) {
		if (i == END_TURNS)
			abort();
		guest_moves(0);
	}
	mux_carrier_open(host);
}

static void host_cut(void)
{
	close(host_fd);
	mux_carrier_lost(host);
	host_connect();
}

/* --- the input --- */

static size_t part(const uint8_t *d, size_t n, size_t most)
{
	size_t len = n ? d[0] | (n > 1 ? (size_t)d[1] << 8 : 0) : 0;

	len %= most + 1;
	return n < 2 ? 0 : len < n - 2 ? len : n - 2;
}

static size_t open_stream(const uint8_t *d, size_t n, uint8_t slot)
{
	size_t len = part(d, n, MUX_REQUEST_MAX);

	if (n >= 2 && !streams[slot])
		streams[slot] = mux_open(host, d + 2, len, NULL);
	return 2 + len;
}

static size_t message(const uint8_t *d, size_t n, uint8_t type)
{
	size_t len = part(d, n, 4096);

	if (n >= 2)
		mux_send(host, MUX_MESSAGE_FIRST + type, d + 2, len);
	return 2 + len;
}

static size_t write_stream(const uint8_t *d, size_t n, uint8_t slot)
{
	size_t len = part(d, n, 4096);

	if (n >= 2 && streams[slot])
		mux_write(streams[slot], d + 2, len);
	return 2 + len;
}

static void end_stream(uint8_t slot, bool reset)
{
	struct mux_stream *s = streams[slot];

	if (!s)
		return;
	if (reset) {
		streams[slot] = NULL;
		mux_reset(s, MUX_RESET_ABORT);
	} else {
		mux_finish(s);
	}
}

static size_t raw(const uint8_t *d, size_t n)
{
	size_t len = part(d, n, 200);

	if (n >= 2)
		send(host_fd, d + 2, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return 2 + len;
}

static size_t command(const uint8_t *d, size_t n)
{
	uint8_t arg = d[0] >> 4, slot = arg % STREAMS;

	switch (d[0] & 7) {
	case 0:
		return 1 + open_stream(d + 1, n - 1, slot);
	case 1:
		return 1 + message(d + 1, n - 1, arg);
	case 2:
		return 1 + write_stream(d + 1, n - 1, slot);
	case 3:
		end_stream(slot, arg & 8);
		return 1;
	case 4:
		host_cut();
		return 1;
	case 5:
		return 1 + raw(d + 1, n - 1);
	default:
		turn();
		return 1;
	}
}

/* --- before and after --- */

static void prepare(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (server >= 0)
		return;
	signal(SIGPIPE, SIG_IGN);
	log_init("agent", open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_TEXT, LOG_ERROR_);
	if (syscall(SYS_unshare, CLONE_NEWNET) < 0 && syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		perror("a network namespace");
		exit(1);
	}
	server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ioctl(server, SIOCSIFFLAGS, &lo);
	if (bind(server, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(server, 16) < 0)
		abort();
}

static void begin(void)
{
	static struct settings settings;
	char spec[32], none[] = "";
	struct err e;

	carrier = (struct sockaddr_un){ .sun_family = AF_UNIX };
	carrier_len = sizeof(carrier.sun_family);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Without a path it gets a name that is no file's. */
	if (syscall(SYS_bind, listener, &carrier, carrier_len) < 0)
		abort();
	carrier_len = sizeof(carrier);
	getsockname(listener, (struct sockaddr *)&carrier, &carrier_len);
	snprintf(spec, sizeof(spec), "listen:%d", listener);
	memset(&ga, 0, sizeof(ga));
	memset(streams, 0, sizeof(streams));
	memset(&from_guest, 0, sizeof(from_guest));
	ga.settings = &settings;
	ga.run_dir = "/nonexistent";
	host = mux_new(MUX_HOST, 1, &host_ops, NULL);
	if (!host || settings_parse(&settings, none, &e) < 0 || ga_loop_init(&ga.loop, &e) < 0 ||
	    ga_session_start(&ga, spec, &e) < 0)
		abort();
	host_connect();
}

/* Nothing of a command or a look-up outlives its stream. */
static void end(void)
{
	ga_session_stop(&ga);
	ga.loop.before_sleep = NULL;
	for (int i = 0; ga.jobs && i < END_TURNS; i++)
		guest_moves(10);
	if (ga.jobs || ga.dials)
		abort();
	ga_loop_free(&ga.loop);
	mux_free(host);
	close(host_fd);
	close(listener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	prepare();
	begin();
	turn();
	turn();
	for (size_t at = 0; at < size; at += command(data + at, size - at))
		;
	turn();
	turn();
	end();
	return 0;
}
