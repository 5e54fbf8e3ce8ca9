/* What the guest is told and given: settings, scripts, the files its initramfs carries. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/settings.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"

void plan_set(struct plan *p, const char *key, const char *value)
{
	plan_setf(p, value, "%s", key);
}

void plan_setf(struct plan *p, const char *value, const char *key, ...)
{
	struct plan_pair *pair = PLAN_APPEND(p->setting, p->settings);
	va_list ap;

	va_start(ap, key);
	pair->key = xvasprintf(key, ap);
	va_end(ap);
	pair->value = xstrdup(value);
}

char *plan_join(char *const *word, size_t words, const char *between)
{
	auto_buf all = BUF_INIT(SIZE_MAX / 2);

	for (size_t i = 0; i < words; i++)
		if (buf_addf(&all, "%s%s", i ? between : "", word[i]) < 0)
			abort(); /* its max is that of memory */
	return all.data ? steal(&all.data) : xstrdup("");
}

const char *plan_setting(const struct plan *p, const char *key)
{
	for (size_t i = 0; i < p->settings; i++)
		if (!strcmp(p->setting[i].key, key))
			return p->setting[i].value;
	return NULL;
}

static void set_bool(struct plan *p, const char *key, bool value)
{
	plan_set(p, key, value ? "true" : "false");
}

static void set_number(struct plan *p, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	plan_set(p, key, text);
}

static void set_user(struct making *m)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	plan_set(p, "user.name", c->user.name);
	set_number(p, "user.uid", c->user.uid);
	set_number(p, "user.gid", c->user.uid);
	plan_set(p, "user.home", c->user.home);
	if (c->user.shell)
		plan_set(p, "user.shell", c->user.shell);
	if (c->user.comment)
		plan_set(p, "user.comment", c->user.comment);
	set_bool(p, "user.sudo", c->user.passwordless_sudo);
}

/* A guest with a seed has them from there. */
static void set_keys(struct making *m)
{
	for (size_t i = 0; !m->p->seed && i < m->h->ssh_keys; i++)
		plan_setf(m->p, m->h->ssh_key[i], "ssh.key.%02zu", i);
}

static void set_tuning(struct making *m)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;

	set_bool(p, "tuning.initOnFree", c->tuning.init_on_free);
	set_bool(p, "tuning.tmpfsVarLog", c->tuning.tmpfs_var_log);
	set_number(p, "tuning.syslogRing", c->tuning.syslog_ring);
	set_number(p, "tuning.commit", c->tuning.commit);
	set_bool(p, "tuning.cacheTrim", c->tuning.cache_trim);
	if (c->tuning.cache_trim) {
		auto_free char *unless = plan_join(c->tuning.cache_trim_unless, c->tuning.cache_trim_unless_count, " ");

		set_number(p, "tuning.cacheTrimMinimum", c->tuning.cache_trim_minimum);
		plan_set(p, "tuning.cacheTrimUnless", unless ? unless : "");
	}
	set_bool(p, "tuning.fstrimBoot", c->tuning.fstrim_boot);
	set_bool(p, "tuning.fstrimStop", c->tuning.fstrim_stop);
	set_number(p, "tuning.dockerLogSize", c->tuning.docker_log_size);
	set_number(p, "tuning.dockerLogFiles", c->tuning.docker_log_files);
	set_number(p, "tuning.buildCache", c->tuning.build_cache);
	if (p->init != PLAN_INIT_OPENRC)
		return;
	set_bool(p, "tuning.skipBootMenu", c->tuning.skip_boot_menu);
	set_bool(p, "tuning.noCloudInitHotplug", c->tuning.no_cloud_init_hotplug);
}

/* The format of a file by its name, as yq chooses it. */
static const char *format_of(const struct cfg_provision *from)
{
	const char *dot = strrchr(from->path, '.');

	if (strcmp(from->format, "auto"))
		return from->format;
	return dot && !strcmp(dot, ".json") ? "json" : "yaml";
}

static void add_script(struct making *m, const struct cfg_provision *from)
{
	struct plan *p = m->p;
	struct plan_script *s = PLAN_APPEND(p->script, p->scripts);
	size_t i = p->scripts - 1;
	bool data = !strcmp(from->mode, "data"), yq = !strcmp(from->mode, "yq");

	s->mode = xstrdup(from->mode);
	s->text = xstrdup(data ? from->content : yq ? from->expression : from->script);
	plan_setf(p, s->mode, "provision.%02zu.mode", i);
	if (yq)
		s->format = xstrdup(format_of(from));
	if (!data && !yq)
		return;
	plan_setf(p, from->path, "provision.%02zu.path", i);
	plan_setf(p, from->owner, "provision.%02zu.owner", i);
	plan_setf(p, from->permissions, "provision.%02zu.permissions", i);
	if (data && from->overwrite == CFG_FALSE)
		plan_setf(p, "false", "provision.%02zu.overwrite", i);
}

static void set_params(struct making *m)
{
	for (size_t i = 0; i < m->c->params; i++)
		plan_setf(m->p, m->c->param[i].value, "param.%s", m->c->param[i].key);
}

void plan_add_file(struct plan *p, const char *guest_path, char *source, unsigned mode)
{
	struct plan_file *f = PLAN_APPEND(p->file, p->files);

	f->guest_path = xstrdup(guest_path);
	f->source = source;
	f->mode = mode;
}

static void add_files(struct making *m)
{
	struct plan *p = m->p;

	plan_add_file(p, "lima/init", xasprintf("%s/lean/init", m->h->provision), 0755);
	plan_add_file(p, "lima/inittab", xasprintf("%s/lean/inittab", m->h->provision), 0644);
	plan_add_file(p, "lima/agent", xstrdup(m->h->agent), 0755);
	plan_add_file(p, "lima/settings", xasprintf("%s/settings", p->dir), 0600);
	for (size_t i = 0; i < p->scripts; i++) {
		auto_free char *guest = xasprintf("lima/provision/%02zu", i);

		plan_add_file(p, guest, xasprintf("%s/provision/%02zu", p->dir, i), 0700);
	}
}

int plan_make_guest(struct making *m, struct err *e)
{
	const struct cfg *c = m->c;
	struct plan *p = m->p;
	auto_free char *text = NULL;

	if (p->seed)
		plan_set(p, "init", "cloud");
	else if (p->init == PLAN_INIT_OPENRC)
		plan_set(p, "init", "openrc");
	if (plan_fixes_addresses(m))
		plan_set(p, "boot.norandmaps", "true");
	plan_set(p, "hostname", p->hostname);
	if (m->images->machine_id)
		plan_set(p, "machineId", m->images->machine_id);
	set_user(m);
	set_keys(m);
	set_params(m);
	if (plan_make_surroundings(m, e) < 0)
		return -1;
	for (size_t i = 0; i < c->provisions; i++)
		add_script(m, &c->provision[i]);
	if (p->driver == PLAN_QEMU && p->accel == PLAN_TCG)
		plan_set(p, "emulated", "true");
	set_bool(p, "engine", m->images->engine_disk);
	set_bool(p, "docker", m->images->engine_disk);
	set_tuning(m);
	if (p->initrd_base)
		add_files(m);
	/* A value that cannot be handed over is found now, not at start. */
	text = plan_settings_text(p, e);
	return text ? 0 : -1;
}

char *plan_settings_text(const struct plan *p, struct err *e)
{
	auto_buf b = BUF_INIT(SETTINGS_SIZE_MAX);

	for (size_t i = 0; i < p->settings; i++)
		if (settings_put(&b, p->setting[i].key, p->setting[i].value) < 0) {
			err_set(e, ERR_INVALID, "setting %s cannot be handed to the guest: its name has an odd "
				"character, or there is too much", p->setting[i].key);
			return NULL;
		}
	return xstrdup(b.data ? b.data : "");
}
