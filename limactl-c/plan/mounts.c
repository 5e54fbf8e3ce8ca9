/* Folders of the host in the guest: how each is attached, and what the guest mounts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/sha256.h"
#include "limactl-c/plan/parts.h"

void plan_mount_tag(const struct cfg_mount *m, char tag[PLAN_TAG_MAX])
{
	auto_free char *text = xasprintf("%s:%s", m->location, m->mount_point);
	char hex[SHA256_HEX + 1];

	sha256_hex(text, strlen(text), hex);
	snprintf(tag, PLAN_TAG_MAX, "lima-%.16s", hex);
}

char *plan_mount_options(const struct cfg *c, const struct cfg_mount *m)
{
	if (strcmp(c->mount_type, "9p"))
		return xstrdup("");
	return xasprintf("trans=virtio,version=%s,msize=%llu,cache=%s", m->ninep.protocol_version,
			 (unsigned long long)m->ninep.msize, m->ninep.cache);
}

/* Of paths whose slashes count once: as strcmp, a folder before what lies in it. */
static int compare_paths(const char *a, const char *b)
{
	for (;;) {
		size_t n, k;
		int order;

		a += strspn(a, "/");
		b += strspn(b, "/");
		n = strcspn(a, "/");
		k = strcspn(b, "/");
		order = strncmp(a, b, n < k ? n : k);
		if (order || n != k || !n)
			return order ? order : n < k ? -1 : n > k;
		a += n;
		b += k;
	}
}

static int by_guest_path(const void *x, const void *y)
{
	return compare_paths(((const struct plan_mount *)x)->guest_path, ((const struct plan_mount *)y)->guest_path);
}

static void add_mount(struct making *m, const struct cfg_mount *from)
{
	struct plan_mount *to = PLAN_APPEND(m->p->mount, m->p->mounts);
	bool ninep = !strcmp(m->c->mount_type, "9p"), virtiofs = !strcmp(m->c->mount_type, "virtiofs");
	char tag[PLAN_TAG_MAX];

	plan_mount_tag(from, tag);
	to->host_path = xstrdup(from->location);
	to->guest_path = xstrdup(from->mount_point);
	to->tag = xstrdup(tag);
	to->type = ninep ? PLAN_MOUNT_9P : virtiofs ? PLAN_MOUNT_VIRTIOFS : PLAN_MOUNT_SSHFS;
	to->writable = from->writable;
	to->options = plan_mount_options(m->c, from);
	to->security_model = ninep ? xstrdup(from->ninep.security_model) : NULL;
	to->queue_size = virtiofs ? from->virtiofs_queue_size : 0;
	to->cache = to->type == PLAN_MOUNT_SSHFS && from->sshfs.cache;
	to->follow_symlinks = to->type == PLAN_MOUNT_SSHFS && from->sshfs.follow_symlinks;
}

/* What the guest's setup is told (guestagent/setup_shares.c). */
static void set_mount(struct plan *p, size_t i)
{
	const struct plan_mount *m = &p->mount[i];

	plan_setf(p, m->tag, "mount.%02zu.tag", i);
	plan_setf(p, m->guest_path, "mount.%02zu.point", i);
	plan_setf(p, plan_mount_word(m->type), "mount.%02zu.type", i);
	plan_setf(p, m->writable ? "true" : "false", "mount.%02zu.writable", i);
	if (*m->options)
		plan_setf(p, m->options, "mount.%02zu.options", i);
}

/* The server of virtiofs, and whether it can keep a folder from being written. */
static int choose_server(struct making *m, struct err *e)
{
	const struct plan_host *h = m->h;
	bool root = h->uid == 0;

	if (!h->virtiofsd)
		return err_set(e, ERR_INVALID, "mountType: virtiofs needs virtiofsd, which is not installed (Debian: virtiofsd; in Debian "
			       "12 qemu-system-common has one, for root); or use mountType: 9p");
	if (h->virtiofsd_old && !root)
		return err_set(e, ERR_INVALID, "mountType: virtiofs: %s can be run by root only: install the newer virtiofsd (Debian 13: "
			       "virtiofsd), or use mountType: 9p", h->virtiofsd);
	for (size_t i = 0; i < m->c->mounts && !root && !h->virtiofsd_readonly; i++)
		if (!m->c->mount[i].writable)
			return err_set(e, ERR_INVALID, "mounts[%zu]: %s cannot keep it read-only: install virtiofsd 1.11 or later, or use "
				       "mountType: 9p", i, h->virtiofsd);
	m->p->virtiofsd = xstrdup(h->virtiofsd);
	m->p->virtiofsd_old = h->virtiofsd_old;
	return 0;
}

int plan_make_mounts(struct making *m, struct err *e)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	if (c->mounts > PLAN_MOUNT_MAX)
		return err_set(e, ERR_INVALID, "mounts: at most %d are possible", PLAN_MOUNT_MAX);
	if (c->mounts && p->driver == PLAN_QEMU && !strcmp(c->mount_type, "virtiofs") && choose_server(m, e) < 0)
		return -1;
	for (size_t i = 0; i < c->mounts; i++) {
		/* One is left over of a template that could not be filled. */
		if (*c->mount[i].location != '/' || *c->mount[i].mount_point != '/')
			return err_set(e, ERR_INVALID, "mounts[%zu]: %.100s cannot be mounted at %.100s: both must be absolute paths",
				       i, c->mount[i].location, c->mount[i].mount_point);
		add_mount(m, &c->mount[i]);
	}
	p->file_events = c->mount_inotify && c->mounts && strcmp(c->mount_type, "reverse-sshfs");
	if (p->mounts)
		qsort(p->mount, p->mounts, sizeof(*p->mount), by_guest_path);
	for (size_t i = 0; i < p->mounts; i++)
		if (p->mount[i].type != PLAN_MOUNT_SSHFS) /* which the host agent sees to */
			set_mount(p, i);
	return 0;
}
