#include "limactl-c/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/vars.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/store/paths.h"

enum {
	CMDLINE_MAX = 2047, /* what every kernel here accepts */
	TB_SIZE = 512,      /* MiB: what a boot with Docker fills; QEMU's own default is a gigabyte */
};

/* A locally administered address that stays the same as long as the folder does (FNV-1a of its path). */
static char *mac_of(const char *dir)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (const char *p = dir; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ull;
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

/* Per guest architecture; the models under emulation keep x86-64-v2 and leave out what emulates slowly. */
static const struct platform {
	const char *arch, *machine, *tcg_cpu, *console;
	const char *tcg_args; /* for the kernel */
} platforms[] = {
	/* rdrand seeds the guest's random numbers at boot (0.1 s; without it they are not ready before programs wait for
	 * them) and when a saved machine comes back, without a device. An emulated CPU that waits for its turn on a busy
	 * host fails the kernel's test of the timer. */
	{ "x86_64", "q35,hpet=off", "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+lahf_lm,+rdrand", "ttyS0",
	  " no_timer_check" },
	{ "aarch64", "virt", "cortex-a57", "ttyAMA0", "" },
};

static const struct platform *platform_of(const char *arch, struct err *e)
{
	for (size_t i = 0; i < sizeof(platforms) / sizeof(*platforms); i++)
		if (!strcmp(platforms[i].arch, arch))
			return &platforms[i];
	err_set(e, ERR_INVALID, "arch: %s is not possible in this version; x86_64 and aarch64 are", arch);
	return NULL;
}

/* Whether some image for this architecture has what direct boot needs. */
static bool can_boot_directly(const struct cfg *c)
{
	for (size_t i = 0; c->guest.direct_boot && i < c->images; i++)
		if (!strcmp(c->image[i].arch, c->arch) && c->image[i].kernel.location && c->image[i].initrd.location)
			return true;
	return false;
}

int plan_possible(const struct cfg *c, const struct plan_host *h, struct err *e)
{
	enum plan_driver driver;

	if (!platform_of(c->arch, e) || choose_driver(c, h, &driver, e) < 0)
		return -1;
	if (driver == PLAN_FAKE)
		return 0;
	if (!can_boot_directly(c))
		return err_set(e, ERR_INVALID,
			       "this version boots only images with a kernel and an initrd of their own "
			       "(images[].kernel, images[].initrd, guest.directBoot: true)");
	return 0;
}

static int make_cmdline(struct making *m, const struct platform *pf, struct err *e)
{
	auto_buf b = BUF_INIT(CMDLINE_MAX);
	/* A kernel that panics boots again instead of standing there until the user's deadline. */
	int rc = buf_addf(&b, "console=%s quiet psi=1 panic=-1 rdinit=/lima/init%s", pf->console,
			  m->p->accel == PLAN_TCG ? pf->tcg_args : "");

	if (rc == 0 && m->c->tuning.init_on_free)
		rc = buf_adds(&b, " init_on_free=1");
	for (size_t i = 0; rc == 0 && i < m->c->guest.kernel_args_count; i++)
		rc = buf_addf(&b, " %s", m->c->guest.kernel_args[i]);
	if (rc < 0)
		return err_set(e, ERR_INVALID, "guest.kernelArgs: the kernel's command line would exceed %d bytes",
			       CMDLINE_MAX);
	m->p->cmdline = xstrdup(b.data);
	return 0;
}

static void add_disk(struct plan *p, char *path, const char *format, bool readonly)
{
	struct plan_disk *d = PLAN_APPEND(p->disk, p->disks);

	d->path = path;
	d->format = xstrdup(format);
	d->readonly = readonly;
}

static int make_boot(struct making *m, const struct platform *pf, struct err *e)
{
	const struct plan_images *im = m->images;
	struct plan *p = m->p;

	p->kernel = xstrdup(im->kernel);
	p->initrd_base = xstrdup(im->initrd);
	p->initrd = path_in(p->dir, PATH_INITRD);
	p->disk_base = xstrdup(im->disk);
	add_disk(p, path_in(p->dir, PATH_DISK), "qcow2", false);
	if (im->engine_disk)
		add_disk(p, xstrdup(im->engine_disk), "raw", true);
	return make_cmdline(m, pf, e);
}

int plan_make_machine(struct making *m, struct err *e)
{
	const struct platform *pf = platform_of(m->c->arch, e);
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	if (!pf || plan_possible(c, m->h, e) < 0 || choose_driver(c, m->h, &p->driver, e) < 0)
		return -1;
	if (!m->h->fake && (!m->images->kernel || !m->images->initrd))
		return err_set(e, ERR_INVALID, "the chosen image has no kernel or no initrd of its own");
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
	p->tb_size = p->accel == PLAN_TCG ? TB_SIZE : 0;
	p->mac = mac_of(p->dir);
	/* The lean guest has no sshd. */
	p->ssh_port = p->init == PLAN_INIT_LEAN ? 0 : (uint16_t)c->ssh.local_port;
	return make_boot(m, pf, e);
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
	rc = plan_make_machine(&m, e) < 0 || plan_make_disks(&m, e) < 0 || plan_make_ports(&m, e) < 0 ||
		     plan_make_guest(&m, e) < 0 ?
		     -1 :
		     0;
	if (rc < 0)
		plan_free(out);
	return rc;
}
