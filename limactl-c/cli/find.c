#include "limactl-c/cli/find.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/bootfiles.h"
#include "limactl-c/cli/harvested.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/config/where.h"
#include "limactl-c/store/paths.h"

enum { ANSWER_MAX = 256 };
#define SHA256 "sha256:"

void found_free(struct found *f)
{
	free(f->disk);
	free(f->kernel);
	free(f->initrd);
	free(f->firmware);
	free(f->engine);
	free(f->containerd);
	free(f->boot_args);
	*f = (struct found){ 0 };
}

struct plan_images found_images(const struct found *f)
{
	return (struct plan_images){
		.disk = f->disk,
		.kernel = f->kernel,
		.initrd = f->initrd,
		.iso = f->iso,
		.boot_args = f->boot_args,
		.harvest = f->harvest,
		.firmware = f->firmware,
		.engine_disk = f->engine,
		.containerd = f->containerd,
	};
}

static bool reuse(char **to, const char *path)
{
	if (!path || !fs_exists(path))
		return false;
	*to = xstrdup(path);
	return true;
}

static bool refuses_direct_boot(const struct cfg *c)
{
	return where_given(c, "guest.directBoot") && !c->guest.direct_boot;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The words a template gives its kernel, as it says them now: of the image that gave those of the former start, which need not
 * have been the first, else of the first. */
static const char *template_args(const struct cfg *c, const char *former)
{
	const struct cfg_image *first = NULL;

	for (size_t i = 0; i < c->images; i++) {
		const struct cfg_image *im = &c->image[i];

		if (strcmp(im->arch, c->arch) || !im->kernel.location)
			continue;
		if (same(im->kernel.cmdline, former))
			return former;
		first = first ? first : im;
	}
	return first ? first->kernel.cmdline : NULL;
}

/* How it booted, unless the configuration asks for another way by now. */
static bool reuse_boot(struct found *f, const struct cfg *c, const struct plan *former)
{
	const char *initrd = former->initrd_base ? former->initrd_base : former->initrd;
	const char *args = f->iso ? former->boot_args : template_args(c, former->boot_args);

	if (f->iso ? refuses_direct_boot(c) : !c->guest.direct_boot)
		return true;
	/* Not one of the image's. */
	if (former->harvest)
		return false;
	if (!reuse(&f->kernel, former->kernel) || (initrd && !reuse(&f->initrd, initrd)))
		return false;
	f->boot_args = args ? xstrdup(args) : NULL;
	return true;
}

static bool reuse_all(struct found *f, const struct cfg *c, const struct plan *former)
{
	bool engine = former->disks > 1 && !former->disk[1].name && !former->disk[1].serial;

	if (engine != (c->guest.engine_disk != NULL))
		return false;
	f->iso = former->iso != NULL;
	return reuse(&f->disk, f->iso ? former->iso : former->disk_base) && reuse_boot(f, c, former) &&
	       (!engine || reuse(&f->engine, former->disk[1].path));
}

/* Whether the image is an ISO; what it cannot be is refused by name. */
static int inspect(struct found *f, struct err *e)
{
	const char *argv[] = { "", "inspect", f->disk, NULL };
	auto_buf out = BUF_INIT(ANSWER_MAX);

	if (images_run(argv, &out, false, e) < 0)
		return -1;
	f->iso = out.data && !strncmp(out.data, "iso ", 4);
	return 0;
}

/* What an ISO's own loader would start. Where none can be read the firmware finds it, unless the template insists. */
static int find_in_iso(struct found *f, const struct cfg *c, struct err *e)
{
	if (refuses_direct_boot(c))
		return 0;
	if (bootfiles_of_iso(f->disk, &f->kernel, &f->initrd, &f->boot_args, e) == 0)
		return 0;
	if (c->guest.direct_boot)
		return err_wrap(e, "guest.directBoot");
	say_info("Direct boot is not possible, the ISO's own loader starts it: %s", e->msg);
	*e = (struct err){ 0 };
	return 0;
}

/* The kernel the template names. */
static int find_kernel(struct found *f, const struct cfg *c, const struct cfg_image *im, struct err *e)
{
	auto_free char *kernel = NULL;

	if (!c->guest.direct_boot)
		return 0;
	if (!im->kernel.location)
		return err_set(e, ERR_INVALID, "guest.directBoot: this image comes without a kernel: give `images[].kernel` and "
			       "`images[].initrd`, or leave directBoot out");
	kernel = images_get(im->kernel.location, im->kernel.digest, e);
	if (!kernel || !(f->kernel = bootfiles_kernel(kernel, e)))
		return -1;
	if (im->initrd.location && !(f->initrd = images_get(im->initrd.location, im->initrd.digest, e)))
		return -1;
	f->boot_args = im->kernel.cmdline ? xstrdup(im->kernel.cmdline) : NULL;
	return 0;
}

static int find_all(struct found *f, const struct cfg *c, struct err *e)
{
	const struct cfg_image *im = images_choose(c, &f->disk, e);

	if (!im || inspect(f, e) < 0)
		return -1;
	if (f->iso && !im->kernel.location ? find_in_iso(f, c, e) < 0 : find_kernel(f, c, im, e) < 0)
		return -1;
	return c->guest.engine_disk && !(f->engine = images_get(c->guest.engine_disk, NULL, e)) ? -1 : 0;
}

/* The first that is meant for such a machine. */
static int find_firmware(struct found *f, const struct cfg *c, struct err *e)
{
	for (size_t i = 0; !f->kernel && !c->firmware.legacy_bios && i < c->firmware.images; i++) {
		const struct cfg_file *file = &c->firmware.image[i];

		if (strcmp(file->arch, c->arch) || (file->vm_type && strcmp(file->vm_type, c->vm_type)))
			continue;
		f->firmware = images_get(file->location, file->digest, e);
		return f->firmware ? 0 : err_wrap(e, "firmware.images[%zu]", i);
	}
	return 0;
}

/* An object of the cache with the digest of one of the archives is that archive, whatever its location has by now. */
static bool reuse_containerd(struct found *f, const struct cfg *c, const struct plan *former)
{
	struct err none;
	auto_free char *cache = paths_cache(&none), *real = cache ? realpath(cache, NULL) : NULL;

	for (size_t i = 0; real && former->containerd && i < c->containerd.archives; i++) {
		const struct cfg_file *file = &c->containerd.archive[i];
		auto_free char *object = NULL;

		if (strcmp(file->arch, c->arch) || !file->digest || strncmp(file->digest, SHA256, strlen(SHA256)))
			continue;
		object = xasprintf("%s/objects/sha256-%s", real, file->digest + strlen(SHA256));
		if (!strcmp(former->containerd, object))
			return reuse(&f->containerd, object);
	}
	return false;
}

/* The first of the archives for the guest that can be had; that there is one was asked before. */
static int find_containerd(struct found *f, const struct cfg *c, const struct plan *former, struct err *e)
{
	bool wanted = c->containerd.system || c->containerd.user, failed = false;

	if (wanted && former && reuse_containerd(f, c, former))
		return 0;
	for (size_t i = 0; wanted && !f->containerd && i < c->containerd.archives; i++) {
		const struct cfg_file *file = &c->containerd.archive[i];

		if (strcmp(file->arch, c->arch))
			continue;
		if (failed)
			say_warn("%s; trying the next", e->msg);
		f->containerd = images_get_packed(file->location, file->digest, e);
		failed = !f->containerd;
	}
	return failed ? err_wrap(e, "containerd") : 0;
}

int found_make(struct found *f, const struct cfg *c, const struct plan *former, struct err *e)
{
	if (!former || !reuse_all(f, c, former)) {
		found_free(f);
		if (find_all(f, c, e) < 0)
			return -1;
	}
	f->harvest = !f->kernel && !f->iso && !refuses_direct_boot(c);
	if (f->harvest && former)
		harvested_find(f, former);
	return find_firmware(f, c, e) < 0 ? -1 : find_containerd(f, c, former, e);
}
