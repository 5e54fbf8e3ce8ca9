#include "limactl-c/plan/proxy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

static const char *const names[][2] = {
	{ "all_proxy", "ALL_PROXY" },
	{ "ftp_proxy", "FTP_PROXY" },
	{ "http_proxy", "HTTP_PROXY" },
	{ "https_proxy", "HTTPS_PROXY" },
	{ "no_proxy", "NO_PROXY" },
};
enum { NAMES = sizeof(names) / sizeof(*names), NO_PROXY = NAMES - 1 };

static struct plan_pair *find(const struct proxy_env *env, const char *key)
{
	for (size_t i = 0; i < env->count; i++) {
		if (!strcmp(env->item[i].key, key))
			return &env->item[i];
	}
	return NULL;
}

/* value is taken. */
static void put(struct proxy_env *env, const char *key, char *value)
{
	struct plan_pair *p = find(env, key);

	if (!p) {
		p = PLAN_APPEND(env->item, env->count);
		p->key = xstrdup(key);
	}
	free(p->value);
	p->value = value;
}

static void drop(struct proxy_env *env, struct plan_pair *p)
{
	free(p->key);
	free(p->value);
	*p = env->item[--env->count];
}

/* --- the host of a proxy --- */

static bool is_loopback(const char *host, size_t n)
{
	static const char name[] = "localhost";
	auto_free char *text = xstrndup(host, n);
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, text, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return n >= strlen(name) && !strcasecmp(text + n - strlen(name), name) &&
	       (n == strlen(name) || text[n - strlen(name) - 1] == '.');
}

char *proxy_rewrite(const char *value, const char *gateway)
{
	const char *scheme = strstr(value, "://"), *authority = scheme ? scheme + 3 : value, *host = authority, *end;
	size_t n = strcspn(authority, "/?#");

	for (size_t i = 0; i < n; i++) {
		if (authority[i] == '@')
			host = authority + i + 1;
	}
	if (*host == '[') {
		end = memchr(host, ']', (size_t)(authority + n - host));
		if (!end || !is_loopback(host + 1, (size_t)(end - host - 1)))
			return xstrdup(value);
		end++;
	} else {
		end = host + strcspn(host, ":/?#");
		if (!is_loopback(host, (size_t)(end - host)))
			return xstrdup(value);
	}
	return xasprintf("%.*s%s%s", (int)(host - value), value, gateway, end);
}

/* --- what is asked without one --- */

/* Whether one of the names in list, with commas or spaces between them, is name. */
static bool lists(const char *list, const char *name)
{
	static const char between[] = ", ";
	size_t n;

	for (list += strspn(list, between); *list; list += n + strspn(list + n, between)) {
		n = strcspn(list, between);
		if (n == strlen(name) && !strncasecmp(list, name, n))
			return true;
	}
	return false;
}

static bool has_proxy(const struct proxy_env *env)
{
	for (size_t i = 0; i < NO_PROXY; i++)
		if (find(env, names[i][0]))
			return true;
	return false;
}

static void append_own(struct proxy_env *env, const char *gateway, const char *address)
{
	const char *const own[] = { "localhost", "127.0.0.1", "::1", address, gateway, "host.lima.internal",
				    "host.docker.internal", "gateway.docker.internal" };
	const struct plan_pair *given = find(env, names[NO_PROXY][0]);
	char *list = xstrdup(given ? given->value : "");

	/* A star means everything only while it is alone. */
	for (size_t i = 0; strcmp(list, "*") != 0 && i < sizeof(own) / sizeof(*own); i++) {
		char *longer = lists(list, own[i]) ? NULL : xasprintf("%s%s%s", list, *list ? "," : "", own[i]);

		if (longer) {
			free(list);
			list = longer;
		}
	}
	put(env, names[NO_PROXY][1], xstrdup(list));
	put(env, names[NO_PROXY][0], list);
}

/* --- the whole --- */

static void mend(struct proxy_env *env, size_t i, size_t upper, const char *gateway)
{
	struct plan_pair *p = find(env, names[i][upper]);

	if (!p)
		return;
	if (!*p->value)
		drop(env, p);
	else if (i != NO_PROXY)
		put(env, names[i][upper], proxy_rewrite(p->value, gateway));
}

void proxy_env_make(struct proxy_env *env, const struct cfg *c, const struct plan_host *h, const char *gateway,
		    const char *address)
{
	for (size_t i = 0; i < c->envs; i++)
		put(env, c->env[i].key, xstrdup(c->env[i].value));
	for (size_t i = 0; c->propagate_proxy_env && i < h->proxies; i++)
		put(env, h->proxy[i].key, xstrdup(h->proxy[i].value));
	for (size_t i = 0; i < NAMES; i++) {
		const struct plan_pair *lower, *upper;

		mend(env, i, 0, gateway);
		mend(env, i, 1, gateway);
		lower = find(env, names[i][0]);
		upper = find(env, names[i][1]);
		if (lower)
			put(env, names[i][1], xstrdup(lower->value));
		else if (upper)
			put(env, names[i][0], xstrdup(upper->value));
	}
	if (has_proxy(env))
		append_own(env, gateway, address);
}

void proxy_env_fini(struct proxy_env *env)
{
	while (env->count)
		drop(env, &env->item[env->count - 1]);
	free(env->item);
	env->item = NULL;
}
