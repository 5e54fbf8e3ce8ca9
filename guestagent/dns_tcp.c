#include "guestagent/dns_tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guestagent/accept.h"
#include "lib/be.h"
#include "lib/buf.h"
#include "lib/clock.h"

enum {
	CONNS_MAX = 64,
	LENGTH = 2,            /* before each message */
	QUESTION_MAX = 4096,   /* more is no question */
	OUT_MAX = 512 * 1024,  /* answers that were not read: who leaves more is cut off */
	IDLE_MS = 10000,
};

struct dns_conn {
	struct dns_tcp *tcp;
	struct ga_watch watch;
	struct dns_conn *next;
	int64_t used; /* clock_ms() */
	bool ended;   /* it asks no more */
	bool doomed;  /* it goes when on_conn() is through with it */
	bool busy;    /* on_conn() works with it */
	unsigned open; /* questions without an answer */
	size_t in_len;
	uint8_t in[LENGTH + QUESTION_MAX];
	struct buf out;
};

struct dns_tcp {
	struct ga_loop *loop;
	struct ga_accept listener;
	struct ga_timer idle; /* armed while there are connections */
	struct dns_conn *first;
	size_t count;
	int (*asked)(void *ctx, struct dns_conn *c, const uint8_t *p, size_t n);
	void (*gone)(void *ctx, struct dns_conn *c);
	void *ctx;
};

static void conn_free(struct dns_conn *c)
{
	struct dns_tcp *t = c->tcp;
	struct dns_conn **at = &t->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	t->count--;
	if (!t->count)
		ga_timer_stop(t->loop, &t->idle);
	t->gone(t->ctx, c);
	ga_loop_close(t->loop, &c->watch);
	buf_free(&c->out);
	free(c);
}

static void flush(struct dns_conn *c)
{
	while (c->out.len) {
		ssize_t k = send(c->watch.fd, c->out.data, c->out.len, MSG_NOSIGNAL);

		if (k >= 0) {
			buf_drop_front(&c->out, (size_t)k);
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			c->doomed = true;
			return;
		}
	}
	if (!c->out.len)
		buf_free(&c->out);
	ga_loop_change(c->tcp->loop, &c->watch, (c->ended ? 0 : EPOLLIN) | (c->out.len ? EPOLLOUT : 0));
	c->doomed |= c->ended && !c->open && !c->out.len;
}

void dns_tcp_answer(struct dns_conn *c, const uint8_t *p, size_t n)
{
	uint8_t length[LENGTH];

	be16_put(length, (uint16_t)n);
	c->open--;
	c->used = clock_ms();
	if (buf_add(&c->out, length, sizeof(length)) < 0 || buf_add(&c->out, p, n) < 0)
		c->doomed = true;
	else
		flush(c);
	if (c->doomed && !c->busy)
		conn_free(c);
}

/* Whole questions among what has come. */
static void take(struct dns_conn *c)
{
	while (!c->doomed && c->in_len >= LENGTH) {
		size_t n = be16_get(c->in);

		if (n > QUESTION_MAX)
			c->doomed = true;
		if (c->doomed || c->in_len < LENGTH + n)
			return;
		c->open++;
		c->doomed |= c->tcp->asked(c->tcp->ctx, c, c->in + LENGTH, n) < 0;
		c->in_len -= LENGTH + n;
		memmove(c->in, c->in + LENGTH + n, c->in_len);
	}
}

static void on_conn(struct ga_watch *w, uint32_t events)
{
	struct dns_conn *c = ga_of(w, struct dns_conn, watch);
	ssize_t k;

	c->used = clock_ms();
	c->busy = true;
	c->doomed |= (events & (EPOLLHUP | EPOLLERR)) != 0;
	if (!c->doomed && (events & EPOLLIN)) {
		k = recv(w->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, 0);
		if (k > 0) {
			c->in_len += (size_t)k;
			take(c);
		} else if (k == 0) {
			c->ended = true;
		} else if (errno != EAGAIN && errno != EINTR) {
			c->doomed = true;
		}
	}
	if (!c->doomed)
		flush(c);
	c->busy = false;
	if (c->doomed)
		conn_free(c);
}

static void on_idle(struct ga_timer *timer)
{
	struct dns_tcp *t = ga_of(timer, struct dns_tcp, idle);
	int64_t now = clock_ms();
	struct dns_conn *next;

	for (struct dns_conn *c = t->first; c; c = next) {
		next = c->next;
		if (now - c->used >= IDLE_MS)
			conn_free(c);
	}
	if (t->count)
		ga_timer_set(t->loop, &t->idle, IDLE_MS);
}

static void on_connection(struct ga_accept *a, int fd)
{
	struct dns_tcp *t = ga_of(a, struct dns_tcp, listener);
	struct dns_conn *c;

	c = t->count < CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->tcp = t;
	c->out.max = OUT_MAX;
	c->used = clock_ms();
	c->watch = (struct ga_watch){ fd, on_conn };
	if (ga_loop_add(t->loop, &c->watch, EPOLLIN) < 0) {
		close(fd);
		free(c);
		return;
	}
	c->next = t->first;
	t->first = c;
	if (!t->count++)
		ga_timer_set(t->loop, &t->idle, IDLE_MS);
}

struct dns_tcp *dns_tcp_new(struct ga_loop *loop, int fd,
			    int (*asked)(void *ctx, struct dns_conn *c, const uint8_t *p, size_t n),
			    void (*gone)(void *ctx, struct dns_conn *c), void *ctx)
{
	struct dns_tcp *t = calloc(1, sizeof(*t));

	if (t) {
		*t = (struct dns_tcp){ .loop = loop, .idle = { .fn = on_idle }, .asked = asked, .gone = gone, .ctx = ctx };
		t->listener = (struct ga_accept){ .loop = loop, .name = "questions of names by TCP", .take = on_connection };
		if (ga_accept_start(&t->listener, fd) == 0)
			return t;
	}
	free(t);
	close(fd);
	return NULL;
}

void dns_tcp_free(struct dns_tcp *t)
{
	if (!t)
		return;
	while (t->first)
		conn_free(t->first);
	ga_accept_close(&t->listener);
	free(t);
}
