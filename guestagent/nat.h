/* nat.h - the ports that only packet filter rules publish: nftables' own word that rules changed, and the list of them. */
#ifndef LIMA_NAT_H
#define LIMA_NAT_H

#include <stdbool.h>
#include <stddef.h>

#include "guestagent/nat_rules.h"
#include "guestagent/ports_dump.h"

struct nat;

struct nat *nat_open(void); /* NULL: the kernel has no nftables, or does not let us ask */
void nat_close(struct nat *n);
int nat_fd(const struct nat *n);       /* readable when rules changed */
bool nat_pending(const struct nat *n); /* one system call */
bool nat_changed(struct nat *n);       /* takes what was told; true: the rules are to be listed again */
/* Lists them if they changed. Where that fails the last list counts, and nat_changed() says once more that they changed. */
void nat_list(struct nat *n);

/* Adds to s, which stays sorted, what rules publish and no socket there has. -1: out of memory. */
int nat_add(struct nat *n, struct port_set *s);
/* Where a connection to that port goes when only a rule publishes it: *to, which is not changed otherwise. */
bool nat_target(const struct nat *n, uint8_t proto, uint16_t port, struct ap_port *to);

#endif
