#include "limactl-c/hostagent/tally.h"

#include <stdlib.h>

#include "limactl-c/base/mem.h"

struct tally *tally_new(void)
{
	return tally_keep(xcalloc(1, sizeof(struct tally)));
}

struct tally *tally_keep(struct tally *t)
{
	if (t)
		t->keepers++;
	return t;
}

void tally_drop(struct tally *t)
{
	if (t && !--t->keepers)
		free(t);
}

void tally_json(const struct tally *t, bool datagrams, struct jx *o)
{
	jx_set_int(o, "connections", (int64_t)t->now);
	jx_set_int(o, "connectionsTotal", (int64_t)t->total);
	jx_set_int(o, "bytesToGuest", (int64_t)t->to_guest);
	jx_set_int(o, "bytesToHost", (int64_t)t->to_host);
	if (!datagrams)
		return;
	jx_set_int(o, "datagramsToGuest", (int64_t)t->in);
	jx_set_int(o, "datagramsToHost", (int64_t)t->out);
	jx_set_int(o, "datagramsDropped", (int64_t)t->dropped);
}
