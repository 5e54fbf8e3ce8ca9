#include "limactl-c/yaml/parse.h"

struct ynode *yn_merge_keys(struct yn_pool *p, const struct ynode *root, struct findings *f)
{
	(void)f;
	return yn_copy(p, root);
}
