/* First byte: which of the layouts. What can be read is written again as it was. */
#include <assert.h>
#include <string.h>

#include "lib/agentproto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t again[MUX_MESSAGE_MAX];

#define CHECK(type, name)                                                              \
	static void check_##name(const uint8_t *p, size_t n)                           \
	{                                                                              \
		static struct type v;                                                  \
                                                                                       \
		if (name##_unpack(&v, p, n) == 0) {                                    \
			assert(name##_pack(&v, again, sizeof(again)) == (ssize_t)n);   \
			assert(!memcmp(again, p, n));                                  \
			if (n)                                                         \
				assert(name##_pack(&v, again, n - 1) == -1);           \
		}                                                                      \
	}

CHECK(ap_open, ap_open)
CHECK(ap_info, ap_info)
CHECK(ap_ports, ap_ports)
CHECK(ap_provision, ap_provision)
CHECK(ap_boot, ap_boot)
CHECK(ap_trouble, ap_trouble)
CHECK(ap_reverse, ap_reverse)
CHECK(ap_clock, ap_clock)
CHECK(ap_host_keys, ap_host_keys)
CHECK(ap_suspend, ap_suspend)
CHECK(ap_woken, ap_woken)

static void check_time(const uint8_t *p, size_t n)
{
	uint64_t v;

	if (ap_time_unpack(&v, p, n) == 0) {
		assert(ap_time_pack(v, again, sizeof(again)) == 8);
		assert(!memcmp(again, p, n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const check[])(const uint8_t *p, size_t n) = { check_ap_open, check_ap_info, check_ap_ports,
								     check_ap_provision, check_ap_boot, check_time,
								     check_ap_trouble, check_ap_reverse, check_ap_clock,
								     check_ap_host_keys, check_ap_suspend, check_ap_woken };

	if (size)
		check[data[0] % (sizeof(check) / sizeof(check[0]))](data + 1, size - 1);
	return 0;
}
