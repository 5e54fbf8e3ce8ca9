/* proxy.h - the guest's environment: env of the template, and the host's proxies as the guest reaches them. */
#ifndef LIMA_PLAN_PROXY_H
#define LIMA_PLAN_PROXY_H

#include <stddef.h>

#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"

struct proxy_env {
	struct plan_pair *item;
	size_t count;
};

/* Lima's rules: with propagateProxyEnv the host's proxy variables win over env; one that is empty is left out; a proxy on a
 * loopback address is at gateway for the guest; each is there in lower and upper case, the lower case decides. And, where
 * there is a proxy: what is here, the guest at address or the host, is never asked of it: no_proxy has them at its end. */
void proxy_env_make(struct proxy_env *env, const struct cfg *c, const struct plan_host *h, const char *gateway,
		    const char *address);
void proxy_env_fini(struct proxy_env *env);

/* value with its host replaced when that is a loopback name or address, else a copy. malloc'd. */
char *proxy_rewrite(const char *value, const char *gateway);

#endif
