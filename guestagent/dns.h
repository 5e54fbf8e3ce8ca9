/* dns.h - the guest's name server: hands each question to the host and its answer back. */
#ifndef LIMA_GUESTAGENT_DNS_H
#define LIMA_GUESTAGENT_DNS_H

#include "guestagent/session.h"

struct ap_open;

/* The host opens one stream; while it is there, the address in o is ours to answer on. At its end everything goes, and
 * the network's own name server answers there as before. */
void ga_dns_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);

/* While the host is not there the network's name server answers; the stream stays. */
void ga_dns_host(struct dns *d, bool there);

#endif
