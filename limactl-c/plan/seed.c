#include "limactl-c/plan/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/base/sha256.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/plan/seed_parts.h"

enum { IID_DIGITS = 16, SHELL_MODE = 0755 };

/* Scripts of provision/cloud/, as they lie there. */
static const struct {
	const char *path;
	unsigned mode;
	bool essential; /* for plain guests too */
} scripts[] = {
	{ "boot.sh", SHELL_MODE, true },
	{ "boot.early.sh", SHELL_MODE, true },
	{ "boot.essential.Linux/00-data-volume.sh", SHELL_MODE, true },
	{ "boot.essential.Linux/10-bash.sh", SHELL_MODE, true },
	{ "boot.essential.Linux/20-user.sh", SHELL_MODE, true },
	{ "boot.essential.Linux/30-sshd.sh", SHELL_MODE, true },
	{ "boot.Linux/00-modules.sh", SHELL_MODE, false },
	{ "boot.Linux/05-home.sh", SHELL_MODE, false },
	{ "boot.Linux/05-mounts.sh", SHELL_MODE, false },
	{ "boot.Linux/06-hosts.sh", SHELL_MODE, false },
	{ "boot.Linux/07-environment.sh", SHELL_MODE, false },
	{ "boot.Linux/20-rootless.sh", SHELL_MODE, false },
	{ "boot.Linux/25-guestagent.sh", SHELL_MODE, false },
	{ "boot.Linux/26-engine.sh", SHELL_MODE, false },
	{ "boot.Linux/30-packages.sh", SHELL_MODE, false },
	{ "boot.Linux/35-fuse.sh", SHELL_MODE, false },
	{ "boot.Linux/40-containerd.sh", SHELL_MODE, false },
	{ "util/compare_version.sh", SHELL_MODE, true },
	{ "util/escape_fstab.sh", SHELL_MODE, true },
	{ "util/lima.sh", 0644, true },
	{ "util/service.sh", 0644, false },
	{ "util/unescape_fstab.sh", SHELL_MODE, true },
};

static struct seed_file *add(struct seed *s, char *path, unsigned mode)
{
	struct seed_file *f = PLAN_APPEND(s->file, s->files);

	f->path = path;
	f->mode = mode;
	return f;
}

static void add_text(struct seed *s, const char *path, unsigned mode, const char *text)
{
	struct seed_file *f = add(s, xstrdup(path), mode);

	f->data = xstrdup(text ? text : "");
	f->len = strlen(f->data);
}

static void add_source(struct seed *s, const char *path, unsigned mode, char *source)
{
	add(s, xstrdup(path), mode)->source = source;
}

/* iid-<hex>: of everything cloud-init does once an instance. */
static void make_iid(const struct seed_input *in, const struct buf *user, const struct buf *network, char iid[32])
{
	auto_free char *all = xasprintf("%s%c%s%c%s", user->data, 0xff, network->data, 0xff, in->p->hostname);
	char hex[SHA256_HEX + 1];

	sha256_hex(all, strlen(all), hex);
	snprintf(iid, 32, "iid-%.*s", IID_DIGITS, hex);
}

/* What cloud-init and lima-init read. */
static int add_configuration(const struct seed_input *in, struct seed *s, char iid[32], struct err *e)
{
	auto_buf user = BUF_INIT(SEED_TEXT_MAX), network = BUF_INIT(SEED_TEXT_MAX), meta = BUF_INIT(SEED_TEXT_MAX);

	if (seed_user_data(in, &user, e) < 0 || seed_network(in, &network, e) < 0)
		return -1;
	make_iid(in, &user, &network, iid);
	if (seed_meta_data(in, iid, &meta, e) < 0)
		return -1;
	/* What runs at each boot is read at each boot: it makes no other instance of the guest. */
	if (seed_boot_commands(&user) < 0)
		return err_set(e, ERR_INVALID, "the guest's user-data would be larger than %d bytes", SEED_TEXT_MAX);
	add_text(s, "user-data", 0644, user.data);
	add_text(s, "network-config", 0644, network.data);
	add_text(s, "meta-data", 0644, meta.data);
	return 0;
}

static int add_variables(const struct seed_input *in, struct seed *s, const char *iid, struct err *e)
{
	auto_buf lima = BUF_INIT(SEED_TEXT_MAX), param = BUF_INIT(SEED_TEXT_MAX), env = BUF_INIT(SEED_TEXT_MAX);
	auto_buf mounts = BUF_INIT(SEED_TEXT_MAX), keys = BUF_INIT(SEED_TEXT_MAX);
	auto_free char *settings = plan_settings_text(in->p, e);

	if (!settings || seed_lima_env(in, iid, &lima, e) < 0 || seed_param_env(in, &param, e) < 0 ||
	    seed_etc_environment(in, &env, e) < 0 || seed_mounts(in, &mounts, e) < 0)
		return -1;
	for (size_t i = 0; i < in->keys; i++)
		if (buf_addf(&keys, "%s\n", in->key[i]) < 0)
			return err_set(e, ERR_INVALID, "there are too many public keys");
	add_text(s, "lima.env", 0600, lima.data);
	add_text(s, "param.env", 0600, param.data);
	add_text(s, "etc_environment", 0600, env.data);
	add_text(s, "ssh_authorized_keys", 0600, keys.data);
	add_text(s, "lima/settings", 0600, settings);
	add_text(s, "lima/mounts", 0600, mounts.data);
	return 0;
}

/* The texts of provision[], each in the folder of its mode, byte for byte. */
static void add_provision(const struct seed_input *in, struct seed *s)
{
	for (size_t i = 0; i < in->p->scripts; i++) {
		const struct plan_script *sc = &in->p->script[i];
		bool run = strcmp(sc->mode, "data") != 0 && strcmp(sc->mode, "yq") != 0;
		auto_free char *path = xasprintf("provision.%s/%08zu", sc->mode, i);

		add_text(s, path, run ? 0700 : 0600, sc->text);
	}
}

static void add_files(const struct seed_input *in, struct seed *s)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		if (scripts[i].essential || !in->c->plain)
			add_source(s, scripts[i].path, scripts[i].mode,
				   xasprintf("%s/cloud/%s", in->provision, scripts[i].path));
	if (!in->c->plain)
		add_source(s, "lima-guestagent", SHELL_MODE, xstrdup(in->p->agent));
	if (in->p->containerd)
		add_source(s, SEED_NERDCTL, 0644, xstrdup(in->p->containerd));
}

static int by_path(const void *a, const void *b)
{
	const struct seed_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int seed_make(const struct seed_input *in, struct seed *out, struct err *e)
{
	char iid[32];

	*out = (struct seed){ 0 };
	if (add_configuration(in, out, iid, e) < 0 || add_variables(in, out, iid, e) < 0) {
		seed_free(out);
		return -1;
	}
	add_provision(in, out);
	add_files(in, out);
	qsort(out->file, out->files, sizeof(*out->file), by_path);
	return 0;
}

void seed_free(struct seed *s)
{
	for (size_t i = 0; i < s->files; i++) {
		free(s->file[i].path);
		free(s->file[i].data);
		free(s->file[i].source);
	}
	free(s->file);
	*s = (struct seed){ 0 };
}
