#include "limactl-c/hostagent/udp_flows.h"

#include <string.h>

void udp_flows_join(struct udp_flows *t, struct udp_set *s)
{
	list_init(&s->flows);
	s->next = t->sets;
	t->sets = s;
}

void udp_flows_leave(struct udp_flows *t, struct udp_set *s)
{
	struct udp_set **at = &t->sets;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

static size_t bucket_of(const struct udp_flows *t, const struct udp_set *s, const struct udp_key *key)
{
	uint64_t h = t->seed ^ (uintptr_t)s, word;

	for (size_t at = 0; at < sizeof(*key); at += sizeof(word)) {
		memcpy(&word, (const char *)key + at, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return (size_t)(h >> 32) % UDP_FLOWS_BUCKETS;
}

struct udp_flow *udp_flows_find(const struct udp_flows *t, const struct udp_set *s, const struct udp_key *key)
{
	struct udp_flow *f = t->bucket[bucket_of(t, s, key)];

	while (f && (f->set != s || memcmp(&f->key, key, sizeof(*key))))
		f = f->chained;
	return f;
}

void udp_flows_add(struct udp_flows *t, struct udp_set *s, struct udp_flow *f, int64_t now)
{
	size_t b = bucket_of(t, s, &f->key);

	f->set = s;
	f->used = now;
	f->chained = t->bucket[b];
	t->bucket[b] = f;
	list_add(&s->flows, &f->in_set);
	s->count++;
	t->count++;
}

void udp_flows_remove(struct udp_flows *t, struct udp_flow *f)
{
	struct udp_flow **at = &t->bucket[bucket_of(t, f->set, &f->key)];

	while (*at != f)
		at = &(*at)->chained;
	*at = f->chained;
	list_del(&f->in_set);
	f->set->count--;
	t->count--;
}

void udp_flows_used(struct udp_flow *f, int64_t now)
{
	f->used = now;
	list_del(&f->in_set);
	list_add(&f->set->flows, &f->in_set);
}

struct udp_flow *udp_set_oldest(const struct udp_set *s)
{
	return list_empty(&s->flows) ? NULL : list_item(s->flows.next, struct udp_flow, in_set);
}

struct udp_flow *udp_flows_oldest(const struct udp_flows *t)
{
	struct udp_flow *oldest = NULL;

	for (const struct udp_set *s = t->sets; s; s = s->next) {
		struct udp_flow *f = udp_set_oldest(s);

		if (f && (!oldest || f->used < oldest->used))
			oldest = f;
	}
	return oldest;
}

struct udp_flow *udp_flows_victim(const struct udp_flows *t, const struct udp_set *s)
{
	if (s->count == UDP_FLOWS_PORT_MAX)
		return udp_set_oldest(s);
	return t->count == UDP_FLOWS_MAX ? udp_flows_oldest(t) : NULL;
}
