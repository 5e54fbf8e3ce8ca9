/* A hostile guest against the whole host agent: messages of every type with any body, frames with the right check and any
 * type, length, id and offset, streams in any order, a carrier that goes and comes, beside clients of its own on published ports.
 * Input: commands of one byte, each followed by what it takes. In a network namespace of its own, where any port may be taken. */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "lib/le.h"
#include "lib/mux_internal.h"

#include "tests/unit/ha_stub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 4 };

static int clients[CLIENTS];

/* What ha_stub.h asserts must hold here too; there is no cmocka under a fuzzer. */
void _assert_true(const LargestIntegralType result, const char *const expression, const char *const file, const int line)
{
	(void)expression, (void)file, (void)line;
	if (!result)
		abort();
}

void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file, const int line)
{
	(void)file, (void)line;
	if (a != b)
		abort();
}

void _fail(const char *const file, const int line)
{
	(void)file, (void)line;
	abort();
}

void print_error(const char *const format, ...)
{
	(void)format;
}

static void at_end(void)
{
	without_spawner(NULL);
}

static void prepare(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (spawner)
		return;
	signal(SIGPIPE, SIG_IGN);
	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		perror("a network namespace");
		exit(1);
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	assert_int_equal(with_spawner(NULL), 0);
	atexit(at_end);
}

static bool at_once(struct peer *peer)
{
	(void)peer;
	return true;
}

/* A frame with the right check, as the guest's engine would send it, but of any content. */
static size_t frame(const uint8_t *d, size_t n)
{
	static uint8_t b[WIRE_FRAME_MAX];
	struct mux *m = p.mux;
	struct wire_frame f;

	if (n < 6)
		return n;
	f = (struct wire_frame){ .type = d[0] % 5, .flags = d[1] & 3, .id = d[2], .arg = d[3], .len = d[4] };
	if (d[5] & 1 && f.type == WIRE_CONTROL)
		f.arg = (uint32_t)m->control.sent;
	if (d[5] & 2)
		f.arg = le32_get(d);
	if (f.len > n - 6)
		f.len = (uint32_t)(n - 6);
	if (p.fd >= 0 && m->up && !m->out_total) {
		wire_header_pack(b, &f, m->link, m->tx_seq);
		memcpy(b + WIRE_HEADER, d + 6, f.len);
		le32_put(b + WIRE_HEADER + f.len, wire_trailer(&f, m->link, m->tx_seq++));
		send(p.fd, b, WIRE_HEADER + f.len + WIRE_TRAILER, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	return 6 + f.len;
}

static size_t message(const uint8_t *d, size_t n)
{
	size_t len;

	if (n < 3)
		return n;
	len = le16_get(d + 1) % 1024;
	len = len < n - 3 ? len : n - 3;
	mux_send(p.mux, MUX_MESSAGE_FIRST + d[0] % 16, d + 3, len);
	return 3 + len;
}

static void connect_client(uint8_t slot, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (clients[slot] >= 0)
		close(clients[slot]);
	clients[slot] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(clients[slot], (struct sockaddr *)&sa, sizeof(sa));
}

static void client_does(uint8_t what)
{
	char bytes[300];
	int fd = clients[what % CLIENTS];

	if (fd < 0)
		return;
	if (what & 64)
		send(fd, "abcdefgh", 8, MSG_NOSIGNAL);
	if (what & 32)
		shutdown(fd, SHUT_WR);
	if (what & 16)
		(void)!read(fd, bytes, sizeof(bytes));
	if (what & 128)
		sock_reset_on_close(fd);
	if (what & 8) {
		close(fd);
		clients[what % CLIENTS] = -1;
	}
}

static void stream_does(uint8_t what)
{
	if (!p.last)
		return;
	if (what & 1)
		mux_write(p.last, "answer", 6);
	if (what & 2)
		mux_finish(p.last);
	if (what & 4) {
		mux_reset(p.last, (enum mux_reset_code)(what >> 4));
		p.last = NULL;
	}
}

static size_t command(const uint8_t *d, size_t n)
{
	uint8_t next = n > 1 ? d[1] : 0;

	switch (d[0] & 15) {
	case 0:
	case 1:
		return 1 + message(d + 1, n - 1);
	case 2:
	case 3:
		return 1 + frame(d + 1, n - 1);
	case 4:
		connect_client(d[0] >> 4 & 3, (uint16_t)(n > 2 ? le16_get(d + 1) : 80));
		return 3;
	case 5:
		client_does(next);
		return 2;
	case 6:
		stream_does(next);
		return 2;
	case 7:
		peer_cut(&p);
		return 1;
	case 8:
		peer_new_agent(&p);
		return 1;
	case 9:
		p.mode = next & 1 ? PEER_ECHO : PEER_HOLD;
		return 2;
	case 10:
		if (p.fd >= 0)
			send(p.fd, d + 1, n - 1 < 20 ? n - 1 : 20, MSG_NOSIGNAL | MSG_DONTWAIT);
		return 21;
	case 11:
		mux_open(p.mux, d, n < 20 ? n : 20, &p);
		return 1;
	default:
		peer_run(&p, at_once);
		return 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *state;

	prepare();
	memset(clients, -1, sizeof(clients));
	begin(&state);
	assert_int_equal(start_with(guest_is_booted), 0);
	for (int i = 0; i < 8; i++)
		peer_run(&p, at_once);
	for (size_t at = 0; at < size && !ha->ended; at += command(data + at, size - at))
		;
	for (int i = 0; i < 4 && !ha->ended; i++)
		peer_run(&p, at_once);
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i] >= 0)
			close(clients[i]);
	end(&state);
	return 0;
}
