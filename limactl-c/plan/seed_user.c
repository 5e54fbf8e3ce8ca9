/* seed_user.c - user-data, meta-data, network-config: what cloud-init acts on, and lima-init reads line by line.
 *
 * lima-init knows no YAML: keys start a line, a mount is one line, the user's keys end at an empty line, name servers
 * and certificates at the next key. Order and form below are therefore part of the contract.
 */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/plan/seed_parts.h"

enum { ETH0_METRIC = 200 }; /* the guest's other networks have 100, so that they are preferred */

#define MOUNT_POINT "/mnt/lima-cidata"
/* Readable for root only, whatever modes the volume's files have. */
#define MOUNT_OPTIONS "ro,mode=0700,dmode=0700,overriderockperm,exec,uid=0"
/* By udev's link, or where there is none by asking the devices. */
#define MOUNT_LINES(in) \
	in "export LIMA_CIDATA_MNT=" MOUNT_POINT "\n" \
	in "if ! grep -q \" $LIMA_CIDATA_MNT \" /proc/mounts; then\n" \
	in "  dev=/dev/disk/by-label/cidata\n" \
	in "  [ -e $dev ] || dev=$(blkid -L cidata || findfs LABEL=cidata)\n" \
	in "  mkdir -p -m 0700 $LIMA_CIDATA_MNT\n" \
	in "  mount -t iso9660 -o " MOUNT_OPTIONS " \"$dev\" $LIMA_CIDATA_MNT\n" \
	in "fi\n"

/* --- user-data --- */

static int add_packages(const struct cfg *c, struct buf *b)
{
	if (!c->upgrade_packages)
		return 0;
	return buf_adds(b, "package_update: true\npackage_upgrade: true\npackage_reboot_if_required: true\n");
}

static int add_timezone(const struct cfg *c, struct buf *b, struct err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_+-";

	if (!c->timezone || !*c->timezone)
		return 0;
	/* It is written without quotes, for lima-init would take them for a part of it. */
	if (c->timezone[strspn(c->timezone, allowed)] || strchr("-/", c->timezone[0]))
		return err_set(e, ERR_INVALID, "timezone: \"%s\" is no name of a time zone (Europe/Berlin is one)",
			       c->timezone);
	return buf_addf(b, "timezone: %s\n", c->timezone);
}

/* Those whose mount point fstab cannot hold as it is are boot.Linux/05-mounts.sh's. */
static int add_mounts(const struct cfg *c, struct buf *b)
{
	bool any = false;
	int bad = 0;

	for (size_t i = 0; seed_guest_mounts(c) && i < c->mounts; i++) {
		const struct cfg_mount *m = &c->mount[i];
		auto_free char *options = seed_mount_options(c, m);
		char tag[PLAN_TAG_MAX];

		if (seed_mount_is_odd(m))
			continue;
		if (!any)
			bad |= buf_adds(b, "mounts:\n");
		any = true;
		plan_mount_tag(m, tag);
		bad |= buf_addf(b, "- [%s, ", tag) | seed_yaml(b, m->mount_point);
		bad |= buf_addf(b, ", %s, \"%s\", \"0\", \"0\"]\n", c->mount_type, options);
	}
	return bad;
}

static int add_keys(const struct seed_input *in, struct buf *b)
{
	int bad = 0;

	if (in->keys)
		bad |= buf_adds(b, "  ssh_authorized_keys:\n");
	for (size_t i = 0; i < in->keys; i++)
		bad |= buf_adds(b, "      - ") | seed_yaml(b, in->key[i]) | buf_adds(b, "\n");
	/* lima-init takes every line up to an empty one for a key. */
	return bad | buf_adds(b, "\n");
}

static int add_user(const struct seed_input *in, struct buf *b)
{
	const struct cfg *c = in->c;
	int bad = buf_adds(b, "users:\n- name: ") | seed_yaml(b, c->user.name);

	bad |= buf_addf(b, "\n  uid: %u\n", c->user.uid);
	if (c->user.comment && *c->user.comment)
		bad |= buf_adds(b, "  gecos: ") | seed_yaml(b, c->user.comment) | buf_adds(b, "\n");
	bad |= buf_adds(b, "  homedir: ") | seed_yaml(b, c->user.home);
	bad |= buf_adds(b, "\n  shell: ") | seed_yaml(b, c->user.shell);
	bad |= buf_addf(b, "\n  sudo: ALL=(ALL) %s\n  lock_passwd: %s\n", c->user.passwordless_sudo ? "NOPASSWD:ALL" : "ALL",
			c->user.passwordless_sudo ? "true" : "false");
	bad |= add_keys(in, b);
	/* Images allow no login of root otherwise. */
	return bad | (strcmp(c->user.name, "root") ? 0 : buf_adds(b, "disable_root: false\n"));
}

static int add_starter(struct buf *b)
{
	return buf_adds(b, "write_files:\n"
			   "- path: /var/lib/cloud/scripts/per-boot/00-lima.boot.sh\n"
			   "  owner: root:root\n"
			   "  permissions: '0755'\n"
			   "  content: |\n"
			   "    #!/bin/sh\n"
			   "    set -eu\n" MOUNT_LINES("    ")
			   "    exec $LIMA_CIDATA_MNT/boot.sh\n");
}

static int add_servers(const struct cfg *c, const char *indent, struct buf *b)
{
	int bad = 0;

	for (size_t i = 0; i < c->dns_count; i++)
		bad |= buf_addf(b, "%s- %s\n", indent, c->dns[i]);
	return bad | (c->dns_count ? 0 : buf_addf(b, "%s- %s\n", indent, PLAN_NET_DNS));
}

static int add_name_servers(const struct cfg *c, struct buf *b)
{
	return buf_adds(b, "manage_resolv_conf: true\nresolv_conf:\n  nameservers:\n") | add_servers(c, "  ", b);
}

/* One certificate file or text. Empty lines would end the block to lima-init, leading blanks would move it. */
static int add_certificate(const char *what, const char *pem, struct buf *b, struct err *e)
{
	int bad = buf_adds(b, "  - |\n");

	while (*pem) {
		size_t blanks = strspn(pem, " \t\r\n"), n = strcspn(pem + blanks, "\r\n");
		auto_free char *line = xstrndup(pem + blanks, n);

		if (seed_check_line(what, line, e) < 0)
			return -1;
		if (n)
			bad |= buf_addf(b, "    %s\n", line);
		pem += blanks + n;
	}
	return bad ? err_set(e, ERR_INVALID, "%s is too large", what) : 0;
}

static int add_certificates(const struct seed_input *in, struct buf *b, struct err *e)
{
	const struct cfg *c = in->c;
	int rc = 0, bad = 0;

	if (!c->ca_certs.remove_defaults && !in->certificates && !c->ca_certs.certs)
		return 0;
	bad |= buf_adds(b, "ca_certs:\n");
	if (c->ca_certs.remove_defaults)
		bad |= buf_adds(b, "  remove_defaults: true\n");
	if (in->certificates || c->ca_certs.certs)
		bad |= buf_adds(b, "  trusted:\n");
	for (size_t i = 0; rc == 0 && i < in->certificates; i++)
		rc = add_certificate("a file of caCerts.files", in->certificate[i], b, e);
	for (size_t i = 0; rc == 0 && i < c->ca_certs.certs; i++)
		rc = add_certificate("a certificate of caCerts.certs", c->ca_certs.cert[i], b, e);
	return rc < 0 ? -1 : bad;
}

static int check_values(const struct seed_input *in, struct err *e)
{
	const struct cfg *c = in->c;

	if (seed_check_line("user.name", c->user.name, e) < 0 || seed_check_line("user.home", c->user.home, e) < 0 ||
	    seed_check_line("user.shell", c->user.shell, e) < 0 ||
	    (c->user.comment && seed_check_line("user.comment", c->user.comment, e) < 0))
		return -1;
	for (size_t i = 0; i < in->keys; i++)
		if (seed_check_line("a public key", in->key[i], e) < 0)
			return -1;
	for (size_t i = 0; i < c->mounts; i++)
		if (seed_check_line("mounts[].mountPoint", c->mount[i].mount_point, e) < 0)
			return -1;
	for (size_t i = 0; i < c->networks; i++)
		if (seed_check_line("networks[].interface", c->network[i].interface, e) < 0)
			return -1;
	return 0;
}

int seed_user_data(const struct seed_input *in, struct buf *b, struct err *e)
{
	int bad = buf_adds(b, "#cloud-config\n"
			      "growpart:\n"
			      "  mode: auto\n"
			      "  devices: ['/']\n"
			      "\n");

	if (check_values(in, e) < 0)
		return -1;
	bad |= add_packages(in->c, b);
	if (add_timezone(in->c, b, e) < 0)
		return -1;
	bad |= add_mounts(in->c, b) | add_user(in, b) | add_starter(b) | add_name_servers(in->c, b);
	*e = (struct err){ 0 };
	bad |= add_certificates(in, b, e);
	if (bad && !e->kind)
		err_set(e, ERR_INVALID, "the guest's user-data would be larger than %d bytes", SEED_TEXT_MAX);
	return bad ? -1 : 0;
}

int seed_boot_commands(struct buf *b)
{
	return buf_adds(b, "bootcmd:\n"
			   "- |\n" MOUNT_LINES("  ")
			   "  $LIMA_CIDATA_MNT/boot.early.sh\n");
}

/* --- network-config --- */

/* A plain word where one will do: lima-init takes quotes for a part of the name. */
static int add_name(struct buf *b, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	static const char *const words[] = { "y", "yes", "n", "no", "on", "off", "true", "false", "null", "nan" };
	bool plain = !name[strspn(name, allowed)] && strspn(name, "0123456789._-") == 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		plain = plain && strcasecmp(name, words[i]);
	return plain ? buf_adds(b, name) : seed_yaml(b, name);
}

static int add_card(struct buf *b, const char *name, const char *mac, unsigned metric, bool optional)
{
	int bad = buf_adds(b, "  ") | add_name(b, name);

	bad |= buf_addf(b, ":\n    match:\n      macaddress: '%s'\n    dhcp4: true\n    set-name: ", mac);
	bad |= add_name(b, name);
	bad |= buf_addf(b, "\n    dhcp4-overrides:\n      route-metric: %u\n    dhcp-identifier: mac\n", metric);
	return bad | (optional ? buf_adds(b, "    optional: true\n") : 0);
}

int seed_network(const struct seed_input *in, struct buf *b, struct err *e)
{
	const struct cfg *c = in->c;
	bool optional = false;
	int bad;

	for (size_t i = 0; i < c->params; i++)
		optional |= !strcmp(c->param[i].key, "internal_netplanOptional") && !strcmp(c->param[i].value, "true");
	bad = buf_adds(b, "version: 2\nethernets:\n");
	bad |= add_card(b, "eth0", in->p->mac ? in->p->mac : "", ETH0_METRIC, optional);
	bad |= buf_adds(b, "    nameservers:\n      addresses:\n") | add_servers(c, "      ", b);
	for (size_t i = 0; i < c->networks; i++)
		bad |= add_card(b, c->network[i].interface, c->network[i].mac_address, c->network[i].metric, optional);
	return bad ? err_set(e, ERR_INVALID, "too many networks") : 0;
}

/* --- meta-data --- */

int seed_meta_data(const struct seed_input *in, const char *iid, struct buf *b, struct err *e)
{
	return buf_addf(b, "instance-id: %s\nlocal-hostname: %s\n", iid, in->p->hostname) ?
		       err_set(e, ERR_INVALID, "the host name is too long") : 0;
}
