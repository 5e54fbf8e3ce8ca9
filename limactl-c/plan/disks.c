/* Extra disks (additionalDisks): attached behind the machine's own, in order. The guest finds each by its serial number,
 * not by a letter that depends on what else is attached. */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

enum {
	SERIAL_MAX = 20,    /* of a virtio disk */
	ARGS_MAX = 4096,    /* bytes of fsArgs */
};

/* "lima-NAME", or a number that stands for a longer name. */
static char *serial_of(const char *name)
{
	if (strlen("lima-") + strlen(name) <= SERIAL_MAX)
		return xasprintf("lima-%s", name);
	return xasprintf("lima-%015llx", (unsigned long long)(plan_hash(name) & 0xfffffffffffffffull));
}

/* What the guest's setup is told (guestagent/setup_disks.c). */
static int set_disk(struct plan *p, size_t i, const struct cfg_disk *c, const char *serial, struct err *e)
{
	auto_free char *args = plan_join(c->fs_arg, c->fs_args, "\n");

	if (strlen(args) > ARGS_MAX)
		return err_set(e, ERR_INVALID, "additionalDisks: the fsArgs of \"%s\" have more than %d bytes", c->name, ARGS_MAX);
	plan_setf(p, c->name, "disk.%02zu.name", i);
	plan_setf(p, serial, "disk.%02zu.serial", i);
	plan_setf(p, c->format == CFG_FALSE ? "false" : "true", "disk.%02zu.format", i);
	plan_setf(p, c->fs_type && *c->fs_type ? c->fs_type : "ext4", "disk.%02zu.fsType", i);
	if (*args)
		plan_setf(p, args, "disk.%02zu.fsArgs", i);
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
