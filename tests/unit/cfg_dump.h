/* cfg_dump.h - a configuration as one line of JSON, which is YAML too: what a test can read again. */
#ifndef LIMA_TESTS_CFG_DUMP_H
#define LIMA_TESTS_CFG_DUMP_H

#include <stdlib.h>

#include "lib/buf.h"
#include "limactl-c/config/config.h"
#include "limactl-c/yaml/emit.h"

/* malloc'd */
static inline char *cfg_dump(const struct cfg *c)
{
	auto_pool p = yn_pool_new();
	struct buf b = BUF_INIT(64 << 20);

	if (yn_json(cfg_tree(c, p), 0, &b) < 0)
		abort();
	return b.data;
}

#endif
