/* tuning.c - the table of tunings. A key is carried out where its row says; `agent setup --check` asks the machine,
 * not the settings, whether it is in force. docs/tuning.md has the same table for people. */
#include "guestagent/tuning.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "guestagent/grub.h"
#include "guestagent/openrc.h"
#include "guestagent/power.h"
#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "guestagent/systemd.h"
#include "lib/cleanup.h"
#include "lib/cmdline.h"

struct tuning {
	const char *key;
	/* Carries it out at boot; NULL: another part does (the plan, /lima/init, the inittab, the daemon). */
	int (*apply)(const struct setup *su, struct err *e);
	/* 0 = in force; -1 with the reason. */
	int (*check)(const struct setup *su, struct err *e);
	bool always; /* not a setting: part of every guest */
	/* In a guest with an init of its own: what files that reads must say, on or off; NULL: nothing. */
	int (*own_init)(const struct setup *su, bool on, struct err *e);
	/* In a cloud guest, once it runs: what takes time or is systemd's; NULL: nothing. */
	int (*settled)(const struct setup *su, bool on, struct err *e);
};

/* --- the kernel and file systems --- */

static int check_init_on_free(const struct setup *su, struct err *e)
{
	return su_has(su, "/proc/cmdline", "init_on_free=1") ?
		       0 : err_set(e, ERR_STATE, "the kernel was started without init_on_free=1");
}

/* The loader may say otherwise than the first list, never than the second. */
static int check_kernel_args(const struct setup *su, struct err *e)
{
	const char *first = settings_get(su->settings, "loader.args", ""), *last = settings_get(su->settings, "loader.lastArgs", "");
	auto_buf said = BUF_INIT(SU_FILE_MAX);

	if (su_read(su, "/proc/cmdline", &said, e) < 0)
		return -1;
	for (size_t n; (n = cmdline_word(&first)); first += n)
		if (!cmdline_has_key(said.data, first, n))
			return err_set(e, ERR_STATE, "the kernel was started without %.*s", (int)n, first);
	for (size_t n; (n = cmdline_word(&last)); last += n)
		if (!cmdline_has(said.data, last, n))
			return err_set(e, ERR_STATE, "the kernel was started without %.*s", (int)n, last);
	return 0;
}

static int apply_var_log(const struct setup *su, struct err *e)
{
	if (su_mkdirs(su, "/var/log", 0755, e) < 0)
		return -1;
	if (mount("tmpfs", "/var/log", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=16m") < 0)
		return err_errno(e, "cannot mount /var/log");
	return 0;
}

static int check_var_log(const struct setup *su, struct err *e)
{
	return su_has(su, "/proc/mounts", " /var/log tmpfs ") ? 0 : err_set(e, ERR_STATE, "/var/log is on disk");
}

static int check_commit(const struct setup *su, struct err *e)
{
	auto_buf b = BUF_INIT(SU_FILE_MAX);
	char want[40], *line, *end;

	snprintf(want, sizeof(want), "commit=%llu", su_number(su, "tuning.commit", 0));
	if (su_read(su, "/proc/mounts", &b, e) < 0)
		return -1;
	line = strstr(b.data, " / ext4 ");
	end = line ? strchr(line, '\n') : NULL;
	if (end)
		*end = '\0';
	return line && strstr(line, want) ? 0 : err_set(e, ERR_STATE, "the root is not mounted with %s", want);
}

/* --- processes --- */

/* Whether a process runs with this command line, arguments separated by blanks. */
static bool runs(const char *want)
{
	struct dirent *d;
	auto_closedir DIR *dir = opendir("/proc");
	bool found = false;

	while (dir && !found && (d = readdir(dir))) {
		char path[300], text[256];
		size_t n;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		f = d->d_name[0] >= '0' && d->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		text[n] = '\0';
		for (size_t i = 0; i + 1 < n; i++)
			if (!text[i])
				text[i] = ' ';
		found = strstr(text, want) != NULL;
	}
	return found;
}

static int check_syslog(const struct setup *su, struct err *e)
{
	char want[64];

	snprintf(want, sizeof(want), "syslogd -t -C%llu", su_number(su, "tuning.syslogRing", 0) / 1024);
	return runs(want) ? 0 : err_set(e, ERR_STATE, "there is no process \"%s\"", want);
}

static int check_getty(const struct setup *su, struct err *e)
{
	/* A guest with its own init may have one where somebody can sit. */
	if (openrc_is(su) || setup_is_cloud(su->settings))
		return openrc_has_stray_getty(su) || systemd_has_stray_getty(su) ?
			       err_set(e, ERR_STATE, "a getty is started on a missing console") : 0;
	if (su_has(su, "/etc/inittab", "getty"))
		return err_set(e, ERR_STATE, "/etc/inittab starts a getty");
	return runs("/getty ") ? err_set(e, ERR_STATE, "a getty runs") : 0;
}

static int check_power(const struct setup *su, struct err *e)
{
	int fd = power_open(e);

	(void)su;
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* --- Docker --- */

/* A size as Docker reads it, in the largest unit that divides it. Log sizes are decimal to Docker, so that "10m" for
 * 10 MiB is a little less than was asked for, never more. */
static const char *size_text(unsigned long long n, const char *const units[4], char out[32])
{
	size_t i = 0;

	for (; i < 3 && n && n % 1024 == 0; i++)
		n /= 1024;
	snprintf(out, 32, "%llu%s", n, units[i]);
	return out;
}

/* The members of daemon.json; the checks below look for the same text. */
static void log_options(const struct setup *su, char *out, size_t size)
{
	static const char *const units[4] = { "", "k", "m", "g" };
	unsigned long long files = su_number(su, "tuning.dockerLogFiles", 1);
	char text[32];

	snprintf(out, size, "\"log-opts\": { \"max-size\": \"%s\", \"max-file\": \"%llu\" }",
		 size_text(su_number(su, "tuning.dockerLogSize", 0), units, text), files ? files : 1);
}

static void builder_options(const struct setup *su, char *out, size_t size)
{
	static const char *const units[4] = { "", "KB", "MB", "GB" };
	char text[32];

	snprintf(out, size, "\"builder\": { \"gc\": { \"enabled\": true, \"defaultKeepStorage\": \"%s\" } }",
		 size_text(su_number(su, "tuning.buildCache", 0), units, text));
}

int tuning_docker_json(const struct setup *su, struct buf *b)
{
	const char *between = "";
	char text[200];
	int bad = buf_adds(b, "{\n");

	if (su_number(su, "tuning.dockerLogSize", 0)) {
		log_options(su, text, sizeof(text));
		bad |= buf_addf(b, "  \"log-driver\": \"json-file\",\n  %s", text);
		between = ",\n";
	}
	if (su_number(su, "tuning.buildCache", 0)) {
		builder_options(su, text, sizeof(text));
		bad |= buf_addf(b, "%s  %s", between, text);
		between = ",\n";
	}
	/* A guest's own dockerd keeps a containerd of its own. */
	if (su_flag(su, "docker", false))
		bad |= buf_addf(b, "%s  \"containerd\": \"/run/containerd/containerd.sock\"", between);
	return bad | buf_adds(b, "\n}\n") ? -1 : 0;
}

int tuning_containerd_toml(const struct setup *su, struct buf *b)
{
	(void)su;
	/* What Docker does not use: Kubernetes, file systems the guest has not, and a timer that looks for containers
	 * to restart every 10 seconds. */
	return buf_adds(b, "version = 2\n"
			   "disabled_plugins = [\n"
			   "  \"io.containerd.grpc.v1.cri\",\n"
			   "  \"io.containerd.internal.v1.restart\",\n"
			   "  \"io.containerd.snapshotter.v1.aufs\",\n"
			   "  \"io.containerd.snapshotter.v1.btrfs\",\n"
			   "  \"io.containerd.snapshotter.v1.devmapper\",\n"
			   "  \"io.containerd.snapshotter.v1.zfs\",\n"
			   "  \"io.containerd.tracing.processor.v1.otlp\",\n"
			   "  \"io.containerd.internal.v1.tracing\",\n"
			   "]\n");
}

int engine_configure(const struct setup *su, struct err *e)
{
	auto_buf json = BUF_INIT(4096), toml = BUF_INIT(4096);

	if (!su_flag(su, "docker", false))
		return 0;
	if (tuning_docker_json(su, &json) < 0 || tuning_containerd_toml(su, &toml) < 0)
		return err_set(e, ERR_SYS, "no memory");
	if (su_exists(su, "/etc/docker/daemon.json"))
		su_warn(su, "/etc/docker/daemon.json is used as it is; tuning.docker* and tuning.buildCache are not");
	if (su_write(su, RUN_DIR "/containerd.toml", toml.data, 0644, e) < 0)
		return -1;
	return su_write(su, RUN_DIR "/daemon.json", json.data, 0644, e);
}

/* dockerd was started with our file, and the file says this. */
static int check_docker(const struct setup *su, const char *want, struct err *e)
{
	if (!runs("--config-file " RUN_DIR "/daemon.json"))
		return err_set(e, ERR_STATE, "dockerd does not run with our configuration");
	return su_has(su, RUN_DIR "/daemon.json", want) ? 0 : err_set(e, ERR_STATE, "its configuration lacks %s", want);
}

static int check_docker_logs(const struct setup *su, struct err *e)
{
	char want[200];

	log_options(su, want, sizeof(want));
	return check_docker(su, want, e);
}

static int check_build_cache(const struct setup *su, struct err *e)
{
	char want[200];

	builder_options(su, want, sizeof(want));
	return check_docker(su, want, e);
}

/* --- giving back --- */

/* The daemon leaves a line when it has trimmed after boot. */
static int check_trim(const struct setup *su, struct err *e)
{
	return su_exists(su, RUN_DIR "/trim.last") ? 0 : err_set(e, ERR_STATE, "it has not run yet");
}

static int check_stop(const struct setup *su, struct err *e)
{
	return su_has(su, "/etc/inittab", ":shutdown:" RUN_DIR "/agent shutdown") ?
		       0 : err_set(e, ERR_STATE, "/etc/inittab does not run `agent shutdown`");
}

/* --- cloud images --- */

static int check_no_hotplug(const struct setup *su, struct err *e)
{
	if (openrc_check_no_hotplug(su, e) < 0 || systemd_check_no_hotplug(su, e) < 0)
		return -1;
	return runs("cloud-init-hotplugd") ? err_set(e, ERR_STATE, "cloud-init-hotplugd runs") : 0;
}

/* --- the table --- */

static const struct tuning table[] = {
	{ "tuning.kernelArgs", NULL, check_kernel_args, false, NULL, grub_configure }, /* and skipBootMenu */
	{ "tuning.initOnFree", NULL, check_init_on_free, false, NULL, NULL },
	{ "tuning.tmpfsVarLog", apply_var_log, check_var_log, false, NULL, NULL },
	{ "tuning.syslogRing", NULL, check_syslog, false, openrc_syslog, NULL },
	{ "tuning.commit", NULL, check_commit, false, openrc_commit, NULL },
	{ "tuning.cacheTrim", NULL, check_trim, false, NULL, NULL },
	{ "tuning.fstrimBoot", NULL, check_trim, false, NULL, NULL },
	{ "tuning.fstrimStop", NULL, check_stop, false, NULL, NULL },
	{ "tuning.dockerLogSize", NULL, check_docker_logs, false, openrc_docker, NULL },
	{ "tuning.dockerLogFiles", NULL, check_docker_logs, false, NULL, NULL },
	{ "tuning.buildCache", NULL, check_build_cache, false, openrc_docker, NULL },
	{ "tuning.skipBootMenu", NULL, openrc_check_boot_menu, false, openrc_boot_menu, NULL },
	{ "tuning.noCloudInitHotplug", NULL, check_no_hotplug, false, openrc_no_hotplug, systemd_no_hotplug },
	{ "getty", NULL, check_getty, true, openrc_inittab, systemd_gettys },
	{ "powerButton", NULL, check_power, true, NULL, NULL },
};
enum { TUNINGS = sizeof(table) / sizeof(table[0]) };

/* On: "true", or a number other than 0. */
static bool is_on(const struct setup *su, const struct tuning *t)
{
	return t->always || su_flag(su, t->key, false) || su_number(su, t->key, 0) != 0;
}

/* What is done by a cloud guest's own loader alone is no matter of the others. */
static bool concerns(const struct setup *su, const struct tuning *t)
{
	return !t->settled || t->own_init || setup_is_cloud(su->settings);
}

int tuning_apply(const struct setup *su, struct err *e)
{
	/* One that fails must not cost the others. */
	for (size_t i = 0; i < TUNINGS; i++)
		if (table[i].apply && is_on(su, &table[i]) && table[i].apply(su, e) < 0)
			su_warn(su, "%s: %s", table[i].key, e->msg);
	return 0;
}

int tuning_own_init(const struct setup *su, struct err *unused)
{
	struct err e;

	(void)unused;
	for (size_t i = 0; i < TUNINGS; i++)
		if (table[i].own_init && table[i].own_init(su, is_on(su, &table[i]), &e) < 0)
			su_warn(su, "%s: %s", table[i].key, e.msg);
	return 0;
}

void tuning_settled(const struct setup *su)
{
	struct err e;

	for (size_t i = 0; i < TUNINGS; i++)
		if (table[i].settled && table[i].settled(su, is_on(su, &table[i]), &e) < 0)
			su_warn(su, "%s: %s", table[i].key, e.msg);
}

int tuning_check(const struct setup *su, FILE *out)
{
	int rc = 0;

	for (size_t i = 0; i < TUNINGS; i++) {
		struct err e = { 0 };

		if (!table[i].check || !concerns(su, &table[i]))
			continue;
		if (!is_on(su, &table[i])) {
			fprintf(out, "%s: off\n", table[i].key);
		} else if (table[i].check(su, &e) < 0) {
			fprintf(out, "%s: NOT in force: %s\n", table[i].key, e.msg);
			rc = 1;
		} else {
			fprintf(out, "%s: in force\n", table[i].key);
		}
	}
	return rc;
}
