/* What the guest finds around it: environment with the host's proxies, names of hosts, name servers, certificates, time
 * zone. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/plan/proxy.h"

/* The host, as the guest sees it. */
static const char *gateway(const struct making *m)
{
	return m->p->seed ? PLAN_NET_GATEWAY : PLAN_GATEWAY;
}

static void set_env(struct making *m)
{
	CLEANUP(proxy_env_fini) struct proxy_env env = { 0 };

	proxy_env_make(&env, m->c, m->h, gateway(m), m->p->seed ? PLAN_NET_ADDRESS : PLAN_ADDRESS);
	for (size_t i = 0; i < env.count; i++)
		plan_setf(m->p, env.item[i].value, "env.%s", env.item[i].key);
	if (plan_ssh_agent(m->p) && !plan_setting(m->p, "env.SSH_AUTH_SOCK"))
		plan_set(m->p, "env.SSH_AUTH_SOCK", plan_ssh_agent(m->p));
}

static void set_hosts(struct making *m)
{
	const struct cfg *c = m->c;

	for (size_t i = 0; c->host_resolver.enabled && i < c->host_resolver.hosts; i++) {
		const char *address = plan_host_address(c, gateway(m), c->host_resolver.host[i].value);

		if (address)
			plan_setf(m->p, address, "host.%s", c->host_resolver.host[i].key);
	}
}

static void set_dns(struct making *m)
{
	auto_free char *all = plan_join(m->c->dns, m->c->dns_count, " ");

	if (m->c->dns_count)
		plan_set(m->p, "net.dns", all);
}

static void add_name(struct plan *p, const char *name, const char *value)
{
	struct plan_pair *pair = PLAN_APPEND(p->host_name, p->host_names);

	*pair = (struct plan_pair){ .key = xstrdup(name), .value = xstrdup(value) };
}

/* What a guest with an agent asks of the host: at the address of QEMU's own name server, which answers while we do not. */
static void set_resolver(struct making *m)
{
	const char *const ours[][2] = {
		{ "host.lima.internal", gateway(m) },
		{ "host.docker.internal", gateway(m) },
		{ "gateway.docker.internal", gateway(m) },
		{ m->p->hostname, m->p->seed ? PLAN_NET_ADDRESS : PLAN_ADDRESS },
	};
	const struct cfg *c = m->c;

	if (!c->host_resolver.enabled || m->p->ssh_key)
		return;
	m->p->dns_address = xstrdup(m->p->seed ? PLAN_NET_DNS : PLAN_DNS);
	m->p->dns_ipv6 = c->host_resolver.ipv6;
	for (size_t i = 0; i < c->host_resolver.hosts; i++) {
		const struct cfg_env *h = &c->host_resolver.host[i];
		const char *address = plan_host_address(c, gateway(m), h->value);

		add_name(m->p, h->key, address ? address : h->value);
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		add_name(m->p, ours[i][0], ours[i][1]);
}

static int set_certificates(struct making *m, struct err *e)
{
	const struct cfg *c = m->c;

	for (size_t i = 0; i < c->ca_certs.files; i++) {
		const char *path = c->ca_certs.file[i];
		auto_free char *guest = xasprintf(PLAN_CA "%02zu.crt", i);
		bool home = path[0] == '~' && path[1] == '/';

		if (!home && path[0] != '/')
			return err_set(e, ERR_INVALID, "caCerts.files[%zu]: %s must be an absolute path", i, path);
		plan_add_file(m->p, guest, xasprintf("%s%s", home ? m->h->home : "", home ? path + 1 : path), 0644);
	}
	for (size_t i = 0; i < c->ca_certs.certs; i++)
		plan_setf(m->p, c->ca_certs.cert[i], "ca.cert.%02zu", i);
	if (c->ca_certs.remove_defaults)
		plan_set(m->p, "ca.removeDefaults", "true");
	return 0;
}

static void set_timezone(struct making *m)
{
	const char *name = m->c->timezone;
	char *file;

	if (!name || !*name)
		return;
	plan_set(m->p, "timezone", name);
	/* For a guest that has no time zones of its own. */
	file = plan_host_zone(m->h, name);
	if (file)
		plan_add_file(m->p, "lima/localtime", file, 0644);
}

int plan_make_surroundings(struct making *m, struct err *e)
{
	set_env(m);
	set_hosts(m);
	set_dns(m);
	set_resolver(m);
	set_timezone(m);
	if (m->c->upgrade_packages)
		plan_set(m->p, "upgradePackages", "true");
	return set_certificates(m, e);
}

const char *plan_host_address(const struct cfg *c, const char *gateway_address, const char *name)
{
	enum { STEPS = 16 }; /* from name to name */
	const char *const known[][2] = {
		{ "host.lima.internal", gateway_address },
		{ "localhost", "127.0.0.1" },
	};
	unsigned char address[16];
	size_t i = 0;

	for (int step = 0; step < STEPS; step++) {
		if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
			return name;
		for (i = 0; i < c->host_resolver.hosts; i++) {
			if (!strcasecmp(c->host_resolver.host[i].key, name))
				break;
		}
		if (i == c->host_resolver.hosts)
			break;
		name = c->host_resolver.host[i].value;
	}
	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!strcasecmp(known[i][0], name))
			return known[i][1];
	}
	return NULL;
}
