/* validate.c - rules across fields, on a filled configuration. Whether it can be carried out is the plan's business. */
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/where.h"

enum { PORT_SSH = 22, PORT_MAX = 65535 };

/* path is freed. */
static void ERR_FMT(5, 0)
	tell(struct check *k, char *path, struct place at, bool warning, const char *fmt, va_list ap)
{
	auto_free char *own = path;

	finding_add(k->f, at, own, warning, fmt, ap);
}

void check_bad(struct check *k, char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(k, path, where_place(k->c, k->in->instance.name, path), false, fmt, ap);
	va_end(ap);
}

void check_bad_key(struct check *k, char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(k, path, where_key_place(k->c, k->in->instance.name, path), false, fmt, ap);
	va_end(ap);
}

void check_warn(struct check *k, char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(k, path, where_place(k->c, k->in->instance.name, path), true, fmt, ap);
	va_end(ap);
}

void check_port(struct check *k, uint32_t port, char *path)
{
	if (port == PORT_SSH)
		check_bad(k, path, "must not be 22, the host's own ssh");
	else
		free(path);
}

static void check_base(struct check *k)
{
	if (k->c->bases)
		check_bad(k, xstrdup("base"),
			  "is carried out when an instance is created, not later; write it into the template with "
			  "`limactl-c template copy --embed`, or create a new instance from it");
}

static void check_minimum_version(struct check *k)
{
	const char *wanted = k->c->minimum_lima_version;
	unsigned want[3], have[3];

	if (!wanted || sscanf(wanted + (*wanted == 'v'), "%5u.%5u.%5u", &want[0], &want[1], &want[2]) != 3)
		return;
	sscanf(CFG_LIMA_VERSION, "%u.%u.%u", &have[0], &have[1], &have[2]);
	for (size_t i = 0; i < 3 && want[i] >= have[i]; i++) {
		if (want[i] > have[i]) {
			check_bad(k, xstrdup("minimumLimaVersion"),
				  "asks for Lima version `%.40s`; this follows only `" CFG_LIMA_VERSION "`", wanted);
			return;
		}
	}
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static void check_env(struct check *k)
{
	for (size_t i = 0; i < k->c->envs; i++) {
		const char *key = k->c->env[i].key;

		if (!*key || strchr(DIGITS, *key) || strspn(key, UPPER LOWER DIGITS "_") != strlen(key))
			check_bad_key(k, xasprintf("env.%s", key),
				      "is no name of a variable: letters, digits and _ only");
	}
}

static void check_idle(struct check *k)
{
	uint32_t pause = k->c->idle.pause_after, suspend = k->c->idle.suspend_after;

	if (pause && suspend && suspend < pause)
		check_bad(k, xstrdup("idle.suspendAfter"), "must not be less than `idle.pauseAfter` (%us, %us)",
			  suspend, pause);
}

static void check_probes(struct check *k)
{
	for (size_t i = 0; i < k->c->probes; i++) {
		const struct cfg_probe *p = &k->c->probe[i];

		if (p->file.url)
			check_bad(k, xasprintf("probes[%zu].file", i),
				  "is read when an instance is created, not later; write the script into the template "
				  "with `limactl-c template copy --embed-all`");
		else if (!p->script)
			check_bad(k, xasprintf("probes[%zu].script", i), "must be set");
	}
}

static void check_resolver(struct check *k)
{
	const struct cfg *c = k->c;

	if (c->host_resolver.enabled && c->dns_count)
		check_bad(k, xstrdup("dns"), "must be empty while `hostResolver.enabled` is true");
	for (size_t i = 0; i < c->host_resolver.hosts; i++) {
		const struct cfg_env *h = &c->host_resolver.host[i];

		if (!*h->key || !*h->value)
			check_bad_key(k, xasprintf("hostResolver.hosts.%s", h->key),
				      "must be a name and its address, or another name");
	}
}

void validate_rules(const struct cfg *c, const struct cfg_input *in, struct findings *f)
{
	static void (*const areas[])(struct check *) = {
		check_base,    check_minimum_version, check_machine,  check_images, check_mounts,
		check_provision, check_probes,        check_forwards, check_networks, check_env,
		check_params,  check_resolver,        check_user,     check_idle,
	};
	struct check k = { c, in, f };

	for (size_t i = 0; i < sizeof(areas) / sizeof(*areas); i++)
		areas[i](&k);
}
