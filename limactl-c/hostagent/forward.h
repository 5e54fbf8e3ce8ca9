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
	bool ignore, guest_ip_must_be_zero, is_static;
	bool to_socket; /* what it matches has a socket of the host, which is no business of this list */
	struct ap_port guest, host; /* ports: the first of the range */
	uint16_t guest_last;
};

/* malloc'd array of plan->rules rules; NULL with *e when an address is not numeric. */
struct fwd_rule *fwd_rules(const struct plan *plan, struct err *e);

enum fwd_verdict {
	FWD_TO,     /* *host is the address to listen on */
	FWD_NOT,    /* not forwarded, worth telling */
	FWD_SILENT, /* the same, and nobody wants to hear it: the rules begin with one that ignores everything, or it is to_socket */
};

/* The first rule that matches decides. */
enum fwd_verdict fwd_match(const struct fwd_rule *rules, size_t n, const struct ap_port *guest, struct ap_port *host);

/* A listener that should be there. */
struct fwd_want {
	struct ap_port host;   /* where it listens */
	struct ap_port guest;  /* as the guest's socket is bound */
	bool extra;            /* the ::1 beside 127.0.0.1: no complaint on a host without IPv6 */
	bool fixed;            /* of a static rule: nothing is known to listen in the guest */
};

/* All wanted listeners for the ports of the guest and of the static rules, sorted by host address, one for each.
 * out has room for fwd_wanted_most(). Returns their number. */
size_t fwd_wanted(const struct fwd_rule *rules, size_t n, const struct ap_port *ports, size_t count,
		  struct fwd_want *out);
size_t fwd_wanted_most(const struct fwd_rule *rules, size_t n, size_t count);

/* Where a socket bound as bound is reached on its own machine: loopback for the unspecified address. */
struct ap_port fwd_target(const struct ap_port *bound);
struct ap_open fwd_open(const struct ap_port *bound); /* the request for it in the guest, of its protocol */
struct ap_open fwd_open_path(const char *path);       /* for a socket of the guest; a path has at most AP_PATH_MAX - 1 bytes */

bool fwd_is_zero(const struct ap_port *a);   /* the unspecified address */
struct ap_port fwd_loopback(uint16_t port); /* that TCP port of 127.0.0.1 */

/* A numeric address into family and addr; -1 when ip is none. */
int fwd_parse(struct ap_port *a, const char *ip, struct err *e);

/* The IPv4 address that an extra listener stands beside. */
struct ap_port fwd_beside4(const struct ap_port *extra);

int fwd_compare(const struct ap_port *a, const struct ap_port *b); /* proto, family, port, address */

const char *fwd_proto(const struct ap_port *a); /* "tcp", "udp" */

enum { FWD_TEXT_MAX = 64 };
/* "127.0.0.1:80", "[::1]:80" */
void fwd_text(const struct ap_port *a, char out[FWD_TEXT_MAX]);

#endif
