#include <fnmatch.h>
#include <stddef.h>

#include "limactl-c/base/copy.h"
#include "limactl-c/store/inst.h"

/* What a clone does not take over. Settings, scripts and initramfs are made anew from its plan. */
static const struct {
	const char *pattern;
	enum copy_what what;
} rules[] = {
	{ "protected", COPY_SKIP },   { "*.pid", COPY_SKIP },       { "*.sock", COPY_SKIP },
	{ "*.tmp", COPY_SKIP },       { "*.lock", COPY_SKIP },      { "*.log", COPY_SKIP },
	{ "*.log.1", COPY_SKIP },     { "vm.state*", COPY_SKIP },   { "swtpm", COPY_SKIP },
	{ "initrd", COPY_SKIP },      { "initrd.list", COPY_SKIP }, { "settings", COPY_SKIP },
	{ "provision", COPY_SKIP },   { "cidata*", COPY_SKIP },     { "harvest", COPY_SKIP },
	/* That it is there says which driver the instance has. */
	{ "vz-identifier", COPY_EMPTY },
};

static enum copy_what rule_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (fnmatch(rules[i].pattern, name, 0) == 0)
			return rules[i].what;
	return COPY_ALL;
}

static int copy(const char *dir, const void *arg, struct err *e)
{
	const struct inst *from = arg;

	return copy_tree(from->dir, dir, rule_of, e);
}

int inst_clone(const struct inst *i, const char *name, struct inst *out, struct err *e)
{
	auto_hold hold = INST_HOLD_INIT;

	*out = (struct inst){ 0 };
	/* Its disks must not change while they are read. */
	return inst_hold(i, &hold, e) < 0 ? -1 : inst_create_by(name, copy, i, out, e);
}
