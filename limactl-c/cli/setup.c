#include "limactl-c/cli/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/store/paths.h"

enum { IMAGE_DISK, IMAGE_KERNEL, IMAGE_INITRD, IMAGE_ENGINE, FINDINGS_TEXT_MAX = 1 << 20 };

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
	return locator_read(locator, NULL, NULL, &s->text, e);
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

static int check(struct setup *s, struct buf *findings, struct err *e)
{
	struct cfg_host h;

	if (plan_host_probe(&s->host, e) < 0)
		return -1;
	h = (struct cfg_host){
		.arch = s->host.arch,
		.user = s->host.user,
		.comment = s->host.comment,
		.uid = s->host.uid,
		.cpus = s->host.cpus,
		.memory = s->host.memory,
		.darwin = s->host.darwin,
	};
	return cfg_load(s->label, s->text.data ? s->text.data : "", s->text.len, &h, &s->cfg, findings, e);
}

/* The next line of *p, cut off; NULL at the end. */
static char *next_line(char **p)
{
	char *line = *p, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	*p = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

int setup_check(struct setup *s, struct err *e)
{
	auto_buf findings = BUF_INIT(FINDINGS_TEXT_MAX);
	int rc = check(s, &findings, e);
	char *p = findings.data, *line;

	while ((line = next_line(&p)))
		say(strstr(line, ": warning: ") ? SAY_WARN : SAY_ERROR, "%s", line);
	return rc;
}

int setup_check_quietly(struct setup *s, struct err *e)
{
	auto_buf findings = BUF_INIT(FINDINGS_TEXT_MAX);
	int rc = check(s, &findings, e);
	char *p = findings.data, *line;

	while (rc < 0 && (line = next_line(&p)))
		if (!strstr(line, ": warning: "))
			return err_set(e, ERR_INVALID, "%s", line);
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

	if (plan_possible(&s->cfg, &s->host, e) < 0 || plan_host_for_guest(&s->host, s->cfg.arch, e) < 0)
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
