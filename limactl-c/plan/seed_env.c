/* seed_env.c - lima.env, param.env, etc_environment: NAME=VALUE lines without quotes, read by boot.sh and lima-init. */
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/plan/seed_parts.h"

/* A file being written; the first mistake is kept. */
struct env {
	struct buf *b;
	struct err *e;
	const char *prefix;
	int bad;
};

static void put(struct env *v, const char *name, const char *value)
{
	auto_free char *whole = xasprintf("%s%s", v->prefix, name);

	if (v->bad)
		return;
	if (seed_check_line(whole, value, v->e) < 0)
		v->bad = -1;
	else if (buf_addf(v->b, "%s=%s\n", whole, value) < 0)
		v->bad = err_set(v->e, ERR_INVALID, "%s: the guest's variables are too large", whole);
}

static void put_number(struct env *v, const char *name, unsigned long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	put(v, name, text);
}

/* "1", or nothing: what a shell tests with -n. */
static void put_flag(struct env *v, const char *name, bool value)
{
	put(v, name, value ? "1" : "");
}

static void put_bool(struct env *v, const char *name, bool value)
{
	put(v, name, value ? "true" : "false");
}

/* A name made of the parts of an indexed one. */
static void put_part(struct env *v, const char *list, const char *index, const char *part, const char *value)
{
	auto_free char *name = xasprintf("%s_%s_%s", list, index, part);

	put(v, name, value);
}

static void put_user(struct env *v, const struct cfg *c)
{
	put(v, "USER", c->user.name);
	put_number(v, "UID", c->user.uid);
	put(v, "COMMENT", c->user.comment);
	put(v, "HOME", c->user.home);
	put(v, "SHELL", c->user.shell);
}

static void put_mounts(struct env *v, const struct seed_input *in)
{
	const struct cfg *c = in->c;
	const char *home = "";

	for (size_t i = 0; in->host_home && i < c->mounts; i++)
		if (!strcmp(c->mount[i].location, in->host_home))
			home = c->mount[i].mount_point;
	put(v, "HOSTHOME_MOUNTPOINT", home);
	put_number(v, "MOUNTS", c->mounts);
	for (size_t i = 0; i < c->mounts; i++) {
		char index[24];

		snprintf(index, sizeof(index), "%zu", i);
		put_part(v, "MOUNTS", index, "MOUNTPOINT", c->mount[i].mount_point);
	}
	put(v, "MOUNTTYPE", c->mount_type);
}

static void put_disk(struct env *v, const struct cfg_disk *d, size_t at, size_t number)
{
	auto_free char *args = plan_join(d->fs_arg, d->fs_args, " ");
	char index[24], device[] = "vda";

	snprintf(index, sizeof(index), "%zu", number);
	device[2] = (char)('a' + at);
	put_part(v, "DISK", index, "NAME", d->name);
	put_part(v, "DISK", index, "DEVICE", device);
	put_part(v, "DISK", index, "FORMAT", d->format == CFG_FALSE ? "false" : "true");
	put_part(v, "DISK", index, "FSTYPE", d->fs_type ? d->fs_type : "");
	put_part(v, "DISK", index, "FSARGS", args);
}

/* Those that are attached; the plan attaches them in order. */
static void put_disks(struct env *v, const struct seed_input *in)
{
	const struct cfg *c = in->c;
	const struct plan *p = in->p;
	size_t n = 0;

	for (size_t i = 0; i < p->disks; i++)
		n += p->disk[i].name != NULL;
	put_number(v, "DISKS", n);
	n = 0;
	for (size_t i = 0; i < p->disks; i++)
		for (size_t k = 0; p->disk[i].name && k < c->additional_disks; k++)
			if (!strcmp(p->disk[i].name, c->additional_disk[k].name))
				put_disk(v, &c->additional_disk[k], i, n++);
}

static void put_provision(struct env *v, const struct cfg *c)
{
	bool skip = false;

	for (size_t i = 0; i < c->provisions; i++) {
		const struct cfg_provision *p = &c->provision[i];
		bool data = !strcmp(p->mode, "data");
		const char *list = data ? "DATAFILE" : "YQ_PROVISION";
		char index[24];

		skip |= p->skip_default_dependency_resolution == CFG_TRUE;
		if (!data && strcmp(p->mode, "yq"))
			continue;
		snprintf(index, sizeof(index), "%08zu", i);
		if (data)
			put_part(v, list, index, "OVERWRITE", p->overwrite == CFG_FALSE ? "false" : "true");
		else
			put_part(v, list, index, "FORMAT", p->format);
		put_part(v, list, index, "OWNER", p->owner);
		put_part(v, list, index, "PATH", p->path);
		put_part(v, list, index, "PERMISSIONS", p->permissions);
	}
	put_flag(v, "SKIP_DEFAULT_DEPENDENCY_RESOLUTION", skip);
}

static void put_containerd(struct env *v, const struct seed_input *in)
{
	put_flag(v, "CONTAINERD_USER", in->c->containerd.user);
	put_flag(v, "CONTAINERD_SYSTEM", in->c->containerd.system);
	if (in->p->containerd)
		put(v, "CONTAINERD_ARCHIVE", SEED_NERDCTL);
}

/* The host's answers to names come by QEMU's own server, so no port of ours stands in for it. */
static void put_network(struct env *v)
{
	put(v, "SLIRP_DNS", PLAN_NET_DNS);
	put(v, "SLIRP_GATEWAY", PLAN_NET_GATEWAY);
	put(v, "SLIRP_IP_ADDRESS", PLAN_NET_ADDRESS);
	put(v, "UDP_DNS_LOCAL_PORT", "0");
	put(v, "TCP_DNS_LOCAL_PORT", "0");
}

int seed_lima_env(const struct seed_input *in, const char *iid, struct buf *b, struct err *e)
{
	struct env v = { b, e, "LIMA_CIDATA_", 0 };
	const struct cfg *c = in->c;

	put(&v, "DEBUG", "false");
	put(&v, "IID", iid);
	put(&v, "NAME", in->p->name);
	put_user(&v, c);
	put_mounts(&v, in);
	put_disks(&v, in);
	put_provision(&v, c);
	put(&v, "GUEST_INSTALL_PREFIX", c->guest_install_prefix);
	put_flag(&v, "UPGRADE_PACKAGES", c->upgrade_packages);
	put_containerd(&v, in);
	put_network(&v);
	put_bool(&v, "ROSETTA_ENABLED", c->vz.rosetta == CFG_TRUE);
	put_bool(&v, "ROSETTA_BINFMT", c->vz.rosetta_binfmt == CFG_TRUE);
	put(&v, "VMTYPE", c->vm_type);
	put(&v, "VSOCK_PORT", "0");
	put(&v, "VIRTIO_PORT", c->plain ? "" : PLAN_AGENT_PORT);
	put_flag(&v, "PLAIN", c->plain);
	put_flag(&v, "NO_CLOUD_INIT", false);
	put_flag(&v, "PASSWORDLESS_SUDO", c->user.passwordless_sudo);
	return v.bad;
}

int seed_param_env(const struct seed_input *in, struct buf *b, struct err *e)
{
	struct env v = { b, e, "PARAM_", 0 };

	for (size_t i = 0; i < in->c->params; i++)
		put(&v, in->c->param[i].key, in->c->param[i].value);
	return v.bad;
}

int seed_etc_environment(const struct seed_input *in, struct buf *b, struct err *e)
{
	struct env v = { b, e, "", 0 };
	const struct plan *p = in->p;

	if (buf_adds(b, "#LIMA-START\n") < 0)
		return -1;
	for (size_t i = 0; i < p->settings; i++)
		if (!strncmp(p->setting[i].key, "env.", 4))
			put(&v, p->setting[i].key + 4, p->setting[i].value);
	if (!v.bad && buf_adds(b, "#LIMA-END\n") < 0)
		v.bad = err_set(e, ERR_INVALID, "the guest's environment is too large");
	return v.bad;
}

/* For boot.Linux/05-mounts.sh: in the order of LIMA_CIDATA_MOUNTS. */
int seed_mounts(const struct seed_input *in, struct buf *b, struct err *e)
{
	const struct cfg *c = in->c;

	for (size_t i = 0; seed_guest_mounts(c) && i < c->mounts; i++) {
		auto_free char *options = seed_mount_options(c, &c->mount[i]);
		char tag[PLAN_TAG_MAX];

		plan_mount_tag(&c->mount[i], tag);
		if (buf_addf(b, "%s %s %s\n", tag, c->mount_type, options) < 0)
			return err_set(e, ERR_INVALID, "too many mounts");
	}
	return 0;
}
