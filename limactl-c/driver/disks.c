#include "limactl-c/driver/disks.h"

#include <unistd.h>

#include "limactl-c/store/disk.h"

static void close_all(struct vm_disks *d)
{
	while (d->count)
		close(d->fd[--d->count]);
}

static int take(struct vm_disks *d, const struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->disks && d->count < PLAN_EXTRA_MAX; i++) {
		int fd = p->disk[i].name ? disk_lock(p->disk[i].path, p->dir, e) : 0;

		if (fd < 0) {
			vm_disks_release(d, p, true);
			return -1;
		}
		if (p->disk[i].name)
			d->fd[d->count++] = fd;
	}
	return 0;
}

int vm_disks_lock(struct vm_disks *d, const struct plan *p, struct spawn *s, struct err *e)
{
	if (!d->count && take(d, p, e) < 0)
		return -1;
	for (size_t i = 0; i < d->count; i++)
		s->fd[s->fds++] = d->fd[i];
	return 0;
}

void vm_disks_release(struct vm_disks *d, const struct plan *p, bool off)
{
	/* The mark goes before the lock: whoever takes the disk next puts its own there. */
	for (size_t i = 0; off && i < p->disks; i++)
		if (p->disk[i].name)
			disk_unlock(p->disk[i].path, p->dir);
	close_all(d);
}
