#include "limactl-c/hostagent/forward.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

static const uint8_t zero[16];
static const uint8_t loopback6[16] = { [15] = 1 };
static const uint8_t loopback4[4] = { 127, 0, 0, 1 };

static size_t addr_len(const struct ap_port *a)
{
	return a->family == 6 ? 16 : 4;
}

bool fwd_is_zero(const struct ap_port *a)
{
	return !memcmp(a->addr, zero, addr_len(a));
}

static bool is_loopback4(const struct ap_port *a)
{
	return a->family == 4 && !memcmp(a->addr, loopback4, 4);
}

static bool is_loopback6(const struct ap_port *a)
{
	return a->family == 6 && !memcmp(a->addr, loopback6, 16);
}

static bool same_addr(const struct ap_port *a, const struct ap_port *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, addr_len(a));
}

int fwd_parse(struct ap_port *a, const char *ip, struct err *e)
{
	if (inet_pton(AF_INET, ip, a->addr) == 1)
		a->family = 4;
	else if (inet_pton(AF_INET6, ip, a->addr) == 1)
		a->family = 6;
	else
		return err_set(e, ERR_INVALID, "\"%s\" is no IP address", ip);
	return 0;
}

struct fwd_rule *fwd_rules(const struct plan *plan, struct err *e)
{
	auto_free struct fwd_rule *rules = xcalloc(plan->rules, sizeof(*rules));

	for (size_t i = 0; i < plan->rules; i++) {
		const struct plan_port_rule *from = &plan->rule[i];
		struct fwd_rule *r = &rules[i];

		if (fwd_parse(&r->guest, from->guest_ip, e) < 0 || fwd_parse(&r->host, from->host_ip, e) < 0) {
			err_wrap(e, "port forward %zu", i + 1);
			return NULL;
		}
		r->proto = from->proto;
		r->ignore = from->ignore;
		r->is_static = from->is_static;
		r->to_socket = from->to_socket;
		r->guest_ip_must_be_zero = from->guest_ip_must_be_zero;
		r->guest.port = from->guest_first;
		r->guest_last = from->guest_last;
		r->host.port = from->host_first;
	}
	return steal(&rules);
}

static bool matches(const struct fwd_rule *r, const struct ap_port *guest)
{
	enum plan_proto proto = guest->proto == AP_UDP ? PLAN_UDP : PLAN_TCP;

	if (!(r->proto & proto) || guest->port < r->guest.port || guest->port > r->guest_last)
		return false;
	if (!fwd_is_zero(guest) && !same_addr(guest, &r->guest) && !(is_loopback6(guest) && is_loopback4(&r->guest)) &&
	    !(fwd_is_zero(&r->guest) && !r->guest_ip_must_be_zero))
		return false;
	/* To ignore one address of a guest that listens on all would hide the others. */
	return !(r->ignore && fwd_is_zero(guest) && !fwd_is_zero(&r->guest));
}

static bool ignores_everything(const struct fwd_rule *r, const struct ap_port *guest)
{
	enum plan_proto proto = guest->proto == AP_UDP ? PLAN_UDP : PLAN_TCP;

	return r->ignore && (r->proto & proto) && r->guest.port <= 1 && r->guest_last == 65535;
}

/* What to say of a port that is not forwarded: Lima's rules for single ports, which stand before the template's, count as
 * none. */
static enum fwd_verdict unwanted(const struct fwd_rule *rules, size_t n, const struct ap_port *guest)
{
	for (size_t i = 0; i < n && rules[i].ignore; i++) {
		if (ignores_everything(&rules[i], guest))
			return FWD_SILENT;
	}
	return FWD_NOT;
}

enum fwd_verdict fwd_match(const struct fwd_rule *rules, size_t n, const struct ap_port *guest, struct ap_port *host)
{
	enum fwd_verdict otherwise = unwanted(rules, n, guest);

	for (size_t i = 0; i < n; i++) {
		uint32_t port;

		if (!matches(&rules[i], guest))
			continue;
		if (rules[i].to_socket)
			return FWD_SILENT;
		port = (uint32_t)(guest->port - rules[i].guest.port) + rules[i].host.port;
		if (rules[i].ignore || port > 65535)
			return otherwise;
		*host = rules[i].host;
		host->proto = guest->proto;
		host->port = (uint16_t)port;
		return FWD_TO;
	}
	return otherwise;
}

/* Of two ports of the guest that want the same host port: IPv4 first, then the wider binding, so that the choice does
 * not depend on the order in which they appeared. */
static int preference(const struct ap_port *guest)
{
	return (guest->family == 4 ? 0 : 2) + (fwd_is_zero(guest) ? 0 : 1);
}

static int compare_want(const void *a, const void *b)
{
	const struct fwd_want *x = a, *y = b;
	int d = fwd_compare(&x->host, &y->host);

	if (!d)
		d = x->fixed - y->fixed; /* what listens in the guest knows best where */
	if (!d)
		d = preference(&x->guest) - preference(&y->guest);
	if (!d)
		d = x->extra - y->extra;
	return d ? d : fwd_compare(&x->guest, &y->guest);
}

/* The IPv6 address that people reach where they reach this IPv4 one. */
static bool beside(const struct ap_port *host, struct ap_port *out)
{
	*out = *host;
	out->family = 6;
	memset(out->addr, 0, sizeof(out->addr));
	if (is_loopback4(host))
		memcpy(out->addr, loopback6, sizeof(loopback6));
	return host->family == 4 && (is_loopback4(host) || fwd_is_zero(host));
}

/* Ports of a static rule; it is for TCP alone. */
static size_t fixed_count(const struct fwd_rule *r)
{
	return r->is_static && !r->ignore && !r->to_socket && (r->proto & PLAN_TCP) ? (size_t)(r->guest_last - r->guest.port) + 1 : 0;
}

static size_t add_fixed(const struct fwd_rule *r, struct fwd_want *out)
{
	size_t count = fixed_count(r);

	for (size_t i = 0; i < count; i++) {
		struct fwd_want *w = &out[i];

		*w = (struct fwd_want){ .host = r->host, .guest = r->guest, .fixed = true };
		w->host.proto = w->guest.proto = AP_TCP;
		w->host.port = (uint16_t)(r->host.port + i);
		w->guest.port = (uint16_t)(r->guest.port + i);
	}
	return count;
}

struct ap_port fwd_beside4(const struct ap_port *extra)
{
	struct ap_port a = *extra;

	a.family = 4;
	memset(a.addr, 0, sizeof(a.addr));
	if (is_loopback6(extra))
		memcpy(a.addr, loopback4, sizeof(loopback4));
	return a;
}

size_t fwd_wanted_most(const struct fwd_rule *rules, size_t n, size_t count)
{
	size_t most = 2 * count;

	for (size_t i = 0; i < n; i++)
		most += fixed_count(&rules[i]);
	return most;
}

size_t fwd_wanted(const struct fwd_rule *rules, size_t n, const struct ap_port *ports, size_t count,
		  struct fwd_want *out)
{
	size_t wants = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct fwd_want w = { .guest = ports[i] };

		if (fwd_match(rules, n, &ports[i], &w.host) != FWD_TO)
			continue;
		out[wants++] = w;
		if (ports[i].family == 6 && (fwd_is_zero(&ports[i]) || is_loopback6(&ports[i])) &&
		    beside(&out[wants - 1].host, &w.host)) {
			w.extra = true;
			out[wants++] = w;
		}
	}
	for (size_t i = 0; i < n; i++)
		wants += add_fixed(&rules[i], &out[wants]);
	if (wants)
		qsort(out, wants, sizeof(*out), compare_want);
	for (size_t i = 0; i < wants; i++) {
		if (!kept || fwd_compare(&out[kept - 1].host, &out[i].host))
			out[kept++] = out[i];
	}
	return kept;
}

struct ap_port fwd_target(const struct ap_port *bound)
{
	struct ap_port t = *bound;

	if (fwd_is_zero(bound))
		memcpy(t.addr, bound->family == 6 ? loopback6 : loopback4, addr_len(bound));
	return t;
}

struct ap_port fwd_loopback(uint16_t port)
{
	return fwd_target(&(struct ap_port){ .proto = AP_TCP, .family = 4, .port = port });
}

const char *fwd_proto(const struct ap_port *a)
{
	return a->proto == AP_UDP ? "udp" : "tcp";
}

struct ap_open fwd_open(const struct ap_port *bound)
{
	struct ap_port t = fwd_target(bound);
	struct ap_open o = { .kind = bound->proto == AP_UDP ? AP_OPEN_UDP : AP_OPEN_TCP, .family = t.family, .port = t.port };

	memcpy(o.addr, t.addr, sizeof(o.addr));
	return o;
}

struct ap_open fwd_open_path(const char *path)
{
	struct ap_open o = { .kind = AP_OPEN_UNIX };

	snprintf(o.path, sizeof(o.path), "%s", path);
	return o;
}

int fwd_compare(const struct ap_port *a, const struct ap_port *b)
{
	if (a->proto != b->proto)
		return a->proto - b->proto;
	if (a->family != b->family)
		return a->family - b->family;
	if (a->port != b->port)
		return a->port - b->port;
	return memcmp(a->addr, b->addr, addr_len(a));
}

void fwd_text(const struct ap_port *a, char out[FWD_TEXT_MAX])
{
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(a->family == 6 ? AF_INET6 : AF_INET, a->addr, ip, sizeof(ip));
	snprintf(out, FWD_TEXT_MAX, a->family == 6 ? "[%s]:%u" : "%s:%u", ip, a->port);
}
