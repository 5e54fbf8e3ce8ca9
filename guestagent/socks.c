#include "guestagent/socks.h"

#include <errno.h>
#include <stdlib.h>

#include "guestagent/dial.h"
#include "guestagent/relay.h"
#include "guestagent/socks_proto.h"

struct socks {
	struct ga_stream stream;
	struct ga_dial dial;
	bool greeted, dialling;
	uint8_t message[SOCKS_MESSAGE_MAX];
	size_t len;
};

static void socks_free(struct socks *s)
{
	ga_dial_stop(&s->dial);
	free(s);
}

static void reset(struct socks *s, enum mux_reset_code code)
{
	ga_stream_reset(&s->stream, code);
	socks_free(s);
}

static void answer(struct socks *s, const uint8_t *p, size_t n)
{
	/* A stream has room for far more than these few bytes, which are its first. */
	ga_before_data(s->stream.ga);
	mux_write(s->stream.mux, p, n);
}

static void reply(struct socks *s, enum socks_reply code)
{
	uint8_t p[SOCKS_REPLY];

	socks_reply_pack(p, code);
	answer(s, p, sizeof(p));
}

/* s is gone after it. */
static void refuse(struct socks *s, enum socks_reply code)
{
	reply(s, code);
	ga_stream_release(&s->stream);
	socks_free(s);
}

static void on_dialled(struct ga_dial *d, int fd, int error)
{
	static const struct {
		int error;
		enum socks_reply reply;
	} known[] = {
		{ 0, SOCKS_HOST },
		{ EHOSTUNREACH, SOCKS_HOST },
		{ ETIMEDOUT, SOCKS_HOST },
		{ ENETUNREACH, SOCKS_NETWORK },
		{ ECONNREFUSED, SOCKS_REFUSED },
	};
	struct socks *s = ga_of(d, struct socks, dial);

	if (fd >= 0) {
		reply(s, SOCKS_OK);
		ga_relay_take(s->stream.ga, s->stream.mux, fd);
		socks_free(s);
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (known[i].error == error) {
			refuse(s, known[i].reply);
			return;
		}
	}
	refuse(s, SOCKS_FAILED);
}

/* Each takes its message when it is whole. 1: go on, 0: more is needed, or s is busy; -1: s is gone. */
static int take_greeting(struct socks *s)
{
	bool acceptable;
	ssize_t used = socks_greeting(s->message, s->len, &acceptable);

	if (used == 0)
		return 0;
	if (used < 0) {
		reset(s, MUX_RESET_PROTOCOL);
		return -1;
	}
	answer(s, acceptable ? (const uint8_t *)"\5\0" : (const uint8_t *)"\5\377", 2);
	if (!acceptable) {
		ga_stream_release(&s->stream);
		socks_free(s);
		return -1;
	}
	s->greeted = true;
	s->len = 0;
	return 1;
}

static int take_request(struct socks *s)
{
	struct socks_request r;
	ssize_t used = socks_request(s->message, s->len, &r);

	if (used == 0)
		return 0;
	if (used < 0) {
		reset(s, MUX_RESET_PROTOCOL);
		return -1;
	}
	if (r.refusal == SOCKS_OK && ga_dial_start(s->stream.ga, &s->dial, r.host, r.port) < 0)
		r.refusal = SOCKS_FAILED;
	if (r.refusal != SOCKS_OK) {
		refuse(s, r.refusal);
		return -1;
	}
	s->dialling = true;
	return 0;
}

/* Byte by byte: what follows the request is not ours, but the connection's. */
static void stream_moved(struct ga_stream *st)
{
	struct socks *s = ga_of(st, struct socks, stream);
	const uint8_t *p;
	size_t n;

	while (!s->dialling && (p = mux_peek(st->mux, &n)) && n) {
		s->message[s->len++] = *p;
		mux_consume(st->mux, 1);
		if ((s->greeted ? take_request(s) : take_greeting(s)) < 0)
			return;
	}
	if (!s->dialling && mux_at_end(st->mux))
		reset(s, MUX_RESET_ABORT);
}

static void stream_gone(struct ga_stream *st)
{
	socks_free(ga_of(st, struct socks, stream));
}

static const struct ga_stream_ops ops = { .readable = stream_moved, .writable = stream_moved, .gone = stream_gone };

void ga_socks_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	struct socks *s = calloc(1, sizeof(*s));

	(void)o;
	if (!s) {
		mux_reset(m, MUX_RESET_LIMIT);
		return;
	}
	s->dial.watch.fd = -1;
	s->dial.done = on_dialled;
	ga_stream_attach(&s->stream, ga, m, &ops);
}
