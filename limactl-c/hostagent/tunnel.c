#include "limactl-c/hostagent/tunnel.h"

#include <stdlib.h>

#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/forward.h"
#include "limactl-c/hostagent/listen.h"

struct tunnels {
	struct loop *loop;
	struct conns *conns;
	struct {
		struct listener *listener;
		uint16_t port;
	} tunnel[TUNNELS_MAX];
	size_t count;
};

struct tunnels *tunnels_new(struct loop *l, struct conns *cs)
{
	struct tunnels *t = xcalloc(1, sizeof(*t));

	t->loop = l;
	t->conns = cs;
	return t;
}

void tunnels_free(struct tunnels *t)
{
	for (size_t i = 0; t && i < t->count; i++)
		listen_free(t->tunnel[i].listener);
	free(t);
}

int tunnel_open(struct tunnels *t, uint16_t port, struct err *e)
{
	const struct ap_port here = fwd_loopback(port);
	const struct ap_open there = { .kind = AP_OPEN_SOCKS };
	char reason[LISTEN_REASON_MAX];
	struct listener *ln;

	for (size_t i = 0; i < t->count; i++)
		if (!port || t->tunnel[i].port == port)
			return t->tunnel[i].port;
	if (t->count == TUNNELS_MAX)
		return err_set(e, ERR_STATE, "there are %d tunnels already; they end with the instance", TUNNELS_MAX);
	ln = listen_tcp(t->loop, t->conns, NULL, &here, &there, e);
	if (!ln)
		return err_set(e, ERR_STATE, "127.0.0.1:%u: %s", port, listen_reason(e->errnum, port, reason));
	t->tunnel[t->count].listener = ln;
	t->tunnel[t->count].port = listen_port(ln);
	log_info("SOCKS on 127.0.0.1:%u, connections leave from the guest", t->tunnel[t->count].port);
	return t->tunnel[t->count++].port;
}
