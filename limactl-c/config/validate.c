/* validate.c - rules across fields, on a filled configuration. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/load.h"
#include "limactl-c/config/where.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
enum { USER_NAME_MAX = 32 };

void check_bad(struct check *k, char *path, const char *fmt, ...)
{
	auto_free char *own = path;
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	finding_error(k->f, where_place(k->c, k->name, own), NULL, "field `%s` %s", own, what);
}

void check_required(struct check *k, const void *value, char *path)
{
	if (!value && !where_given(k->c, path))
		check_bad(k, path, "must be set");
	else
		free(path);
}

/* "1.2.3", a leading v and anything behind the third number allowed. */
static bool read_version(const char *s, unsigned v[3])
{
	return sscanf(s + (*s == 'v'), "%5u.%5u.%5u", &v[0], &v[1], &v[2]) == 3;
}

static void check_version(struct check *k)
{
	const char *wanted = k->c->minimum_lima_version;
	unsigned want[3], have[3];

	if (!wanted)
		return;
	if (!read_version(wanted, want)) {
		check_bad(k, xstrdup("minimumLimaVersion"),
			  "must be a semantic version like 2.0.0, but is \"%.40s\"", wanted);
		return;
	}
	read_version(CFG_LIMA_VERSION, have);
	for (size_t i = 0; i < 3 && want[i] >= have[i]; i++) {
		if (want[i] > have[i]) {
			check_bad(k, xstrdup("minimumLimaVersion"),
				  "asks for Lima version `%.40s`; this follows only `" CFG_LIMA_VERSION
				  "`",
				  wanted);
			return;
		}
	}
}

static void check_digest(struct check *k, const char *digest, char *path)
{
	static const struct {
		const char *prefix;
		size_t digits;
	} kinds[] = { { "sha256:", 64 }, { "sha512:", 128 } };

	for (size_t i = 0; digest && i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *hex = digest + strlen(kinds[i].prefix);

		if (!strncmp(digest, kinds[i].prefix, strlen(kinds[i].prefix)) &&
		    strlen(hex) == kinds[i].digits &&
		    strspn(hex, DIGITS "abcdef") == kinds[i].digits)
			digest = NULL;
	}
	if (digest)
		check_bad(k, path,
			  "is invalid: \"%.150s\"; write sha256: and 64, or sha512: and 128 "
			  "digits of 0-9a-f",
			  digest);
	else
		free(path);
}

/* kernel or initrd of image i. */
static void check_boot_file(struct check *k, size_t i, const char *which,
			    const struct cfg_file *file)
{
	const char *arch = k->c->image[i].arch;
	auto_free char *group = xasprintf("images[%zu].%s", i, which);

	if (file->digest || file->cmdline || file->arch)
		check_required(k, file->location, xasprintf("%s.location", group));
	if (file->location && strcmp(file->arch, arch))
		check_bad(k, xasprintf("%s.arch", group),
			  "has unexpected architecture \"%s\", must be \"%s\"", file->arch, arch);
	check_digest(k, file->digest, xasprintf("%s.digest", group));
}

static void check_images(struct check *k)
{
	const struct cfg *c = k->c;
	const struct cfg_image *mine = NULL;
	bool lean = !strcmp(c->guest.init, "lean");

	if (!c->images) {
		if (!where_given(c, "images") || !k->f->errors)
			check_bad(k, xstrdup("images"), "must be set");
		return;
	}
	for (size_t i = 0; i < c->images; i++) {
		const struct cfg_image *image = &c->image[i];

		check_required(k, image->location, xasprintf("images[%zu].location", i));
		check_digest(k, image->digest, xasprintf("images[%zu].digest", i));
		check_boot_file(k, i, "kernel", &image->kernel);
		check_boot_file(k, i, "initrd", &image->initrd);
		if (!mine && !strcmp(image->arch, c->arch))
			mine = image;
	}
	if (!mine) {
		check_bad(k, xstrdup("images"), "has no image for architecture \"%s\"", c->arch);
		return;
	}
	/* The fake driver boots nothing. */
	if (!strcmp(c->vm_type, "fake"))
		return;
	if (lean && !c->guest.direct_boot)
		check_bad(k, xstrdup("guest.init"),
			  "can be lean only with direct boot, which needs `images[].kernel`");
	else if (c->guest.direct_boot && (!mine->kernel.location || !mine->initrd.location))
		check_bad(k, xstrdup("guest.directBoot"),
			  "needs `images[].kernel` and `images[].initrd` of the image");
}

/* A field of /etc/passwd. */
static bool passwd_ok(const char *s)
{
	for (; *s; s++) {
		if (*s == ':' || (unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	}
	return true;
}

static void check_user(struct check *k)
{
	const struct cfg *c = k->c;
	const char *name = c->user.name;
	const struct {
		const char *path, *value;
		bool absolute;
	} fields[] = {
		{ "user.comment", c->user.comment, false },
		{ "user.home", c->user.home, true },
		{ "user.shell", c->user.shell, true },
	};

	if (!*name || strlen(name) > USER_NAME_MAX || !strchr(LOWER "_", *name) ||
	    strspn(name, LOWER DIGITS "_-") != strlen(name))
		check_bad(k, xstrdup("user.name"),
			  "must be lower-case letters, digits, _ and -, at most %d, not begin "
			  "with a digit or -; got \"%.40s\"",
			  USER_NAME_MAX, name);
	if (!strcmp(name, "root") != !c->user.uid)
		check_bad(k, xstrdup("user.uid"),
			  "must be 0 for root and for nobody else; \"%.40s\" has %u", name,
			  c->user.uid);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (fields[i].absolute && fields[i].value[0] != '/')
			check_bad(k, xstrdup(fields[i].path),
				  "must be an absolute path; got \"%.100s\"", fields[i].value);
		else if (!passwd_ok(fields[i].value))
			check_bad(k, xstrdup(fields[i].path),
				  "must not hold colons, line ends or control characters");
	}
}

static void check_env(struct check *k)
{
	for (size_t i = 0; i < k->c->envs; i++) {
		const char *key = k->c->env[i].key;

		if (!*key || strchr(DIGITS, *key) ||
		    strspn(key, UPPER LOWER DIGITS "_") != strlen(key))
			check_bad(k, xasprintf("env.%s", key),
				  "is no name of a variable: letters, digits and _ only");
	}
}

static void check_kernel_args(struct check *k)
{
	for (size_t i = 0; i < k->c->guest.kernel_args_count; i++) {
		const char *arg = k->c->guest.kernel_args[i];

		if (!*arg || strpbrk(arg, " \t\r\n\"'"))
			check_bad(k, xasprintf("guest.kernelArgs[%zu]", i),
				  "must be one word without quotes; got \"%.60s\"", arg);
	}
}

static void check_cpu_models(struct check *k)
{
	static const char *const arches[] = { "x86_64",  "aarch64", "armv7l",
					      "ppc64le", "riscv64", "s390x" };

	for (size_t i = 0; i < k->c->cpu_models; i++) {
		const struct cfg_env *m = &k->c->cpu_model[i];
		size_t j = 0, n = sizeof(arches) / sizeof(*arches);

		while (j < n && strcmp(m->key, arches[j]))
			j++;
		if (j == n)
			check_bad(
				k, xasprintf("vmOpts.qemu.cpuType.%s", m->key),
				"is no architecture: [x86_64 aarch64 armv7l ppc64le riscv64 s390x]");
	}
}

static void check_idle(struct check *k)
{
	uint32_t pause = k->c->idle.pause_after, suspend = k->c->idle.suspend_after;

	if (pause && suspend && suspend < pause)
		check_bad(k, xstrdup("idle.suspendAfter"),
			  "must not be less than `idle.pauseAfter` (%us, %us)", suspend, pause);
}

void validate_rules(const struct cfg *c, const char *name, struct findings *f)
{
	struct check k = { c, name, f };

	check_version(&k);
	check_images(&k);
	for (size_t i = 0; i < c->provisions; i++)
		check_required(&k, c->provision[i].script, xasprintf("provision[%zu].script", i));
	check_forwards(&k);
	check_env(&k);
	check_user(&k);
	if (c->ssh_local_port == 22)
		check_bad(&k, xstrdup("ssh.localPort"), "must not be 22, the host's own ssh");
	check_cpu_models(&k);
	check_kernel_args(&k);
	check_idle(&k);
}
