/* forward.h - which host port a listening port of the guest becomes: Lima's rules, without any side effect. */
#ifndef LIMA_HOSTAGENT_FORWARD_H
#define LIMA_HOSTAGENT_FORWARD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/agentproto.h"
#include "lib/err.h"
#include "limactl-c/plan/plan.h"

/* A rule with its addresses read. proto of an address is not used. */
struct fwd_rule {
	enum plan_proto proto;
	bool ignore, guest_ip_must_be_zero;
	struct ap_port guest, host; /* ports: the first of the range */
	uint16_t guest_last;
};

/* malloc'd array of plan->rules rules; NULL with *e when an address is not numeric. */
struct fwd_rule *fwd_rules(const struct plan *plan, struct err *e);

enum fwd_verdict {
	FWD_TO,     /* *host is the address to listen on */
	FWD_NOT,    /* not forwarded, worth telling */
	FWD_SILENT, /* not forwarded and the rules begin with one that ignores everything: nobody wants to hear it */
};

/* The first rule that matches decides. */
enum fwd_verdict fwd_match(const struct fwd_rule *rules, size_t n, const struct ap_port *guest, struct ap_port *host);

/* A listener that should be there. */
struct fwd_want {
	struct ap_port host;   /* where it listens */
	struct ap_port guest;  /* as the guest's socket is bound */
	bool extra;            /* the ::1 beside 127.0.0.1: no complaint on a host without IPv6 */
};

/* All wanted listeners for the TCP ports of the guest, sorted by host address, one for each. out has room for
 * 2 * count. Returns their number. */
size_t fwd_wanted(const struct fwd_rule *rules, size_t n, const struct ap_port *ports, size_t count,
		  struct fwd_want *out);

/* The address in the guest to connect to for a socket bound as bound: loopback for the unspecified address. */
struct ap_port fwd_target(const struct ap_port *bound);

int fwd_compare(const struct ap_port *a, const struct ap_port *b); /* proto, family, port, address */

enum { FWD_TEXT_MAX = 64 };
/* "127.0.0.1:80", "[::1]:80" */
void fwd_text(const struct ap_port *a, char out[FWD_TEXT_MAX]);

#endif
