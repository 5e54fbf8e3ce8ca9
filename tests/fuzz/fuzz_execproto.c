/* A START record, and a record header at the front of it. What can be read is written again as it was. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/execproto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t again[EP_START_MAX];
	uint8_t header[EP_HEADER];
	struct ep_start s;
	enum ep_type type;
	size_t len;

	if (size >= EP_HEADER && ep_header_unpack(data, &type, &len) == 0) {
		assert(len <= EP_PAYLOAD_MAX);
		ep_header_pack(header, type, len);
		assert(!memcmp(header, data, EP_HEADER));
	}
	if (ep_start_unpack(&s, data, size) == 0) {
		assert(ep_start_pack(&s, again, sizeof(again)) == (ssize_t)size);
		assert(!memcmp(again, data, size));
		assert(ep_start_pack(&s, again, size - 1) == -1);
	}
	return 0;
}
