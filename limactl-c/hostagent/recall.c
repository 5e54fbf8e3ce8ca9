#include "limactl-c/hostagent/recall.h"

#include <stdlib.h>
#include <string.h>

#include "lib/list.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/docker_api.h"
#include "limactl-c/hostagent/docker_watch.h"
#include "limactl-c/hostagent/http.h"
#include "limactl-c/hostagent/use.h"

struct known {
	struct node in_list;
	struct buf question, answer;
	uint64_t changes; /* use's, when it was asked */
};

struct recall {
	struct guest *guest;
	struct docker_watch *watch;
	bool begun; /* changes are told */
	bool awake, asleep;
	struct node list; /* oldest first */
	size_t count, bytes;
};

static const uint64_t NOT_FOLLOWED = UINT64_MAX;

static void drop(struct recall *r, struct known *k)
{
	r->count--;
	r->bytes -= k->question.len + k->answer.len;
	list_del(&k->in_list);
	buf_free(&k->question);
	buf_free(&k->answer);
	free(k);
}

static void forget(struct recall *r)
{
	while (!list_empty(&r->list))
		drop(r, list_item(r->list.next, struct known, in_list));
}

/* --- what Docker tells --- */

static void on_begun(void *ctx)
{
	((struct recall *)ctx)->begun = true;
}

static void on_changed(void *ctx)
{
	struct recall *r = ctx;

	guest_use(r->guest)->changes++;
	forget(r);
}

static void on_ended(void *ctx)
{
	struct recall *r = ctx;

	r->begun = false;
	on_changed(r);
}

static const struct docker_watch_ops watch_ops = { .begun = on_begun, .changed = on_changed, .ended = on_ended };

/* --- questions --- */

static struct known *find(struct recall *r, const char *p, size_t n)
{
	for (struct node *at = r->list.next; at != &r->list; at = at->next) {
		struct known *k = list_item(at, struct known, in_list);

		if (k->question.len == n && !memcmp(k->question.data, p, n))
			return k;
	}
	return NULL;
}

const struct buf *recall_find(struct recall *r, const char *p, size_t n)
{
	struct known *k = find(r, p, n);

	if (!k)
		return NULL;
	if (k->changes == guest_use(r->guest)->changes)
		return &k->answer;
	forget(r); /* none is of now */
	return NULL;
}

uint64_t recall_asked(struct recall *r)
{
	bool followed = r->begun;

	if (!docker_watch_is_active(r->watch))
		docker_watch_start(r->watch);
	return followed ? guest_use(r->guest)->changes : NOT_FOLLOWED;
}

static void copy(struct buf *to, const struct buf *from)
{
	to->max = from->len;
	if (buf_add(to, from->data, from->len) < 0)
		abort(); /* it has its length for a maximum */
}

void recall_keep(struct recall *r, uint64_t asked, const struct buf *question, const struct buf *answer)
{
	struct known *k = find(r, question->data, question->len);

	if (asked != guest_use(r->guest)->changes || http_status(answer->data, answer->len) != 200)
		return;
	if (k)
		drop(r, k);
	k = xcalloc(1, sizeof(*k));
	copy(&k->question, question);
	copy(&k->answer, answer);
	k->changes = asked;
	list_add(&r->list, &k->in_list);
	r->count++;
	r->bytes += question->len + answer->len;
	while (r->count > RECALL_MAX || r->bytes > RECALL_BYTES_MAX)
		drop(r, list_item(r->list.next, struct known, in_list));
}

void recall_state(struct recall *r, bool awake, bool asleep)
{
	if (!r)
		return;
	if (r->asleep && !asleep)
		forget(r);
	r->awake = awake;
	r->asleep = asleep;
}

bool recall_is_awake(const struct recall *r)
{
	return r->awake;
}

bool recall_is_asleep(const struct recall *r)
{
	return r->asleep;
}

/* --- the whole --- */

struct recall *recall_new(struct loop *l, struct guest *g, const char *socket)
{
	struct recall *r = xcalloc(1, sizeof(*r));

	r->guest = g;
	list_init(&r->list);
	r->watch = docker_watch_new(l, g, socket, &watch_ops, r);
	docker_watch_all(r->watch);
	return r;
}

void recall_free(struct recall *r)
{
	if (!r)
		return;
	docker_watch_free(r->watch);
	forget(r);
	free(r);
}
