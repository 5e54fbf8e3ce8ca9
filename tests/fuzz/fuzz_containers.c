/* Docker's list of containers, which a hostile guest may have written: what is in it can be found, and has a name of the DNS. */
#include <assert.h>
#include <string.h>

#include "lib/dns.h"
#include "limactl-c/hostagent/containers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container_list list;
	uint8_t wire[DNS_NAME_MAX];
	struct err e;

	if (container_list_parse(&list, (const char *)data, size, &e) == 0) {
		assert(list.count <= CONTAINERS_MAX);
		for (size_t i = 0; i < list.count; i++) {
			const struct container *c = &list.item[i];

			assert(container_list_find(&list, c->name) && dns_name_pack(c->name, wire));
			assert(!c->service || dns_name_pack(c->service, wire));
			assert(c->ports <= CONTAINER_PORTS_MAX && (!c->ports || c->port[c->ports - 1]));
		}
	}
	container_list_free(&list);
	return 0;
}
