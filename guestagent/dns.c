#include "guestagent/dns.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guestagent/dns_net.h"
#include "guestagent/dns_tcp.h"
#include "guestagent/resolved.h"
#include "lib/agentproto.h"
#include "lib/clock.h"
#include "lib/dns_message.h"
#include "lib/dns_record.h"
#include "lib/log.h"

enum {
	DATAGRAMS_AT_ONCE = 32, /* between two looks at everything else */
	GIVE_UP_MS = 30000,     /* longer than anybody waits for an answer */
};

/* Who asked, and what. */
struct asked {
	struct dns_question q;
	struct sockaddr_in from; /* by UDP */
	struct dns_conn *conn;   /* by TCP; NULL: by UDP */
};

enum { USES = 0xffffff }; /* so that no id is 0 */

/* A question that the host works at. Its id there: the place in the table, and how often that was used. */
struct slot {
	struct asked asked;
	int64_t since; /* clock_ms() */
	uint32_t uses; /* modulo USES */
	bool busy;
	bool nobody; /* the connection is gone; the answer is still to come */
};

struct dns {
	struct ga_stream stream;
	uint8_t addr[4];
	bool served; /* what is for it comes here */
	struct ga_watch udp;
	struct dns_tcp *tcp;
	struct slot slot[DNS_IN_FLIGHT];
	uint8_t record[DNS_RECORD_HEADER + DNS_MESSAGE_MAX + DNS_OPT_LEN]; /* the host's answer; a client's OPT goes behind */
};

static struct dns *dns_of(struct ga_stream *s)
{
	return ga_of(s, struct dns, stream);
}

/* --- answers --- */

static void send_answer(struct dns *d, const struct asked *a, const uint8_t *p, size_t n)
{
	if (a->conn)
		dns_tcp_answer(a->conn, p, n);
	else if (sendto(d->udp.fd, p, n, MSG_NOSIGNAL, (const struct sockaddr *)&a->from, sizeof(a->from)) < 0)
		log_debug("an answer could not be sent: %s", strerror(errno)); /* whoever wants it asks again */
}

static void refuse(struct dns *d, const struct asked *a, enum dns_rcode rcode)
{
	uint8_t p[DNS_UDP_MIN];
	struct dns_answer out;

	dns_answer_begin(&out, &a->q, p, sizeof(p));
	send_answer(d, a, p, dns_answer_end(&out, rcode, false, true));
}

/* The host's message, with DNS_OPT_LEN bytes of room behind it. */
static void pass_answer(struct dns *d, const struct asked *a, uint8_t *p, size_t n)
{
	size_t max = a->conn ? DNS_MESSAGE_MAX : a->q.udp_max;

	n = dns_trim(p, n, max - (a->q.edns ? DNS_OPT_LEN : 0));
	if (n)
		send_answer(d, a, p, dns_reply_to(p, n, &a->q));
	else
		refuse(d, a, DNS_SERVFAIL);
}

static struct asked release(struct slot *s)
{
	s->busy = s->nobody = false;
	s->uses = (s->uses + 1) % USES;
	return s->asked;
}

static uint32_t id_of(const struct dns *d, const struct slot *s)
{
	return (uint32_t)(s->uses * DNS_IN_FLIGHT + (uint32_t)(s - d->slot)) + 1;
}

static void on_record(struct dns *d)
{
	uint32_t id = dns_record_id(d->record);
	struct slot *s = &d->slot[(id - 1) % DNS_IN_FLIGHT];
	struct asked a;

	if (!s->busy || id_of(d, s) != id)
		return; /* who asked is gone */
	if (s->nobody) {
		release(s);
		return;
	}
	a = release(s);
	pass_answer(d, &a, d->record + DNS_RECORD_HEADER, dns_record_len(d->record));
}

/* --- questions --- */

static void give_up(struct dns *d, struct slot *s)
{
	bool nobody = s->nobody;
	struct asked a = release(s);

	if (!nobody)
		refuse(d, &a, DNS_SERVFAIL);
}

/* A host agent that was killed or hangs does not tell: places that it will not free are taken back when one is wanted. An
 * answer that comes all the same is known by its id to be too late. NULL: none is free. */
static struct slot *free_slot(struct dns *d, int64_t now)
{
	struct slot *oldest = d->slot;

	for (struct slot *s = d->slot; s < d->slot + DNS_IN_FLIGHT; s++) {
		if (!s->busy)
			return s;
		if (s->since < oldest->since)
			oldest = s;
	}
	if (now - oldest->since < GIVE_UP_MS)
		return NULL;
	give_up(d, oldest);
	return oldest;
}

static void handle(struct dns *d, const struct asked *a)
{
	uint8_t record[DNS_RECORD_HEADER + DNS_QUESTION_MAX];
	int64_t now = clock_ms();
	struct slot *s;
	size_t n;

	if (a->q.rcode != DNS_OK) {
		refuse(d, a, a->q.rcode);
		return;
	}
	s = free_slot(d, now);
	n = dns_question_pack(&a->q, record + DNS_RECORD_HEADER);
	if (!s || !mux_is_up(d->stream.ga->mux) || mux_room(d->stream.mux) < DNS_RECORD_HEADER + n) {
		refuse(d, a, DNS_SERVFAIL);
		return;
	}
	s->busy = true;
	s->asked = *a;
	s->since = now;
	dns_record_pack(record, id_of(d, s), n);
	mux_write(d->stream.mux, record, DNS_RECORD_HEADER + n);
}

static void on_udp(struct ga_watch *w, uint32_t events)
{
	struct dns *d = ga_of(w, struct dns, udp);
	uint8_t p[DNS_UDP_MAX];

	(void)events;
	for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
		struct asked a = { .conn = NULL };
		socklen_t len = sizeof(a.from);
		ssize_t k = recvfrom(w->fd, p, sizeof(p), 0, (struct sockaddr *)&a.from, &len);

		if (k < 0 && errno == EAGAIN)
			return;
		if (k >= 0 && dns_question_read(&a.q, p, (size_t)k) == 0)
			handle(d, &a);
	}
}

static int on_tcp(void *ctx, struct dns_conn *c, const uint8_t *p, size_t n)
{
	struct asked a = { .conn = c };

	if (dns_question_read(&a.q, p, n) < 0)
		return -1;
	handle(ctx, &a);
	return 0;
}

static void on_tcp_gone(void *ctx, struct dns_conn *c)
{
	struct dns *d = ctx;

	for (size_t i = 0; i < DNS_IN_FLIGHT; i++) {
		struct slot *s = &d->slot[i];

		s->nobody |= s->busy && s->asked.conn == c;
	}
}

/* --- the stream --- */

static void dns_free(struct dns *d)
{
	dns_net_close();
	if (d->stream.ga->dns == d)
		d->stream.ga->dns = NULL;
	dns_tcp_free(d->tcp);
	ga_loop_close(&d->stream.ga->loop, &d->udp);
	free(d);
}

static void on_readable(struct ga_stream *stream)
{
	struct dns *d = dns_of(stream);

	while (dns_record_read(stream->mux, d->record, sizeof(d->record)) > 0) /* any length has room */
		on_record(d);
	if (mux_at_end(stream->mux)) {
		ga_stream_release(stream);
		dns_free(d);
	}
}

static void on_writable(struct ga_stream *stream)
{
	(void)stream; /* who found no room was refused */
}

/* Those who wait would wait in vain. */
static void give_up_all(struct dns *d)
{
	for (size_t i = 0; i < DNS_IN_FLIGHT; i++)
		if (d->slot[i].busy)
			give_up(d, &d->slot[i]);
}

static void on_gone(struct ga_stream *stream)
{
	struct dns *d = dns_of(stream);

	give_up_all(d);
	dns_free(d);
}

void ga_dns_host(struct dns *d, bool there)
{
	struct err e;

	if (there == d->served)
		return;
	d->served = there;
	if (!there)
		give_up_all(d); /* who asks again asks the network's */
	if (dns_net_route(d->addr, there, &e) < 0)
		log_warn("names are asked of the %s: %s", there ? "network's server" : "host that left", e.msg);
}

static const struct ga_stream_ops ops = { on_readable, on_writable, on_gone };

static int start(struct dns *d, struct ga *ga, const struct ap_open *o, struct err *e)
{
	int tcp = -1;

	d->stream.ga = ga;
	d->udp = (struct ga_watch){ -1, on_udp };
	if (o->family != 4)
		return err_set(e, ERR_INVALID, "only an IPv4 address is possible");
	memcpy(d->addr, o->addr, sizeof(d->addr));
	if (dns_net_open(o->addr, &d->udp.fd, &tcp, e) < 0)
		return -1;
	d->served = true;
	d->tcp = dns_tcp_new(&ga->loop, tcp, on_tcp, on_tcp_gone, d);
	return d->tcp && ga_loop_add(&ga->loop, &d->udp, EPOLLIN) == 0 ? 0 : err_set(e, ERR_SYS, "out of memory");
}

void ga_dns_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	struct dns *d = calloc(1, sizeof(*d));
	struct err e;

	if (d && start(d, ga, o, &e) == 0) {
		ga_stream_attach(&d->stream, ga, m, &ops);
		ga->dns = d;
		resolved_tell(ga, DNS_NET_CARD, o->addr);
		return;
	}
	log_warn("names are not asked of the host: %s", d ? e.msg : "out of memory");
	if (d)
		dns_free(d);
	mux_reset(m, MUX_RESET_REFUSED);
}
