/* host.h - the host's own resolver: its files, its name servers, whatever its nsswitch.conf names. */
#ifndef LIMA_RESOLVER_HOST_H
#define LIMA_RESOLVER_HOST_H

#include "limactl-c/resolver/answer.h"

extern const struct host_ops host_ops;

#endif
