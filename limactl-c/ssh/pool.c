#include "limactl-c/ssh/pool.h"

#include <string.h>

#include "lib/clock.h"
#include "limactl-c/base/mem.h"

enum { STUCK_MS = 500 }; /* an opening that takes longer is not waited for by others */

void pool_init(struct pool *p, struct server *server)
{
	*p = (struct pool){ .server = server };
	list_init(&p->waiting);
}

void pool_fini(struct pool *p)
{
	while (p->count)
		connection_free(p->conn[--p->count]);
}

void pool_connect(struct pool *p)
{
	p->conn[p->count++] = connection_new(p->server);
}

bool pool_is_ready(const struct pool *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->conn[i]->state == CONNECTION_READY)
			return true;
	return false;
}

bool pool_is_empty(const struct pool *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->conn[i]->state != CONNECTION_LOST)
			return false;
	return true;
}

/* The connection that was to have a place for them did not come about. */
static void refuse_waiting(struct pool *p)
{
	while (!list_empty(&p->waiting)) {
		struct chan *ch = list_item(p->waiting.next, struct chan, in_line);

		list_del(&ch->in_line);
		ch->state = CHAN_REFUSED;
		ch->crowded = false;
	}
}

/* Lost ones stay until their channels have been let go of. */
static void drop_lost(struct pool *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->conn[i]->state == CONNECTION_LOST && !p->conn[i]->channels)
			connection_free(p->conn[i]);
		else
			p->conn[kept++] = p->conn[i];
	}
	p->count = kept;
}

void pool_step(struct pool *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct connection *c = p->conn[i];
		enum connection_state was = c->state;

		connection_step(c);
		if (c->state != CONNECTION_LOST || was == CONNECTION_LOST)
			continue;
		p->why = c->why;
		p->stranger = c->stranger;
		if (was < CONNECTION_READY)
			refuse_waiting(p);
	}
}

/* Where ch can be opened. *later: nowhere now, but soon. */
static struct connection *find(const struct pool *p, const struct chan *ch, bool *later)
{
	int64_t now = clock_ms();

	*later = false;
	for (size_t i = 0; i < p->count; i++) {
		struct connection *c = p->conn[i];

		if (connection_fits(c, ch->type) && !c->opening.type)
			return c;
		*later |= c->state < CONNECTION_READY ||
			  (connection_fits(c, ch->type) && now - c->opening.since < STUCK_MS);
	}
	return NULL;
}

void pool_dispatch(struct pool *p)
{
	struct node *n, *next;

	drop_lost(p);
	for (n = p->waiting.next; n != &p->waiting; n = next) {
		struct chan *ch = list_item(n, struct chan, in_line);
		bool later;
		struct connection *c = find(p, ch, &later);

		next = n->next;
		if (c) {
			list_del(n);
			connection_open(c, ch);
		} else if (!later && p->count < POOL_MAX) {
			pool_connect(p);
		}
	}
	for (size_t i = 0; i < p->count; i++)
		connection_flush(p->conn[i]);
}

size_t pool_poll(const struct pool *p, struct pollfd fds[POOL_MAX])
{
	for (size_t i = 0; i < p->count; i++)
		fds[i] = connection_poll(p->conn[i]);
	return p->count;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < 0 || b < a ? b : a;
}

int pool_timeout(const struct pool *p)
{
	int64_t at = -1, now = clock_ms();

	for (size_t i = 0; i < p->count; i++) {
		const struct connection *c = p->conn[i];

		if (c->state < CONNECTION_READY)
			at = sooner(at, c->deadline);
		if (c->state == CONNECTION_READY && c->opening.type && !list_empty(&p->waiting) &&
		    now - c->opening.since < STUCK_MS)
			at = sooner(at, c->opening.since + STUCK_MS);
	}
	return at < 0 ? -1 : at <= now ? 0 : (int)(at - now);
}

void pool_open(struct pool *p, struct chan *ch, const char *type, uint8_t *request, size_t len)
{
	*ch = (struct chan){ .state = CHAN_WAITING, .type = type, .request = request, .request_len = len };
	list_add(&p->waiting, &ch->in_line);
}

enum chan_state pool_state(struct pool *p, struct chan *ch)
{
	/* It waits for another place. */
	if (ch->state == CHAN_REFUSED && ch->crowded) {
		const char *type = ch->type;

		connection_close(ch);
		pool_open(p, ch, type, NULL, 0);
	}
	chan_is_open(ch);
	return ch->state;
}

void pool_close(struct chan *ch)
{
	list_del(&ch->in_line);
	connection_close(ch);
}
