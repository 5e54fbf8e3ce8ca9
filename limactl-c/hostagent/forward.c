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

static bool is_zero(const struct ap_port *a)
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

static int parse_addr(struct ap_port *a, const char *ip, struct err *e)
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

		if (parse_addr(&r->guest, from->guest_ip, e) < 0 || parse_addr(&r->host, from->host_ip, e) < 0) {
			err_wrap(e, "port forward %zu", i + 1);
			return NULL;
		}
		r->proto = from->proto;
		r->ignore = from->ignore;
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
	if (!is_zero(guest) && !same_addr(guest, &r->guest) && !(is_loopback6(guest) && is_loopback4(&r->guest)) &&
	    !(is_zero(&r->guest) && !r->guest_ip_must_be_zero))
		return false;
	/* To ignore one address of a guest that listens on all would hide the others. */
	return !(r->ignore && is_zero(guest) && !is_zero(&r->guest));
}

static bool ignores_everything(const struct fwd_rule *r, const struct ap_port *guest)
{
	enum plan_proto proto = guest->proto == AP_UDP ? PLAN_UDP : PLAN_TCP;

	return r->ignore && (r->proto & proto) && r->guest.port <= 1 && r->guest_last == 65535;
}

enum fwd_verdict fwd_match(const struct fwd_rule *rules, size_t n, const struct ap_port *guest, struct ap_port *host)
{
	enum fwd_verdict otherwise = n && ignores_everything(&rules[0], guest) ? FWD_SILENT : FWD_NOT;

	for (size_t i = 0; i < n; i++) {
		uint32_t port;

		if (!matches(&rules[i], guest))
			continue;
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
	return (guest->family == 4 ? 0 : 2) + (is_zero(guest) ? 0 : 1);
}

static int compare_want(const void *a, const void *b)
{
	const struct fwd_want *x = a, *y = b;
	int d = fwd_compare(&x->host, &y->host);

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
	return host->family == 4 && (is_loopback4(host) || is_zero(host));
}

size_t fwd_wanted(const struct fwd_rule *rules, size_t n, const struct ap_port *ports, size_t count,
		  struct fwd_want *out)
{
	size_t wants = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct fwd_want w = { .guest = ports[i] };

		if (ports[i].proto != AP_TCP || fwd_match(rules, n, &ports[i], &w.host) != FWD_TO)
			continue;
		out[wants++] = w;
		if (ports[i].family == 6 && (is_zero(&ports[i]) || is_loopback6(&ports[i])) &&
		    beside(&out[wants - 1].host, &w.host)) {
			w.extra = true;
			out[wants++] = w;
		}
	}
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

	if (is_zero(bound))
		memcpy(t.addr, bound->family == 6 ? loopback6 : loopback4, addr_len(bound));
	return t;
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
