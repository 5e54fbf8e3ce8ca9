/* validate_networks.c - rules of networks[]. What is in networks.yaml is the plan's business. */
#include <string.h>
#include <sys/stat.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"

static void check_kind(struct check *k, size_t i)
{
	const struct cfg_network *n = &k->c->network[i];
	bool lima = n->lima && *n->lima, socket = n->socket && *n->socket, nat = n->vz_nat == CFG_TRUE;
	struct stat st;

	if (lima + socket + nat != 1)
		check_bad(k, xasprintf("networks[%zu]", i), "must have one of `lima`, `socket` and `vzNAT: true`%s",
			  (lima + socket + nat) ? ", not several" : "");
	if (socket && stat(n->socket, &st) == 0 && !S_ISSOCK(st.st_mode))
		check_bad(k, xasprintf("networks[%zu].socket", i), "must be a socket; %.100s is none", n->socket);
}

void check_networks(struct check *k)
{
	const struct cfg *c = k->c;

	for (size_t i = 0; i < c->networks; i++) {
		check_kind(k, i);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(c->network[i].interface, c->network[j].interface))
				continue;
			check_bad(k, xasprintf("networks[%zu].interface", i),
				  "%s is the interface of `networks[%zu]` already", c->network[i].interface, j);
			break;
		}
	}
}
