/* How an instance starts: its kernel at once, or its own loader by way of BIOS or UEFI; and whether our agent comes in
 * the initramfs or by the seed volume. */
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/store/paths.h"

/* Our own init mounts the disk when nothing says what the guest's own initramfs should mount, and always when the guest
 * is to be lean. An ISO's initramfs knows its own root. */
static bool takes_overlay(const struct making *m)
{
	const struct plan_images *im = m->images;

	if (m->p->init == PLAN_INIT_LEAN)
		return true;
	return im->initrd && !im->iso && !plan_names_root(im->boot_args);
}

static int make_direct(struct making *m, const struct platform *pf, struct err *e)
{
	const struct plan_images *im = m->images;
	bool overlay = takes_overlay(m);
	struct plan *p = m->p;

	if (overlay && !im->initrd)
		return err_set(e, ERR_INVALID, "guest.init: lean needs `images[].initrd`, the initramfs of the kernel");
	p->boot = PLAN_BOOT_DIRECT;
	p->kernel = xstrdup(im->kernel);
	p->initrd_base = overlay ? xstrdup(im->initrd) : NULL;
	p->initrd = overlay ? path_in(p->dir, PATH_INITRD) : im->initrd ? xstrdup(im->initrd) : NULL;
	p->boot_args = im->boot_args ? xstrdup(im->boot_args) : NULL;
	p->cmdline = plan_cmdline(m, pf, overlay, e);
	return p->cmdline ? 0 : -1;
}

/* Of a template's own firmware we know no template of variables. An empty store does for aarch64's; x86_64's own file
 * may hold code and variables in one, beside which a second store would be wrong. */
static int make_uefi(struct making *m, const struct platform *pf, struct err *e)
{
	const char *own = m->images->firmware, *code = own ? own : m->h->firmware;
	struct plan *p = m->p;

	if (!code)
		return err_set(e, ERR_NOTFOUND, "the image boots by UEFI, and there is no UEFI firmware for %s guests here: "
			       "install it (%s)%s", pf->arch, pf->firmware_packages,
			       pf->bios ? ", or set firmware.legacyBIOS: true" : "");
	p->boot = PLAN_BOOT_UEFI;
	p->firmware = xstrdup(code);
	if (own && pf->bios)
		return 0;
	p->vars = path_in(p->dir, PATH_EFI_VARS);
	p->vars_template = own ? NULL : xstrdup(m->h->firmware_vars);
	return 0;
}

int plan_make_boot(struct making *m, const struct platform *pf, struct err *e)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;
	int rc = 0;

	if (m->images->kernel)
		rc = make_direct(m, pf, e);
	else if (p->init == PLAN_INIT_LEAN)
		return err_set(e, ERR_INVALID, "guest.init: lean needs direct boot: `images[].kernel` and `images[].initrd`, or "
			       "an ISO whose loader can be read");
	else if (c->firmware.legacy_bios && pf->bios)
		p->boot = PLAN_BOOT_BIOS;
	else
		rc = make_uefi(m, pf, e);
	/* Without the agent nobody hands them over. */
	p->harvest = m->images->harvest && !c->plain;
	if (!p->initrd_base)
		p->seed = path_in(p->dir, PATH_CIDATA);
	/* Also while it is left out: it comes back when the guest's kernel changes. */
	if (!c->plain && !m->images->iso && (p->boot != PLAN_BOOT_DIRECT || p->harvest))
		plan_tell_loader(m, pf);
	return rc;
}
