/* fill.c - defaults: constants from the table of keys, the rest from facts about the host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

#define GIB ((uint64_t)1 << 30)
enum { CPUS_DEFAULT = 4, UID_DEFAULT = 1000 };

static void set(char **field, const char *value)
{
	free(*field);
	*field = xstrdup(value);
}

static void set_if_none(char **field, const char *value)
{
	if (!*field)
		*field = xstrdup(value);
}

/* "default" is Lima's word for "not set". */
static void set_arch(char **field, const char *value)
{
	if (!*field || !strcmp(*field, "default"))
		set(field, value);
}

static void default_of(const struct key *k, char *base)
{
	struct err e;

	if (schema_set(k, base + k->at, k->def, &e) < 0) {
		fprintf(stderr, "default of %s: %s\n", k->path, e.msg);
		abort(); /* the table itself is wrong */
	}
}

/* Constant defaults of one struct: rows directly in group, shown as the group's path with indexes.
 */
static void fill_constants(const struct cfg *c, const char *group, const char *shown, char *base)
{
	size_t n = strlen(group);

	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		auto_free char *path = NULL;

		if (!k->def || k->type == KEY_LATER || strncmp(k->path, group, n) ||
		    strstr(k->path + n, "[]"))
			continue;
		path = xasprintf("%s%s", shown, k->path + n);
		/* Text that was given but wrong needs a value too, for those who go on to collect
		 * findings. */
		if (k->type == KEY_STRING ? !*(char **)(void *)(base + k->at)
					  : !where_given(c, path))
			default_of(k, base);
	}
}

static void fill_images(struct cfg *c)
{
	for (size_t i = 0; i < c->images; i++) {
		struct cfg_image *image = &c->image[i];

		set_arch(&image->arch, c->arch);
		if (image->kernel.location)
			set_arch(&image->kernel.arch, image->arch);
		if (image->initrd.location)
			set_arch(&image->initrd.arch, image->arch);
	}
}

static void fill_range(uint32_t range[2], uint32_t port, const uint32_t otherwise[2])
{
	if (range[0] || range[1])
		return;
	range[0] = port ? port : otherwise[0];
	range[1] = port ? port : otherwise[1];
}

static void fill_forward(const struct cfg *c, size_t i)
{
	static const uint32_t every_port[2] = { 1, 65535 };
	struct cfg_port_forward *f = &c->forward[i];
	auto_free char *shown = xasprintf("portForwards[%zu]", i);
	auto_free char *zero = xasprintf("%s.guestIPMustBeZero", shown);

	fill_constants(c, "portForwards[]", shown, (char *)f);
	set_if_none(&f->guest_ip, f->guest_ip_must_be_zero ? "0.0.0.0" : "127.0.0.1");
	if (!where_given(c, zero))
		f->guest_ip_must_be_zero = !strcmp(f->guest_ip, "0.0.0.0");
	fill_range(f->guest_range, f->guest_port, every_port);
	fill_range(f->host_range, f->host_port, f->guest_range);
}

/* Names every useradd takes; Lima's rule. */
static bool name_ok(const char *name)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz_";
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz_0123456789-";

	return name && *name && strchr(first, *name) && strspn(name, rest) == strlen(name);
}

/* Old systems keep names in other encodings: what is not UTF-8 is left out. */
static char *utf8_only(const char *text)
{
	char *out = xmalloc(strlen(text) + 1), *p = out;

	while (*text) {
		size_t n = text_utf8_length(text);

		memcpy(p, text, n);
		p += n;
		text += n ? n : 1;
	}
	*p = '\0';
	return out;
}

static void fill_user(struct cfg *c, const struct cfg_host *h)
{
	bool given = c->user.name, lean = !strcmp(c->guest.init, "lean");
	char uid[16];
	char *home;

	if (!given)
		set(&c->user.name, name_ok(h->user) && strcmp(h->user, "admin") ? h->user : "lima");
	/* Only root itself has number 0: any other name made by root gets the first number of a
	 * person. */
	if (!where_given(c, "user.uid")) {
		bool root = !strcmp(c->user.name, "root");

		c->user.uid = root ? 0 : h->uid ? h->uid : UID_DEFAULT;
	}
	if (!c->user.comment)
		c->user.comment = utf8_only(h->comment ? h->comment : "");
	set_if_none(&c->user.home,
		    strcmp(c->user.name, "root") ? "/home/{{.User}}.guest" : "/root");
	set_if_none(&c->user.shell, lean ? "/bin/sh" : "/bin/bash");
	snprintf(uid, sizeof(uid), "%u", c->user.uid);
	home = cfg_expand(c->user.home,
			  (struct cfg_var[]){ { "User", c->user.name }, { "UID", uid } }, 2);
	free(c->user.home);
	c->user.home = home;
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

/* One template serves every architecture. */
static void fill_engine_disk(struct cfg *c)
{
	char *disk = c->guest.engine_disk;

	if (!disk)
		return;
	c->guest.engine_disk = cfg_expand(disk, &(struct cfg_var){ "Arch", c->arch }, 1);
	free(disk);
}

void cfg_fill(struct cfg *c, const struct cfg_host *h)
{
	uint64_t half = h->memory / 2;

	fill_constants(c, "", "", (char *)c);
	if (!strcmp(c->os, "default"))
		set(&c->os, "Linux");
	set_arch(&c->arch, h->arch);
	set_arch(&c->vm_type, h->darwin && !strcmp(c->arch, h->arch) ? "vz" : "qemu");
	if (!c->cpus)
		c->cpus = h->cpus && h->cpus < CPUS_DEFAULT ? h->cpus : CPUS_DEFAULT;
	if (!c->memory)
		c->memory = half && half < 4 * GIB ? half : 4 * GIB;
	fill_images(c);
	fill_cpu_type(c);
	fill_engine_disk(c);
	if (!where_given(c, "guest.directBoot"))
		c->guest.direct_boot = image_has_kernel(c);
	fill_user(c, h);
	for (size_t i = 0; i < c->provisions; i++) {
		auto_free char *shown = xasprintf("provision[%zu]", i);

		fill_constants(c, "provision[]", shown, (char *)&c->provision[i]);
	}
	for (size_t i = 0; i < c->forwards; i++)
		fill_forward(c, i);
}
