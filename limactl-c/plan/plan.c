#include "limactl-c/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/vars.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/store/paths.h"

enum {
	SHARED_MEMORY = 1 << 20, /* four windows of streams (lib/mux.h) */
	TB_SIZE = 512,      /* MiB: what a boot with Docker fills; QEMU's own default is a gigabyte */
};

uint64_t plan_hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

/* A locally administered address that stays the same as long as the folder does. */
static char *mac_of(const char *dir)
{
	uint64_t h = plan_hash(dir);

	h ^= h >> 32;
	return xasprintf("52:55:55:%02x:%02x:%02x", (unsigned)(h >> 16 & 255), (unsigned)(h >> 8 & 255),
			 (unsigned)(h & 255));
}

static int choose_driver(const struct cfg *c, const struct plan_host *h, enum plan_driver *driver, struct err *e)
{
	*driver = h->fake ? PLAN_FAKE : PLAN_QEMU;
	if (h->fake || !strcmp(c->vm_type, "qemu"))
		return 0;
	if (!strcmp(c->vm_type, "fake"))
		return err_set(e, ERR_INVALID, "vmType: fake is for tests; it needs LIMACTL_C_DRIVER=fake");
	return err_set(e, ERR_INVALID, "vmType: %s is not possible on this host in this version; use qemu", c->vm_type);
}

static const struct platform platforms[] = {
	/* rdrand seeds the guest's random numbers at boot (0.1 s; without it they are not ready before programs wait for
	 * them) and when a saved machine comes back, without a device. An emulated CPU that waits for its turn on a busy
	 * host fails the kernel's test of the timer, and makes it distrust the TSC, which then costs each look at the clock
	 * a way out of the guest. */
	{ "x86_64", "q35,hpet=off", "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+lahf_lm,+rdrand", "ttyS0",
	  { "no_timer_check", "tsc=reliable" }, true, "Debian: ovmf, Homebrew: qemu" },
	/* A boot takes 9 s with this model and 23 s with max. */
	{ "aarch64", "virt", "cortex-a57", "ttyAMA0", { NULL, NULL }, false, "Debian: qemu-efi-aarch64, Homebrew: qemu" },
};

static const struct platform *platform_of(const char *arch, struct err *e)
{
	for (size_t i = 0; i < sizeof(platforms) / sizeof(*platforms); i++)
		if (!strcmp(platforms[i].arch, arch))
			return &platforms[i];
	err_set(e, ERR_INVALID, "arch: %s is not possible in this version; x86_64 and aarch64 are", arch);
	return NULL;
}

int plan_possible(const struct cfg *c, const struct plan_host *h, struct err *e)
{
	enum plan_driver driver;

	return platform_of(c->arch, e) && choose_driver(c, h, &driver, e) == 0 ? 0 : -1;
}

static void add_disk(struct plan *p, char *path, const char *format, bool readonly)
{
	struct plan_disk *d = PLAN_APPEND(p->disk, p->disks);

	d->path = path;
	d->format = xstrdup(format);
	d->readonly = readonly;
}

static void make_disks(struct making *m)
{
	const struct plan_images *im = m->images;
	struct plan *p = m->p;

	if (im->iso)
		p->iso = xstrdup(im->disk);
	else
		p->disk_base = xstrdup(im->disk);
	add_disk(p, path_in(p->dir, PATH_DISK), "qcow2", false);
	if (im->engine_disk)
		add_disk(p, xstrdup(im->engine_disk), "raw", true);
}

int plan_make_machine(struct making *m, struct err *e)
{
	const struct platform *pf = platform_of(m->c->arch, e);
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	if (!pf || choose_driver(c, m->h, &p->driver, e) < 0)
		return -1;
	p->arch = xstrdup(c->arch);
	p->cpus = c->cpus;
	p->memory = c->memory;
	p->disk_size = c->disk;
	p->init = !strcmp(c->guest.init, "openrc") ? PLAN_INIT_OPENRC : PLAN_INIT_LEAN;
	p->agent = xstrdup(m->h->agent);
	if (p->driver == PLAN_FAKE)
		return 0;
	p->qemu = xstrdup(m->h->qemu);
	p->accel = m->h->accel;
	p->machine = xstrdup(pf->machine);
	p->cpu = xstrdup(c->cpu_type ? c->cpu_type : p->accel == PLAN_TCG ? pf->tcg_cpu : "host");
	p->shared_memory = m->h->ivshmem && !c->plain ? SHARED_MEMORY : 0;
	p->tb_size = p->accel == PLAN_TCG ? TB_SIZE : 0;
	p->mac = mac_of(p->dir);
	make_disks(m);
	return plan_make_boot(m, pf, e);
}

static void make_idle(struct making *m)
{
	m->p->idle_when = xstrdup(m->c->idle.when);
	m->p->idle_pause_after = m->c->idle.pause_after;
	m->p->idle_suspend_after = m->c->idle.suspend_after;
}

int plan_make(const struct cfg *c, const struct plan_host *h, const struct plan_images *images, const char *name,
	      const char *dir, struct plan *out, struct err *e)
{
	struct making m = { .c = c, .h = h, .images = images, .p = out };
	int rc;

	*out = (struct plan){ .name = xstrdup(name), .dir = xstrdup(dir), .hostname = vars_hostname(name) };
	make_idle(&m);
	out->message = xstrdup(c->message ? c->message : "");
	rc = plan_make_machine(&m, e) < 0 || plan_make_disks(&m, e) < 0 || plan_make_mounts(&m, e) < 0 ||
		     plan_make_ports(&m, e) < 0 || plan_make_containerd(&m, e) < 0 || plan_make_guest(&m, e) < 0 ?
		     -1 :
		     0;
	if (rc < 0)
		plan_free(out);
	else
		plan_make_tasks(&m);
	return rc;
}
