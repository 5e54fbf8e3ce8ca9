/* Lines from QEMU, cut at the place the first byte says. */
#include <stddef.h>
#include <stdint.h>

#include "limactl-c/driver/qmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qmp *q = qmp_new(-1);
	struct qmp_msg m;
	struct err e = { 0 };
	size_t piece = size ? data[0] + 1U : 1;
	int r = 0;

	for (size_t at = 1; r >= 0 && at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		if (qmp_feed(q, data + at, n) < 0)
			break;
		while ((r = qmp_next(q, &m, &e)) > 0) {
			if (m.kind == QMP_EVENT && !m.name)
				__builtin_trap();
			if (m.kind == QMP_REPLY && !m.error && !m.data)
				__builtin_trap();
		}
	}
	qmp_free(q);
	return 0;
}
