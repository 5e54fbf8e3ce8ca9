/* fill.c - defaults: constants from the table of keys, the rest from facts about the host. */
#include "limactl-c/config/fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

#define GIB ((uint64_t)1 << 30)
enum { CPUS_DEFAULT = 4, QUEUE_SIZE_DEFAULT = 1024 };

static void set(char **field, const char *value)
{
	free(*field);
	*field = xstrdup(value);
}

void fill_if_none(char **field, const char *value)
{
	if (!*field)
		*field = xstrdup(value);
}

/* "default" is Lima's word for "not set". */
static void set_word(char **field, const char *value)
{
	if (!*field || !strcmp(*field, "default"))
		set(field, value);
}

static void set_tri(enum cfg_tri *field, bool value)
{
	if (*field == CFG_UNSET)
		*field = value ? CFG_TRUE : CFG_FALSE;
}

static void default_of(const struct key *k, char *base)
{
	struct err e;

	if (schema_set(k, base + k->at, k->def, &e) < 0) {
		fprintf(stderr, "default of %s: %s\n", k->path, e.msg);
		abort(); /* the table itself is wrong */
	}
}

/* Constant defaults of the struct at base, whose keys were given in map (NULL: none). */
static void fill_constants(const struct schema_node *group, const struct ynode *map, char *base)
{
	for (const struct schema_node *n = group->child; n; n = n->next) {
		const struct ynode *given = yn_get(map, n->name);
		const struct key *k = n->key;
		bool none = !given || given->kind == YN_NULL;

		if (!k) {
			fill_constants(n, given, base);
		} else if (k->type == KEY_LIST) {
			char *array = *(char **)(void *)(base + k->at);
			size_t count = *(size_t *)(void *)(base + k->count_at);

			for (size_t i = 0; i < count; i++)
				fill_constants(n, none ? NULL : given->item[i], array + i * k->size);
		} else if (k->def && (k->type == KEY_STRING ? !*(char **)(void *)(base + k->at) : none)) {
			/* Text that was given but wrong needs a value too, for those who go on to collect findings. */
			default_of(k, base);
		}
	}
}

static void fill_files(struct cfg_file *file, size_t count, const char *arch)
{
	for (size_t i = 0; i < count; i++)
		set_word(&file[i].arch, arch);
}

static void fill_images(struct cfg *c)
{
	for (size_t i = 0; i < c->images; i++) {
		struct cfg_image *image = &c->image[i];

		set_word(&image->arch, c->arch);
		if (image->kernel.location)
			set_word(&image->kernel.arch, image->arch);
		if (image->initrd.location)
			set_word(&image->initrd.arch, image->arch);
	}
	fill_files(c->firmware.image, c->firmware.images, c->arch);
	fill_files(c->virtio_win, c->virtio_wins, c->arch);
	fill_files(c->containerd.archive, c->containerd.archives, c->arch);
}

static bool image_has_kernel(const struct cfg *c)
{
	for (size_t i = 0; i < c->images; i++) {
		if (!strcmp(c->image[i].arch, c->arch))
			return c->image[i].kernel.location;
	}
	return false;
}

static void fill_cpu_type(struct cfg *c)
{
	for (size_t i = 0; i < c->cpu_models; i++) {
		if (!strcmp(c->cpu_model[i].key, c->arch) && *c->cpu_model[i].value)
			set(&c->cpu_type, c->cpu_model[i].value);
	}
}

static void fill_guest(struct cfg *c)
{
	if (!where_given(c, "guest.directBoot"))
		c->guest.direct_boot = image_has_kernel(c);
}

static bool unsupported(const struct cfg *c, const char *mount_type)
{
	for (size_t i = 0; i < c->mount_types_unsupported; i++) {
		if (!strcmp(c->mount_type_unsupported[i], mount_type))
			return true;
	}
	return false;
}

/* What each driver chooses. */
static void fill_driver(struct cfg *c)
{
	if (!strcmp(c->vm_type, "vz")) {
		set_tri(&c->vz.rosetta, false);
		set_tri(&c->vz.rosetta_binfmt, false);
		fill_if_none(&c->vz.disk_image_format, "raw");
		set_tri(&c->ssh.over_vsock, !strcmp(c->os, "Linux"));
		set_word(&c->mount_type, "virtiofs");
	} else if (!strcmp(c->vm_type, "krunkit")) {
		set_word(&c->mount_type, "virtiofs");
	} else if (!strcmp(c->vm_type, "wsl2")) {
		set_word(&c->mount_type, "wsl2");
	} else {
		fill_if_none(&c->video.vnc_display, "127.0.0.1:0,to=9");
		set_word(&c->mount_type, unsupported(c, "9p") ? "reverse-sshfs" : "9p");
	}
}

static void fill_provision(struct cfg *c)
{
	bool bsd = !strcmp(c->os, "Darwin") || !strcmp(c->os, "FreeBSD");

	for (size_t i = 0; i < c->provisions; i++) {
		struct cfg_provision *p = &c->provision[i];
		bool data = !strcmp(p->mode, "data"), yq = !strcmp(p->mode, "yq");

		if (!strcmp(p->mode, "dependency"))
			set_tri(&p->skip_default_dependency_resolution, false);
		if (data)
			set_tri(&p->overwrite, true);
		if (yq)
			fill_if_none(&p->format, "auto");
		if (data || yq) {
			fill_if_none(&p->owner, bsd ? "root:wheel" : "root:root");
			fill_if_none(&p->permissions, "644");
		}
	}
	for (size_t i = 0; i < c->probes; i++) {
		if (!c->probe[i].description)
			c->probe[i].description = xasprintf("user probe %zu/%zu", i + 1, c->probes);
	}
}

void fill_defaults(struct cfg *c, const struct cfg_host *h)
{
	uint64_t half = h->memory / 2;

	fill_constants(schema_root(), c->given, (char *)c);
	set_word(&c->os, "Linux");
	set_word(&c->arch, h->arch);
	set_word(&c->vm_type, h->darwin && !strcmp(c->arch, h->arch) ? "vz" : "qemu");
	if (!c->cpus)
		c->cpus = h->cpus && h->cpus < CPUS_DEFAULT ? h->cpus : CPUS_DEFAULT;
	if (!c->memory)
		c->memory = half && half < 4 * GIB ? half : 4 * GIB;
	if (h->timezone)
		fill_if_none(&c->timezone, h->timezone);
	fill_images(c);
	fill_cpu_type(c);
	fill_guest(c);
	fill_driver(c);
	fill_user(c, h);
	fill_provision(c);
	fill_forwards(c);
	for (size_t i = 0; i < c->mounts; i++) {
		struct cfg_mount *m = &c->mount[i];

		if (!m->virtiofs_queue_size && !strcmp(c->mount_type, "virtiofs") && !strcmp(c->vm_type, "qemu"))
			m->virtiofs_queue_size = QUEUE_SIZE_DEFAULT;
	}
}
