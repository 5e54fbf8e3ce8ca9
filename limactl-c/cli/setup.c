#include "limactl-c/cli/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/source.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/store/paths.h"

enum { IMAGE_DISK, IMAGE_KERNEL, IMAGE_INITRD, IMAGE_ENGINE };

void setup_fini(struct setup *s)
{
	free(s->label);
	free(s->name);
	buf_free(&s->text);
	plan_host_free(&s->host);
	cfg_free(&s->cfg);
	plan_free(&s->plan);
	for (size_t i = 0; i < sizeof(s->image) / sizeof(*s->image); i++)
		free(s->image[i]);
}

int setup_read(struct setup *s, const char *locator, struct err *e)
{
	s->label = xstrdup(strcmp(locator, "-") ? locator : "standard input");
	s->name = locator_instance_name(locator);
	return locator_read(locator, NULL, &source_reader, &s->text, e);
}

int setup_read_inst(struct setup *s, const struct inst *i, struct err *e)
{
	s->label = path_in(i->dir, PATH_YAML);
	return io_read_file(s->label, &s->text, e);
}

static int set_key(struct setup *s, const char *key, const char *value, struct err *e)
{
	auto_free char *text = cfg_text_set(s->text.data ? s->text.data : "", s->text.len, key, value, e);

	if (!text)
		return err_wrap(e, "%s", s->label);
	buf_drop_front(&s->text, s->text.len);
	if (buf_adds(&s->text, text) < 0)
		return err_set(e, ERR_INVALID, "%s is larger than %d bytes", s->label, SETUP_TEXT_MAX);
	return 0;
}

static int set_size(struct setup *s, const char *key, const char *gib, struct err *e)
{
	auto_free char *size = gib ? xasprintf("%sGiB", gib) : NULL;

	return gib ? set_key(s, key, size, e) : 0;
}

int setup_edit(struct setup *s, const struct edit *edit, struct err *e)
{
	char cpus[16];

	snprintf(cpus, sizeof(cpus), "%u", edit->cpus);
	if (edit->cpus && set_key(s, "cpus", cpus, e) < 0)
		return -1;
	return set_size(s, "memory", edit->memory, e) < 0 ? -1 : set_size(s, "disk", edit->disk, e);
}

static int check(struct setup *s, struct findings *f, struct err *e)
{
	struct cfg_host host;
	struct cfg_input in = { .instance = { s->label, s->text.data ? s->text.data : "", s->text.len }, .host = &host };

	if (plan_host_probe(&s->host, e) < 0)
		return -1;
	host = plan_host_facts(&s->host);
	in.lima_home = s->host.lima_home;
	return cfg_read(&in, &s->cfg, f) ? 0 : findings_result(f, s->label, e);
}

static void say_findings(struct findings *f)
{
	findings_sort(f);
	for (size_t i = 0; i < f->count; i++) {
		auto_free char *line = finding_line(&f->item[i]);

		say(f->item[i].warning ? SAY_WARN : SAY_ERROR, "%s", line);
	}
	findings_fini(f);
}

int setup_check(struct setup *s, struct err *e)
{
	struct findings f = { 0 };
	int rc = check(s, &f, e);

	say_findings(&f);
	return rc;
}

static int check_supported(struct setup *s, struct err *e)
{
	struct findings f = { 0 };
	int rc = plan_supported(&s->cfg, s->label, &f) ? 0 : findings_result(&f, s->label, e);

	say_findings(&f);
	return rc;
}

int setup_check_quietly(struct setup *s, struct err *e)
{
	struct findings f = { 0 };
	int rc = check(s, &f, e);

	findings_sort(&f);
	for (size_t i = 0; rc < 0 && i < f.count; i++) {
		auto_free char *line = f.item[i].warning ? NULL : finding_line(&f.item[i]);

		if (line) {
			err_set(e, ERR_INVALID, "%s", line);
			break;
		}
	}
	findings_fini(&f);
	return rc;
}

static bool reuse(char **image, const char *path)
{
	if (!path || !fs_exists(path))
		return false;
	*image = xstrdup(path);
	return true;
}

/* An instance keeps the kernel that fits the modules on its disk, whatever the cache's names mean by now. */
static bool reuse_images(struct setup *s, const struct plan *former)
{
	bool engine = former->disks > 1;

	if (engine != (s->cfg.guest.engine_disk != NULL))
		return false;
	return reuse(&s->image[IMAGE_DISK], former->disk_base) && reuse(&s->image[IMAGE_KERNEL], former->kernel) &&
	       reuse(&s->image[IMAGE_INITRD], former->initrd_base) &&
	       (!engine || reuse(&s->image[IMAGE_ENGINE], former->disk[1].path));
}

static int find_images(struct setup *s, struct err *e)
{
	const struct cfg_image *im = images_choose(&s->cfg, &s->image[IMAGE_DISK], e);

	if (!im)
		return -1;
	if (im->kernel.location &&
	    !(s->image[IMAGE_KERNEL] = images_get(im->kernel.location, im->kernel.digest, e)))
		return -1;
	if (im->initrd.location &&
	    !(s->image[IMAGE_INITRD] = images_get(im->initrd.location, im->initrd.digest, e)))
		return -1;
	if (s->cfg.guest.engine_disk && !(s->image[IMAGE_ENGINE] = images_get(s->cfg.guest.engine_disk, NULL, e)))
		return -1;
	return 0;
}

int setup_plan(struct setup *s, const char *name, const char *dir, const struct plan *former, struct err *e)
{
	struct plan_images images;

	if (check_supported(s, e) < 0 || plan_possible(&s->cfg, &s->host, e) < 0 || plan_host_for_guest(&s->host, s->cfg.arch, e) < 0)
		return -1;
	if (!s->host.fake && !(former && reuse_images(s, former))) {
		for (size_t i = 0; i < sizeof(s->image) / sizeof(*s->image); i++)
			free(steal(&s->image[i]));
		if (find_images(s, e) < 0)
			return -1;
	}
	images = (struct plan_images){
		.disk = s->image[IMAGE_DISK],
		.kernel = s->image[IMAGE_KERNEL],
		.initrd = s->image[IMAGE_INITRD],
		.engine_disk = s->image[IMAGE_ENGINE],
	};
	return plan_make(&s->cfg, &s->host, &images, name, dir, &s->plan, e);
}
