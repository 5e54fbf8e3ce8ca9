/* What the host agent does in the guest before the instance is ready. */
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

static void add_probe(struct making *m, const struct cfg_probe *from)
{
	struct plan_probe *p = PLAN_APPEND(m->p->probe, m->p->probes);

	p->description = xstrdup(from->description);
	p->script = xstrdup(from->script);
	p->hint = xstrdup(from->hint ? from->hint : "");
}

static void add_copy(struct making *m, const struct cfg_copy_to_host *from)
{
	struct plan_copy *c = PLAN_APPEND(m->p->copy, m->p->copies);

	c->guest_path = xstrdup(from->guest);
	c->host_path = xstrdup(from->host);
	c->skip_if_missing = from->skip_if_missing;
	c->delete_on_stop = from->delete_on_stop;
}

void plan_make_tasks(struct making *m)
{
	m->p->probe_seconds = m->h->probe_seconds;
	for (size_t i = 0; i < m->c->probes; i++)
		add_probe(m, &m->c->probe[i]);
	for (size_t i = 0; i < m->c->copies; i++)
		add_copy(m, &m->c->copy[i]);
}
