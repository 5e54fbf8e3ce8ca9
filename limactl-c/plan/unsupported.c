/* unsupported.c - what Lima's format can ask for and this version does not carry out yet: said before anything is made.
 *
 * What would be missed is an error. What Lima does by default is left out without a word, and with a warning when the
 * template asks for it.
 */
#include <stddef.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/where.h"
#include "limactl-c/plan/parts.h"

/* When a key asks for something. */
enum ask {
	ASK_COUNT,     /* it has entries; at is the count */
	ASK_TRUE,      /* it is true */
	ASK_TEXT       /* it is set to other than harmless */
};

#define CFG(member) offsetof(struct cfg, member)
static const struct row {
	const char *path;
	enum ask ask;
	size_t at; /* in struct cfg */
	bool warning;
	const char *harmless;
	const char *advice; /* NULL: "remove it" */
} rows[] = {
	{ "networks", ASK_COUNT, CFG(networks), false, NULL, "remove it; the guest has its first network" },
	{ "nestedVirtualization", ASK_TRUE, CFG(nested_virtualization), false, NULL, NULL },
	{ "tpm", ASK_TRUE, CFG(tpm), false, NULL, NULL },
	{ "audio.device", ASK_TEXT, CFG(audio.device), false, "", "remove it; the guest has no sound" },
	{ "video.display", ASK_TEXT, CFG(video.display), false, "none", "write video: {display: none}" },
	{ "vmOpts.qemu.minimumVersion", ASK_TEXT, CFG(qemu_minimum_version), true, "", "the version is not compared" },
	{ "guestInstallPrefix", ASK_TEXT, CFG(guest_install_prefix), true, "/usr/local", "nothing is installed there" },
};

struct asking {
	const struct cfg *c;
	const char *name;
	struct findings *f;
};

static bool is_asked(const struct cfg *c, const struct row *r)
{
	const void *field = (const char *)c + r->at;
	const char *text = NULL;

	if (r->ask == ASK_TEXT)
		text = *(const char *const *)field;
	switch (r->ask) {
	case ASK_COUNT:
		return *(const size_t *)field;
	case ASK_TRUE:
		return *(const bool *)field;
	case ASK_TEXT:
		return text && *text && strcmp(text, r->harmless);
	}
	return false;
}

static void say(struct asking *a, const char *path, bool warning, const char *text)
{
	struct place at = where_place(a->c, a->name, path);

	(warning ? finding_warning : finding_error)(a->f, at, path, "%s", text);
}

static void say_element(struct asking *a, const char *list, size_t i, const char *key, const char *text)
{
	auto_free char *path = xasprintf("%s[%zu].%s", list, i, key);

	say(a, path, false, text);
}

/* Nobody can be woken without opening a file for writing, or setting a time. */
static void ask_file_events(struct asking *a)
{
	bool sshfs = !strcmp(a->c->mount_type, "reverse-sshfs");

	if (a->c->mount_inotify && a->c->mounts && sshfs)
		say(a, "mountInotify", true, "does not reach folders mounted by sshfs: use mountType: 9p or virtiofs");
	for (size_t i = 0; a->c->mount_inotify && !sshfs && i < a->c->mounts; i++) {
		auto_free char *path = xasprintf("mounts[%zu].location", i);

		if (!a->c->mount[i].writable)
			say(a, path, true, "mountInotify cannot wake those who watch files in a read-only folder: write writable: true, "
			    "or do without");
	}
}

/* Whether the file of a yq entry is of a format we edit; a name that tells none is YAML. */
static bool format_known(const struct cfg_provision *p)
{
	static const char *const others[] = { "csv", "ini", "props", "properties", "toml", "tsv", "xml", "lua",
					      "shell", "base64", "uri", "hcl" };
	const char *dot = strrchr(p->path, '.'), *word = p->format;

	if (!strcmp(word, "auto"))
		word = dot && !strchr(dot, '/') ? dot + 1 : "yaml";
	else if (strcmp(word, "yaml") && strcmp(word, "json"))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!strcmp(word, others[i]))
			return false;
	}
	return true;
}

static void ask_provision(struct asking *a)
{
	for (size_t i = 0; i < a->c->provisions; i++) {
		const struct cfg_provision *p = &a->c->provision[i];
		auto_free char *text = NULL;

		if (!strcmp(p->mode, "ansible"))
			say_element(a, "provision", i, "mode",
				    "ansible is not carried out: run ansible-playbook yourself once the instance is up");
		if (strcmp(p->mode, "yq") || format_known(p))
			continue;
		text = xasprintf("only YAML and JSON files can be edited, %s is neither", p->path);
		say_element(a, "provision", i, strcmp(p->format, "auto") ? "format" : "path", text);
	}
}

static void ask_forwards(struct asking *a)
{
	for (size_t i = 0; i < a->c->forwards; i++) {
		const struct cfg_port_forward *f = &a->c->forward[i];

		if ((f->guest_socket || f->host_socket) && !strcmp(f->proto, "udp"))
			say_element(a, "portForwards", i, "proto", "a socket carries no datagrams: write tcp, or no proto");
	}
}

static void ask_mounts(struct asking *a)
{
	const struct cfg *c = a->c;

	if (c->mounts && !strcmp(c->mount_type, "wsl2"))
		say(a, "mountType", false, "wsl2 is not carried out: use 9p, virtiofs or reverse-sshfs");
	for (size_t i = 0; i < c->mounts && !strcmp(c->mount_type, "reverse-sshfs"); i++) {
		auto_free char *path = xasprintf("mounts[%zu].sshfs.sftpDriver", i);

		const char *driver = c->mount[i].sshfs.sftp_driver;

		if (driver && !strcmp(driver, "openssh-sftp-server"))
			say(a, path, true, "a server of ours is used, which a guest cannot lead out of the folder");
	}
}

static void ask_firmware(struct asking *a)
{
	if (a->c->firmware.legacy_bios && strcmp(a->c->arch, "x86_64"))
		say(a, "firmware.legacyBIOS", true, "only x86_64 machines have a BIOS: UEFI is used");
}

static bool has_archive(const struct cfg *c)
{
	for (size_t i = 0; i < c->containerd.archives; i++)
		if (!strcmp(c->containerd.archive[i].arch, c->arch))
			return true;
	return false;
}

/* What would be found out only in the guest, or when the archive has been fetched. */
static void ask_containerd(struct asking *a)
{
	const struct cfg *c = a->c;
	const char *which = c->containerd.user ? "containerd.user" : c->containerd.system ? "containerd.system" : NULL;
	auto_free char *text = NULL;

	if (!which)
		return;
	text = xasprintf("nothing is installed by itself: give `containerd.archives` with location and digest of a "
			 "nerdctl-full archive for %s, or write containerd: {system: false, user: false} "
			 "(--containerd none)", c->arch);
	if (!has_archive(c))
		say(a, which, false, text);
	if (c->containerd.user && !strcmp(c->user.name, "root"))
		say(a, "containerd.user", false, "is for a user other than root: give user.name, or use containerd.system");
	else if (c->containerd.user && !strcmp(c->guest.init, "lean"))
		say(a, "containerd.user", false, PLAN_NEEDS_SYSTEMD);
	if (c->guest.engine_disk)
		say(a, which, false, "guest.engineDisk brings a containerd already, which Docker uses: remove one of the two");
}

static void ask_system(struct asking *a)
{
	const struct cfg *c = a->c;
	size_t i = 0;

	if (strcmp(c->os, "Linux"))
		say(a, "os", false, "only Linux guests are possible in this version");
	while (i < c->images && strcmp(c->image[i].arch, c->arch))
		i++;
	if (i == c->images) {
		auto_free char *text = xasprintf("there is none for architecture %s", c->arch);

		say(a, "images", false, text);
	}
}

bool plan_supported(const struct cfg *c, const char *name, struct findings *f)
{
	struct asking a = { c, name, f };
	size_t errors = f->errors;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		auto_free char *text = NULL;

		if (!is_asked(c, r))
			continue;
		text = xasprintf("is not carried out by this version yet: %s", r->advice ? r->advice : "remove it");
		say(&a, r->path, r->warning, text);
	}
	ask_system(&a);
	ask_firmware(&a);
	ask_mounts(&a);
	ask_file_events(&a);
	ask_containerd(&a);
	ask_provision(&a);
	ask_forwards(&a);
	return f->errors == errors;
}
