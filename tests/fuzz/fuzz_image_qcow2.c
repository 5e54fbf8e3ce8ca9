/* Bytes as an image; and, by their first eight as a seed, a random image whose every cluster must read as it was made,
 * after which the remaining bytes damage it. */
#include <stdint.h>

#include "limactl-c/image/disk_image.h"
#include "limactl-c/base/qcow2.h"
#include "tests/unit/qcow2_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Reads all of it; wanted NULL: whatever it says. */
static void read_all(const unsigned char *image, size_t len, const unsigned char *wanted)
{
	struct qb_memory m = { image, len };
	struct byte_source file = { qb_read, &m, len };
	struct err e;
	struct qcow2 *q = qcow2_open(&file, &e);
	unsigned char *out;
	size_t n;

	if (!q) {
		if (wanted)
			abort();
		return;
	}
	if (qcow2_check(q, &e) < 0 && wanted)
		abort();
	n = qcow2_cluster_size(q);
	out = xmalloc(n);
	for (uint64_t i = 0; i * n < qcow2_size(q) && i < QB_CLUSTERS_MAX; i++) {
		bool zero;
		int rc = qcow2_read_cluster(q, i, out, &zero, &e);

		if (!wanted)
			continue;
		if (rc == 0 && zero)
			memset(out, 0, n);
		if (rc < 0 || memcmp(out, wanted + i * n, n))
			abort();
	}
	free(out);
	qcow2_close(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct qcow2_info info;
	struct qb b;
	uint64_t seed;
	struct err e;

	qcow2_parse(data, len, len, &info, &e);
	disk_image_foreign(data, len, data, len);
	read_all(data, len, NULL);
	if (len < sizeof(seed))
		return 0;
	memcpy(&seed, data, sizeof(seed));
	qb_build(&b, seed);
	read_all(b.file, b.len, b.guest);
	for (size_t i = sizeof(seed); i + 3 <= len; i += 3)
		b.file[(data[i] | (size_t)data[i + 1] << 8) % b.len] = data[i + 2];
	read_all(b.file, b.len, NULL);
	qb_free(&b);
	return 0;
}
