/* Any bytes as a qcow2 image's table of snapshots: its first two bytes say how many there are. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "limactl-c/base/qcow2_snapshots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct qcow2_snapshots s;
	struct err e;
	size_t count;

	if (len < 2)
		return 0;
	count = (size_t)data[0] << 8 | data[1];
	if (qcow2_snapshots_parse(data + 2, len - 2, count, &s, &e) == 0) {
		if (s.count != count)
			abort();
		for (size_t i = 0; i < s.count; i++)
			if (!qcow2_snapshot_find(&s, s.one[i].tag))
				abort();
	}
	qcow2_snapshots_free(&s);
	return 0;
}
