#include <fnmatch.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

enum { MACHINE_ID_LEN = 32 };

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
	{ "machine-id", COPY_SKIP },
	{ "snapshots", COPY_SKIP }, /* the memory in them is the other's */
	{ "ssh.config", COPY_SKIP },  { "known_hosts", COPY_SKIP },
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

/* A random UUID (version 4) without its hyphens, as systemd makes them. */
static int give_machine_id(const char *dir, struct err *e)
{
	auto_free char *path = path_in(dir, PATH_MACHINE_ID);
	char text[MACHINE_ID_LEN + 2];
	uint64_t id[2];

	if (getentropy(id, sizeof(id)) < 0)
		return err_errno(e, "random bytes");
	id[0] = (id[0] & ~0xf000ULL) | 0x4000;
	id[1] = (id[1] & ~(3ULL << 62)) | 2ULL << 62;
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64 "\n", id[0], id[1]);
	return fs_write_atomic(path, text, MACHINE_ID_LEN + 1, 0600, e);
}

char *inst_machine_id(const char *dir)
{
	auto_free char *path = path_in(dir, PATH_MACHINE_ID);
	auto_buf text = BUF_INIT(MACHINE_ID_LEN + 1);
	struct err ignored;

	if (io_read_file(path, &text, &ignored) < 0 || text.len < MACHINE_ID_LEN ||
	    strspn(text.data, "0123456789abcdef") != MACHINE_ID_LEN)
		return NULL;
	return xstrndup(text.data, MACHINE_ID_LEN);
}

static int copy(const char *dir, const void *arg, struct err *e)
{
	const struct inst *from = arg;

	return copy_tree(from->dir, dir, rule_of, e) < 0 ? -1 : give_machine_id(dir, e);
}

int inst_clone(const struct inst *i, const char *name, struct inst *out, struct err *e)
{
	auto_hold hold = INST_HOLD_INIT;

	*out = (struct inst){ 0 };
	/* Its disks must not change while they are read. */
	return inst_hold(i, &hold, e) < 0 ? -1 : inst_create_by(name, copy, i, out, e);
}
