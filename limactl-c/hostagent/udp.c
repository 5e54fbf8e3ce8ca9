#include "limactl-c/hostagent/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/dgram.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/base/env.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/udp_flows.h"

enum {
	READ_BATCH = 32,         /* datagrams taken in one go, so that one busy port does not hold up the rest */
	RECEIVE_BYTES = 1 << 20, /* what may wait in the socket, as far as the system allows */
	QUEUED_MOST = 32 << 20,  /* what waits for the guest, shared by all flows … */
	QUEUED_LEAST = 32 << 10, /* … each may have, more than what the guest takes without saying so */
	SLACK = 8,               /* flows may live longer by this part of the idle time, so that many end at once */
};

struct udp {
	struct loop *loop;
	struct guest *guest;
	struct udp_flows flows;
	int64_t idle_ms;
	struct deadline *expiry; /* set only while there are flows */
	struct dgram dgram;      /* the one being passed on */
};

struct udp_port {
	struct udp *all;
	struct udp_set set;
	int fd, family;
	bool wildcard; /* bound to all addresses: answers leave from the one that was asked */
	struct watch *watch;
	uint8_t request[64];
	size_t request_len;
	struct tally *tally;
};

struct flow {
	struct stream st; /* first: a stream is cast to its flow */
	struct udp_flow in_table;
	struct udp_port *port;
	bool opening; /* guest_open() has not returned */
};

/* Room for the one thing we ask the system: the address a datagram was sent to. */
union control {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static struct flow *flow_of(struct udp_flow *f)
{
	return list_item(f, struct flow, in_table);
}

/* --- ends of flows --- */

static void flow_free(struct flow *f)
{
	struct udp *u = f->port->all;

	udp_flows_remove(&u->flows, &f->in_table);
	f->port->tally->now--;
	free(f);
	if (!u->flows.count)
		deadline_stop(u->expiry);
}

static void flow_end(struct flow *f, enum mux_reset_code code)
{
	/* Datagrams need not arrive; kept for a guest that stands still, those of one flow after the other would fill the memory. */
	guest_reset(&f->st, code);
	flow_free(f);
}

static void arm_expiry(struct udp *u)
{
	struct udp_flow *oldest = udp_flows_oldest(&u->flows);

	if (oldest)
		deadline_at(u->expiry, oldest->used + u->idle_ms + u->idle_ms / SLACK);
}

static void on_expiry(void *ctx)
{
	struct udp *u = ctx;
	int64_t now = clock_ms();
	struct udp_flow *f;

	while ((f = udp_flows_oldest(&u->flows)) && f->used + u->idle_ms <= now)
		flow_end(flow_of(f), MUX_RESET_ABORT);
	arm_expiry(u);
}

/* --- guest to host --- */

static void set_address(struct msghdr *m, union control *c, const struct udp_port *p, const struct udp_key *key)
{
	struct cmsghdr *h;

	if (!p->wildcard)
		return;
	m->msg_control = c;
	memset(c, 0, sizeof(*c));
	if (p->family == 4) {
		struct in_pktinfo info = { 0 };

		m->msg_controllen = CMSG_SPACE(sizeof(info));
		h = CMSG_FIRSTHDR(m);
		*h = (struct cmsghdr){ .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO, .cmsg_len = CMSG_LEN(sizeof(info)) };
		memcpy(&info.ipi_spec_dst, key->local, 4);
		memcpy(CMSG_DATA(h), &info, sizeof(info));
	} else {
		struct in6_pktinfo info = { .ipi6_ifindex = key->scope };

		m->msg_controllen = CMSG_SPACE(sizeof(info));
		h = CMSG_FIRSTHDR(m);
		*h = (struct cmsghdr){ .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_PKTINFO,
				       .cmsg_len = CMSG_LEN(sizeof(info)) };
		memcpy(&info.ipi6_addr, key->local, 16);
		memcpy(CMSG_DATA(h), &info, sizeof(info));
	}
}

static void answer(struct flow *f, struct dgram *d)
{
	struct udp_port *p = f->port;
	const struct udp_key *key = &f->in_table.key;
	struct sockaddr_storage ss;
	union control control;
	struct iovec part = { dgram_payload(d), d->len };
	struct msghdr m = { .msg_name = &ss, .msg_iov = &part, .msg_iovlen = 1 };

	m.msg_namelen = sock_ip_addr(p->family, key->peer, (uint16_t)key->port, &ss);
	if (p->family == 6)
		((struct sockaddr_in6 *)&ss)->sin6_scope_id = key->scope;
	set_address(&m, &control, p, key);
	if (sendmsg(p->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		p->tally->dropped++;
		return;
	}
	p->tally->out++;
	p->tally->to_host += d->len;
	use_note(guest_use(p->all->guest), USE_STREAM);
}

static void on_readable(struct stream *st)
{
	struct flow *f = (struct flow *)st;
	struct dgram *d = &f->port->all->dgram;
	enum dgram_result got;

	while ((got = dgram_read(st->mux, d)) == DGRAM_DONE)
		answer(f, d);
	if (got == DGRAM_BROKEN)
		flow_end(f, MUX_RESET_PROTOCOL);
	else if (mux_at_end(st->mux))
		flow_end(f, MUX_RESET_ABORT);
	else
		udp_flows_used(&f->in_table, clock_ms());
}

/* The guest gave it up, or its agent is a new one: the client's next datagram makes another. */
static void on_gone(struct stream *st)
{
	struct flow *f = (struct flow *)st;

	if (!f->opening)
		flow_free(f);
}

static void on_reset(struct stream *st, enum mux_reset_code code)
{
	(void)code;
	on_gone(st);
}

static const struct stream_ops flow_ops = {
	.readable = on_readable,
	.reset = on_reset,
	.closed = on_gone,
};

/* --- host to guest --- */

/* NULL when the guest cannot be reached now, or takes no more streams. */
static struct flow *flow_new(struct udp_port *p, const struct udp_key *key, int64_t now)
{
	struct udp *u = p->all;
	struct udp_flow *victim;
	struct flow *f;

	/* A datagram that waits for the link, or behind much else, is worth nothing when it comes. */
	if (!guest_is_up(u->guest) || guest_is_behind(u->guest))
		return NULL;
	victim = udp_flows_victim(&u->flows, &p->set);
	if (victim)
		flow_end(flow_of(victim), MUX_RESET_ABORT);
	f = xcalloc(1, sizeof(*f));
	f->st.ops = &flow_ops;
	f->port = p;
	f->in_table.key = *key;
	udp_flows_add(&u->flows, &p->set, &f->in_table, now);
	p->tally->now++;
	p->tally->total++;
	f->opening = true;
	guest_open(u->guest, &f->st, p->request, p->request_len);
	f->opening = false;
	if (!f->st.mux) {
		flow_free(f);
		return NULL;
	}
	if (u->flows.count == 1)
		arm_expiry(u);
	return f;
}

/* While the guest stands still there is not a whole window for each of thousands of clients. */
static bool has_share(const struct udp *u, const struct flow *f)
{
	size_t share = QUEUED_MOST / u->flows.count;

	return MUX_WINDOW - mux_room(f->st.mux) <= (share > QUEUED_LEAST ? share : QUEUED_LEAST);
}

static void pass_on(struct udp_port *p, const struct udp_key *key, struct dgram *d)
{
	int64_t now = clock_ms();
	struct udp_flow *known = udp_flows_find(&p->all->flows, &p->set, key);
	struct flow *f = known ? flow_of(known) : flow_new(p, key, now);
	enum dgram_result put = f && has_share(p->all, f) ? dgram_write(f->st.mux, d) : DGRAM_LATER;

	use_note(guest_use(p->all->guest), USE_DATAGRAM);
	if (put == DGRAM_BROKEN)
		flow_end(f, MUX_RESET_LIMIT);
	if (put != DGRAM_DONE) {
		p->tally->dropped++;
		return;
	}
	udp_flows_used(&f->in_table, now);
	p->tally->in++;
	p->tally->to_guest += d->len;
}

static void read_key(struct udp_key *key, const struct udp_port *p, const struct sockaddr_storage *ss, struct msghdr *m)
{
	memset(key, 0, sizeof(*key));
	if (p->family == 4) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

		memcpy(key->peer, &in->sin_addr, 4);
		key->port = ntohs(in->sin_port);
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

		memcpy(key->peer, &in6->sin6_addr, 16);
		key->port = ntohs(in6->sin6_port);
		key->scope = in6->sin6_scope_id;
	}
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO)
			memcpy(key->local, CMSG_DATA(h) + offsetof(struct in_pktinfo, ipi_spec_dst), 4);
		else if (h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_PKTINFO)
			memcpy(key->local, CMSG_DATA(h) + offsetof(struct in6_pktinfo, ipi6_addr), 16);
	}
}

static void on_fd(void *ctx, unsigned events)
{
	struct udp_port *p = ctx;
	struct dgram *d = &p->all->dgram;

	if (events & WATCH_ERROR) {
		sock_error(p->fd); /* taken from the socket, so that it is not told again and again */
		watch_set(p->watch, WATCH_READ);
	}
	for (int i = 0; i < READ_BATCH; i++) {
		struct sockaddr_storage ss;
		union control control;
		struct iovec part = { dgram_payload(d), DGRAM_MAX };
		struct msghdr m = { .msg_name = &ss, .msg_namelen = sizeof(ss), .msg_iov = &part, .msg_iovlen = 1,
				    .msg_control = &control, .msg_controllen = sizeof(control) };
		struct udp_key key;
		ssize_t n = recvmsg(p->fd, &m, 0);

		if (n < 0)
			return;
		d->len = (size_t)n;
		read_key(&key, p, &ss, &m);
		pass_on(p, &key, d);
	}
}

/* --- ports --- */

static int bind_udp(const struct ap_port *host, bool wildcard, struct err *e)
{
	struct sockaddr_storage ss;
	socklen_t len = sock_ip_addr(host->family, host->addr, host->port, &ss);
	auto_close int fd = socket(ss.ss_family, SOCK_DGRAM, 0);
	int one = 1, bytes = RECEIVE_BYTES;

	if (fd < 0 || io_set_cloexec(fd, true) < 0)
		return err_errno(e, "UDP socket");
	/* No SO_REUSEADDR: with UDP it would share the port with whoever has it, and take what is theirs. */
	if (host->family == 6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		return err_errno(e, "IPv6 alone");
	if (wildcard && (host->family == 6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof(one)) :
					     setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one))) < 0)
		return err_errno(e, "addresses of datagrams");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(fd, (struct sockaddr *)&ss, len) < 0)
		return err_errno(e, "bind");
	return steal_fd(&fd);
}

static void set_target(struct udp_port *p, const struct ap_open *guest)
{
	ssize_t n = ap_open_pack(guest, p->request, sizeof(p->request));

	if (n < 0)
		abort(); /* an address always fits */
	p->request_len = (size_t)n;
}

struct udp_port *udp_listen(struct udp *u, struct tally *t, const struct ap_port *host, const struct ap_open *guest,
			    struct err *e)
{
	bool wildcard = fwd_is_zero(host);
	int fd = bind_udp(host, wildcard, e);
	struct udp_port *p;

	if (fd < 0)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->all = u;
	p->fd = fd;
	p->family = host->family;
	p->wildcard = wildcard;
	p->tally = tally_keep(t);
	p->watch = watch_new(u->loop, fd, on_fd, p);
	if (!p->watch)
		abort(); /* a socket can always be watched */
	set_target(p, guest);
	udp_flows_join(&u->flows, &p->set);
	watch_set(p->watch, WATCH_READ);
	return p;
}

static void end_flows(struct udp_port *p)
{
	struct udp_flow *f;

	while ((f = udp_set_oldest(&p->set)))
		flow_end(flow_of(f), MUX_RESET_ABORT);
}

void udp_retarget(struct udp_port *p, const struct ap_open *guest)
{
	end_flows(p);
	set_target(p, guest);
}

void udp_close(struct udp_port *p)
{
	if (!p)
		return;
	end_flows(p);
	udp_flows_leave(&p->all->flows, &p->set);
	watch_free(p->watch);
	close(p->fd);
	tally_drop(p->tally);
	free(p);
}

struct udp *udp_new(struct loop *l, struct guest *g)
{
	struct udp *u = xcalloc(1, sizeof(*u));

	u->loop = l;
	u->guest = g;
	u->idle_ms = 1000 * (int64_t)env_seconds("LIMACTL_C_UDP_IDLE_SECONDS", UDP_IDLE_MS / 1000);
	u->expiry = deadline_new(l, on_expiry, u);
	/* Without it the table works as well, for all clients but those that mean harm. */
	if (getentropy(&u->flows.seed, sizeof(u->flows.seed)) < 0)
		u->flows.seed = 0;
	return u;
}

void udp_free(struct udp *u)
{
	if (!u)
		return;
	deadline_free(u->expiry);
	free(u);
}
