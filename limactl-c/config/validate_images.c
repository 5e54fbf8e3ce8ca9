/* validate_images.c - rules of images[], and of booting them. */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/where.h"

/* kernel or initrd of image i. */
static void check_boot_file(struct check *k, size_t i, const char *which, const struct cfg_file *file)
{
	const char *arch = k->c->image[i].arch;

	if (!file->location && (file->digest || file->cmdline || file->arch)) {
		auto_free char *location = xasprintf("images[%zu].%s.location", i, which);

		if (!where_given(k->c, location))
			check_bad(k, steal(&location), "must be set");
	}
	if (file->location && strcmp(file->arch, arch))
		check_bad(k, xasprintf("images[%zu].%s.arch", i, which),
			  "has unexpected architecture \"%s\", must be \"%s\"", file->arch, arch);
}

static void check_boot(struct check *k)
{
	const struct cfg *c = k->c;

	/* The fake driver boots nothing. */
	if (!strcmp(c->vm_type, "fake"))
		return;
	if (!strcmp(c->guest.init, "lean") && !c->guest.direct_boot)
		check_bad(k, xstrdup("guest.init"), "can be lean only with direct boot, which needs `images[].kernel`");
}

void check_images(struct check *k)
{
	const struct cfg *c = k->c;
	const struct cfg_image *mine = NULL;

	if (!c->images) {
		if (!where_given(c, "images") || !k->f->errors)
			check_bad(k, xstrdup("images"), "must be set");
		return;
	}
	for (size_t i = 0; i < c->images; i++) {
		const struct cfg_image *image = &c->image[i];

		check_boot_file(k, i, "kernel", &image->kernel);
		check_boot_file(k, i, "initrd", &image->initrd);
		if (!mine && !strcmp(image->arch, c->arch))
			mine = image;
	}
	/* None for this architecture: a matter of the host the template is used on. */
	if (mine)
		check_boot(k);
}
