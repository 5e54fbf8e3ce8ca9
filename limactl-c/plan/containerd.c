/* containerd of the template. Its archive is in the seed volume; a guest without one gets it as a read-only disk, as it is,
 * beside the script that unpacks it. */
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

/* By which the guest finds the disk (guestagent/containerd.c); no extra disk's begins so. */
#define SERIAL "limactl-containerd"

static void add_disk(struct making *m)
{
	static const char *const shared[] = { "util/lima.sh", "util/service.sh" };
	struct plan *p = m->p;
	struct plan_disk *d = PLAN_APPEND(p->disk, p->disks);

	d->path = xstrdup(m->images->containerd);
	d->format = xstrdup("raw");
	d->readonly = true;
	d->serial = xstrdup(SERIAL);
	plan_set(p, "containerd.disk", SERIAL);
	plan_add_file(p, "lima/containerd.sh", xasprintf("%s/cloud/boot.Linux/40-containerd.sh", m->h->provision), 0755);
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		auto_free char *guest = xasprintf("lima/%s", shared[i]);

		plan_add_file(p, guest, xasprintf("%s/cloud/%s", m->h->provision, shared[i]), 0644);
	}
}

/* Lima's requirement. The script has had its turn when it is asked, and leaves the reason when it failed. */
static void add_probe(struct plan *p)
{
	static const char script[] = "#!/bin/sh\n"
				     "cat /run/lima/containerd.error >&2 2>/dev/null && exit 1\n"
				     "[ -x /usr/local/bin/containerd ]\n";
	struct plan_probe *probe = PLAN_APPEND(p->probe, p->probes);

	probe->description = xstrdup("containerd binaries to be installed");
	probe->script = xstrdup(script);
	probe->hint = xstrdup(p->seed ? "the guest's /var/log/cloud-init-output.log says more" :
					"serial.log in the instance's folder says more");
	probe->once = true;
}

int plan_make_containerd(struct making *m, struct err *e)
{
	struct plan *p = m->p;

	if (!m->images->containerd)
		return 0;
	p->containerd = xstrdup(m->images->containerd);
	add_probe(p);
	if (p->seed)
		return 0;
	if (m->c->containerd.user)
		return err_set(e, ERR_INVALID, "containerd.user: " PLAN_NEEDS_SYSTEMD);
	add_disk(m);
	return 0;
}
