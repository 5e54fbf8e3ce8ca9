/* A rule of a packet filter as the kernel lists it: what comes out of it is a port that can be. */
#include <assert.h>

#include "guestagent/nat_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nat_rule r;

	if (nat_rule_parse(data, size, &r)) {
		assert(r.port.port > 0 && r.last >= r.port.port && r.last - r.port.port < NAT_RANGE_MAX);
		assert(r.port.proto == AP_TCP || r.port.proto == AP_UDP);
		assert(r.port.family == 4 || r.port.family == 6);
	}
	return 0;
}
