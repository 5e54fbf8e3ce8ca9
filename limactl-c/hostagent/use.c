#include "limactl-c/hostagent/use.h"

#include "lib/clock.h"

void use_init(struct use *u)
{
	*u = (struct use){ 0 };
	list_init(&u->askers);
}

static void note(struct use *u, enum use_kind kind)
{
	u->last = clock_ms();
	/* Bytes of a stream that has just come are of what it came for. */
	if (kind != USE_STREAM || !u->wanted)
		u->kind = kind;
	u->wanted = true;
}

void use_note(struct use *u, enum use_kind kind)
{
	u->changes++;
	note(u, kind);
}

void use_note_question(struct use *u)
{
	note(u, USE_SOCKET);
}

void use_asked(struct use *u, struct use_asker *a)
{
	a->at = u->last;
	list_del(&a->in_list);
	list_add(&u->askers, &a->in_list);
}

void use_answered(struct use_asker *a)
{
	list_del(&a->in_list);
}

int64_t use_last_asked(const struct use *u)
{
	return list_empty(&u->askers) ? 0 : list_item(u->askers.prev, struct use_asker, in_list)->at;
}
