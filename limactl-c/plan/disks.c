/* Extra disks (additionalDisks): attached behind the machine's own, in order. The guest finds each by its serial number,
 * not by a letter that depends on what else is attached. */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

enum {
	SERIAL_MAX = 20,    /* of a virtio disk */
	ARGS_MAX = 4096,    /* bytes of fsArgs */
};

/* "lima-NAME", or a number that stands for a longer name (FNV-1a). */
static char *serial_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull;

	if (strlen("lima-") + strlen(name) <= SERIAL_MAX)
		return xasprintf("lima-%s", name);
	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ull;
	return xasprintf("lima-%015llx", (unsigned long long)(h & 0xfffffffffffffffull));
}

static void set(struct plan *p, size_t i, const char *key, const char *value)
{
	struct plan_pair *pair = PLAN_APPEND(p->setting, p->settings);

	pair->key = xasprintf("disk.%02zu.%s", i, key);
	pair->value = xstrdup(value);
}

/* What the guest's setup is told (guestagent/setup_disks.c). */
static int set_disk(struct plan *p, size_t i, const struct cfg_disk *c, const char *serial, struct err *e)
{
	auto_buf args = BUF_INIT(ARGS_MAX);

	for (size_t k = 0; k < c->fs_args; k++)
		if (buf_addf(&args, "%s%s", k ? "\n" : "", c->fs_arg[k]) < 0)
			return err_set(e, ERR_INVALID, "additionalDisks: the fsArgs of \"%s\" have more than %d bytes", c->name,
				       ARGS_MAX);
	set(p, i, "name", c->name);
	set(p, i, "serial", serial);
	set(p, i, "format", c->format == CFG_FALSE ? "false" : "true");
	set(p, i, "fsType", c->fs_type && *c->fs_type ? c->fs_type : "ext4");
	if (args.len)
		set(p, i, "fsArgs", args.data);
	return 0;
}

/* Attached twice, the guest would ruin what is on it. */
static int check(const struct cfg *c, struct err *e)
{
	if (c->additional_disks > PLAN_EXTRA_MAX)
		return err_set(e, ERR_INVALID, "additionalDisks: at most %d are possible", PLAN_EXTRA_MAX);
	for (size_t i = 0; i < c->additional_disks; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(c->additional_disk[i].name, c->additional_disk[k].name))
				return err_set(e, ERR_INVALID, "additionalDisks: disk \"%s\" is there twice",
					       c->additional_disk[i].name);
	return 0;
}

int plan_make_disks(struct making *m, struct err *e)
{
	const struct cfg *c = m->c;
	size_t n = 0;

	if (check(c, e) < 0)
		return -1;
	for (size_t i = 0; i < c->additional_disks; i++) {
		const struct plan_extra *from = i < m->images->extras ? &m->images->extra[i] : NULL;
		struct plan_disk *d;

		if (!from || !from->path)
			continue;
		d = PLAN_APPEND(m->p->disk, m->p->disks);
		d->path = xstrdup(from->path);
		d->format = xstrdup(from->format);
		d->name = xstrdup(c->additional_disk[i].name);
		d->serial = serial_of(d->name);
		if (set_disk(m->p, n++, &c->additional_disk[i], d->serial, e) < 0)
			return -1;
	}
	return 0;
}
