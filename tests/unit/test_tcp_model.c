/* Random histories of a TCP connection, through host agent and guest agent and over a direct socket: both ends must see the
 * same bytes in the same order and the same end of them. Losing the carrier is one more thing that happens, and must not
 * be seen at all.
 *
 * MODEL_ROUNDS: how many histories; MODEL_SEED: begin with this one. What is printed at a failure repeats it.
 *
 * What may differ, and is not compared:
 *  - How much of what was sent reaches a peer that does not read when the connection is reset, and whether the sender's
 *    end came before: what is in the sender's buffers is lost with a reset, and there are more buffers.
 *  - Whether a reset is seen by who sends his end while it is on its way: it takes longer. And by who has sent his end and
 *    got the other's, though his last bytes are still unread: for him the connection is over.
 *  - connect() to a port where nobody listens in the guest succeeds and is followed by a reset.
 *  - Bytes sent just before a reset are lost when the carrier is lost between the two.
 *  - The urgent mark (the byte itself arrives in its place).
 */
#include "tests/unit/model_world.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/random.h>

#include "lib/clock.h"

enum { CLIENT, SERVER, DIRECT = 0, RELAYED = 1, DEADLINE_MS = 20000, MOST_BYTES = 1 << 20 };

/* One end of one of the two connections. */
struct side {
	int fd; /* -1: closed */
	size_t queued, sent; /* bytes it shall send, bytes the socket took */
	size_t got;
	bool half;            /* its end was sent */
	bool doomed;          /* it wrote to who has closed: a reset must come */
	int failed;           /* the error of the first send() that failed: what came before is still to be read */
	bool eof, reset;      /* seen */
};

/* The same for both connections. */
struct plan {
	bool hold;   /* it does not read */
	bool end;    /* it sends no more: its end goes out behind what is queued */
	bool closed;
	bool loose;  /* what it sees is not compared, see above */
};

static struct world world;
static struct side side[2][2]; /* of DIRECT and RELAYED, CLIENT and SERVER */
static struct plan plan[2];
static uint64_t seed;
static unsigned history;
static char told[4096]; /* what happened so far */

static uint64_t draw(uint64_t below)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % below;
}

static void tell(const char *what, int who, size_t n)
{
	size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, " %s%s", who == CLIENT ? "client:" : who == SERVER ? "server:" : "", what);
	at = strlen(told);
	if (n)
		snprintf(told + at, sizeof(told) - at, "(%zu)", n);
}

static uint8_t byte_at(int who, size_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + (size_t)who * 101);
}

/* --- moving bytes --- */

static void push(struct side *s, int who)
{
	static uint8_t bytes[65536];

	while (s->fd >= 0 && !s->reset && !s->failed && s->sent < s->queued) {
		size_t n = s->queued - s->sent < sizeof(bytes) ? s->queued - s->sent : sizeof(bytes);
		ssize_t k;

		for (size_t i = 0; i < n; i++)
			bytes[i] = byte_at(who, s->sent + i);
		k = send(s->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (k < 0 && errno == EAGAIN)
			return;
		if (k < 0) {
			s->failed = errno;
			s->queued = s->sent;
			return;
		}
		s->sent += (size_t)k;
		s->doomed = plan[!who].closed;
	}
	if (s->fd >= 0 && plan[who].end && !s->half && s->sent == s->queued) {
		shutdown(s->fd, SHUT_WR);
		s->half = true;
	}
}

static void pull(struct side *s, int who)
{
	static uint8_t bytes[65536];
	ssize_t k;

	while (s->fd >= 0 && !plan[who].hold && !s->eof && !s->reset) {
		k = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (k < 0 && errno == EAGAIN)
			return;
		/* A send() that failed took the error: EPIPE is one behind an end, any other came instead of it. */
		s->reset = k < 0 || (k == 0 && s->failed);
		s->eof = k == 0 && (!s->failed || s->failed == EPIPE);
		for (ssize_t i = 0; i < k; i++, s->got++)
			if (bytes[i] != byte_at(!who, s->got))
				fail_msg("a wrong byte at %zu; history %u:%s", s->got, history, told);
	}
	/* A reset behind the end is told by the socket only when asked. */
	if (s->fd >= 0 && s->eof && !s->reset)
		s->reset = s->failed || sock_error(s->fd);
}

static void move(void)
{
	for (int w = 0; w < 2; w++) {
		for (int who = 0; who < 2; who++) {
			push(&side[w][who], who);
			pull(&side[w][who], who);
		}
	}
}

/* --- comparing --- */

static int waiting(const struct side *s)
{
	int n = 0;

	if (s->fd >= 0)
		ioctl(s->fd, FIONREAD, &n);
	return n > 0;
}

/* A reset that has come, though it may not have been read yet. */
static bool broken(const struct side *s)
{
	struct pollfd f = { .fd = s->fd };

	return s->reset || s->failed || (s->fd >= 0 && poll(&f, 1, 0) == 1 && f.revents & POLLERR);
}

/* All that was sent to a side that reads has come. */
static bool arrived(int w, int who)
{
	const struct side *to = &side[w][who], *from = &side[w][!who];

	if (to->fd < 0 || plan[who].hold || to->reset || plan[who].loose)
		return true;
	return to->got == from->queued && (!from->half || to->eof);
}

static bool same(void)
{
	for (int who = 0; who < 2; who++) {
		const struct side *a = &side[DIRECT][who], *b = &side[RELAYED][who];

		if (!arrived(DIRECT, who) || !arrived(RELAYED, who))
			return false;
		if (plan[who].closed || plan[who].loose)
			continue;
		if ((a->doomed && !broken(a)) || (b->doomed && !broken(b)))
			return false;
		if (a->got != b->got || a->eof != b->eof || broken(a) != broken(b) || waiting(a) != waiting(b))
			return false;
	}
	return true;
}

static bool ended(void)
{
	for (int w = 0; w < 2; w++)
		for (int who = 0; who < 2; who++)
			if (side[w][who].fd >= 0 && !side[w][who].eof && !side[w][who].reset)
				return false;
	return true;
}

static void show(void)
{
	static const char *const worlds[] = { "direct", "relayed" }, *const ends[] = { "client", "server" };

	for (int w = 0; w < 2; w++)
		for (int who = 0; who < 2; who++) {
			const struct side *s = &side[w][who];

			print_message("%s %s: fd %d queued %zu sent %zu got %zu%s%s%s%s%s\n", worlds[w], ends[who], s->fd, s->queued,
				      s->sent, s->got, s->half ? " half" : "", s->eof ? " eof" : "",
				      s->reset ? " reset" : "", plan[who].hold ? " holds" : "",
				      plan[who].loose ? " loose" : "");
		}
}

static void settle(bool (*until)(void))
{
	int64_t end = clock_ms() + DEADLINE_MS;

	for (move(); !until(); move()) {
		struct pollfd f[4];

		for (int i = 0; i < 4; i++)
			f[i] = (struct pollfd){ .fd = plan[i & 1].hold ? -1 : side[i >> 1][i & 1].fd, .events = POLLIN };
		if (clock_ms() > end) {
			show();
			fail_msg("the two differ; history %u:%s", history, told);
		}
		poll(f, 4, 1);
	}
}

/* --- what can happen --- */

static void say(int who, size_t n)
{
	if (plan[who].end || side[DIRECT][who].queued + n > MOST_BYTES)
		return;
	if (plan[!who].closed && !plan[who].hold)
		settle(same); /* the reset this is answered by must not overtake what is still to be read */
	tell("send", who, n);
	plan[who].loose |= plan[!who].closed && plan[who].hold; /* it is answered by a reset */
	for (int w = 0; w < 2; w++)
		if (!side[w][who].reset && !side[w][who].failed)
			side[w][who].queued += n;
}

static void do_send(int who)
{
	say(who, 1 + draw(draw(4) ? 3000 : 300000));
}

static void do_end(int who)
{
	settle(same); /* with both ends sent, a reset that is on its way has nothing to reset any more */
	tell("end", who, 0);
	plan[who].end = true;
}

static void do_hold(int who)
{
	settle(same); /* else it is chance how much it has read by now */
	plan[who].hold = !plan[who].hold;
	tell(plan[who].hold ? "hold" : "read", who, 0);
}

static void do_cut(int who)
{
	(void)who;
	if (plan[CLIENT].closed || plan[SERVER].closed)
		settle(same);
	tell("cut", -1, 0);
	world_cut(&world);
}

static bool behind(const struct side *s)
{
	return s->sent < s->queued;
}

/* All that was under way arrives first, as far as it is read: else it is chance whether a close finds unread bytes. */
static void leave(int who, bool reset)
{
	settle(same);
	if (draw(2) && !plan[!who].hold) {
		say(who, 1 + draw(3000)); /* last words, with the close right behind them; every buffer has room for them */
		for (int w = 0; w < 2; w++)
			push(&side[w][who], who);
	}
	tell(reset ? "reset" : "close", who, 0);
	for (int w = 0; w < 2; w++) {
		struct side *s = &side[w][who];

		plan[!who].loose |= behind(s) || (plan[who].end && plan[!who].end) || (plan[!who].hold && (reset || waiting(s) || behind(&side[w][!who])));
		if (reset)
			sock_reset_on_close(s->fd);
		close(s->fd);
		s->fd = -1;
	}
	plan[who].closed = true;
	settle(same); /* else the peer may end as well while a reset is on its way, and then there is nothing to reset */
}

static void do_close(int who)
{
	leave(who, false);
}

static void do_reset(int who)
{
	leave(who, true);
}

static void do_settle(int who)
{
	(void)who;
	settle(same);
}

static void one(void)
{
	static const struct {
		unsigned weight;
		void (*fn)(int who);
	} can[] = { { 40, do_send }, { 8, do_end }, { 12, do_hold }, { 5, do_cut }, { 4, do_close }, { 4, do_reset },
		    { 12, do_settle } };
	int who = (int)draw(2);
	uint64_t r = draw(85);
	size_t i = 0;

	for (; r >= can[i].weight; i++)
		r -= can[i].weight;
	if (!plan[who].closed || can[i].fn == do_settle)
		can[i].fn(who);
	if (draw(2))
		move();
}

static int connect_to(const struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)sa, sizeof(*sa)), 0);
	return fd;
}

static void run_history(void)
{
	memset(plan, 0, sizeof(plan));
	memset(side, 0, sizeof(side));
	told[0] = '\0';
	for (int w = 0; w < 2; w++) {
		struct pollfd f = { .fd = world.listener, .events = POLLIN };

		side[w][CLIENT].fd = connect_to(w == DIRECT ? &world.direct : &world.relayed);
		assert_int_equal(poll(&f, 1, DEADLINE_MS), 1);
		side[w][SERVER].fd = accept(world.listener, NULL, NULL);
		assert_true(side[w][SERVER].fd >= 0);
		sock_relay_options(side[w][CLIENT].fd);
		sock_relay_options(side[w][SERVER].fd);
	}
	for (uint64_t n = 1 + draw(20); n; n--)
		one();
	/* Then everybody reads, and nobody says more: each must come to an end. */
	plan[CLIENT].hold = plan[SERVER].hold = false;
	settle(same);
	plan[CLIENT].end = plan[SERVER].end = true;
	settle(ended);
	settle(same);
	for (int i = 0; i < 4; i++)
		if (side[i >> 1][i & 1].fd >= 0)
			close(side[i >> 1][i & 1].fd);
}

static void both_see_the_same(void **state)
{
	const char *rounds = getenv("MODEL_ROUNDS"), *first = getenv("MODEL_SEED");
	unsigned n = rounds ? (unsigned)atoi(rounds) : 2000;
	uint64_t random;

	(void)state;
	assert_int_equal(getrandom(&random, sizeof(random), 0), sizeof(random));
	random = first ? strtoull(first, NULL, 0) : random % 1000000 + 1000000;
	world_begin(&world);
	/* The same ones every time, and some nobody has seen. */
	for (unsigned i = 0; i < n; i++) {
		history = first || i >= n - n / 4 ? (unsigned)random + i : i;
		seed = history;
		run_history();
	}
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(both_see_the_same) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
