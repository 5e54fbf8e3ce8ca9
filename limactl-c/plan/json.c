/* plan.json and everything else that walks all members of a plan, from one table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/plan.h"

/* Raised whenever a member changes its meaning or goes away. */
enum { PLAN_VERSION = 1 };
enum { PLAN_LIST_MAX = 4096 }; /* elements of one list */

enum type { T_STRING, T_OPTIONAL, T_BOOL, T_UINT, T_U16, T_U64, T_WORD, T_LIST };

struct record;
struct field {
	const char *name;
	enum type type;
	size_t offset;
	bool machine;              /* part of plan_machine_text */
	const char *const *words;  /* T_WORD: of each value; NULL-terminated */
	const struct record *list; /* T_LIST: of its elements */
	size_t count_offset;       /* T_LIST: of the size_t */
};
struct record {
	size_t size;
	const struct field *field;
	size_t fields;
};

#define RECORD(what, table) { sizeof(struct what), table, sizeof(table) / sizeof(*(table)) }
#define F(s, member, t) { .name = #member, .type = t, .offset = offsetof(struct s, member) }
/* The same, of which the saved state depends. */
#define M(s, member, t) { .name = #member, .type = t, .offset = offsetof(struct s, member), .machine = true }
#define LIST(key, member, count, rec) \
	{ .name = key, .type = T_LIST, .offset = offsetof(struct plan, member), .list = rec, \
	  .count_offset = offsetof(struct plan, count) }

static const char *const driver_words[] = { [PLAN_QEMU] = "qemu", [PLAN_VZ] = "vz", [PLAN_FAKE] = "fake", NULL };

const char *plan_driver_word(enum plan_driver driver)
{
	return driver_words[driver];
}

static const char *const mount_words[] = { [PLAN_MOUNT_9P] = "9p", [PLAN_MOUNT_VIRTIOFS] = "virtiofs", [PLAN_MOUNT_SSHFS] = "reverse-sshfs", NULL };

const char *plan_mount_word(enum plan_mount_type type)
{
	return mount_words[type];
}

static const char *const accel_words[] = { [PLAN_TCG] = "tcg", [PLAN_KVM] = "kvm", [PLAN_HVF] = "hvf", NULL };
static const char *const init_words[] = { [PLAN_INIT_LEAN] = "lean", [PLAN_INIT_OPENRC] = "openrc", NULL };
static const char *const boot_words[] = {
	[PLAN_BOOT_NONE] = "none", [PLAN_BOOT_DIRECT] = "direct", [PLAN_BOOT_BIOS] = "bios", [PLAN_BOOT_UEFI] = "uefi", NULL
};
static const char *const proto_words[] = {
	"", [PLAN_TCP] = "tcp", [PLAN_UDP] = "udp", [PLAN_ANY] = "any", NULL
};

static const struct field disk_fields[] = {
	M(plan_disk, path, T_STRING),
	M(plan_disk, format, T_STRING),
	M(plan_disk, readonly, T_BOOL),
	F(plan_disk, name, T_OPTIONAL),
	M(plan_disk, serial, T_OPTIONAL),
};
static const struct field mount_fields[] = {
	M(plan_mount, host_path, T_STRING),
	M(plan_mount, guest_path, T_STRING),
	M(plan_mount, tag, T_STRING),
	{ .name = "type", .type = T_WORD, .offset = offsetof(struct plan_mount, type), .machine = true, .words = mount_words },
	M(plan_mount, writable, T_BOOL),
	M(plan_mount, options, T_STRING),
	M(plan_mount, security_model, T_OPTIONAL),
	M(plan_mount, queue_size, T_UINT),
	F(plan_mount, cache, T_BOOL),
	F(plan_mount, follow_symlinks, T_BOOL),
};
static const struct field rule_fields[] = {
	{ .name = "proto", .type = T_WORD, .offset = offsetof(struct plan_port_rule, proto), .words = proto_words },
	F(plan_port_rule, ignore, T_BOOL),
	F(plan_port_rule, guest_ip_must_be_zero, T_BOOL),
	F(plan_port_rule, is_static, T_BOOL),
	F(plan_port_rule, to_socket, T_BOOL),
	F(plan_port_rule, guest_ip, T_STRING),
	F(plan_port_rule, host_ip, T_STRING),
	F(plan_port_rule, guest_first, T_U16),
	F(plan_port_rule, guest_last, T_U16),
	F(plan_port_rule, host_first, T_U16),
};
static const struct field socket_fields[] = {
	F(plan_socket, host_path, T_OPTIONAL),
	F(plan_socket, guest_path, T_OPTIONAL),
	F(plan_socket, host_ip, T_OPTIONAL),
	F(plan_socket, guest_ip, T_OPTIONAL),
	F(plan_socket, host_port, T_U16),
	F(plan_socket, guest_port, T_U16),
	F(plan_socket, reverse, T_BOOL),
	F(plan_socket, mode, T_UINT),
	F(plan_socket, group, T_OPTIONAL),
};
static const struct field script_fields[] = {
	F(plan_script, mode, T_STRING),
	F(plan_script, text, T_STRING),
	F(plan_script, format, T_OPTIONAL),
};
static const struct field probe_fields[] = {
	F(plan_probe, description, T_STRING),
	F(plan_probe, script, T_STRING),
	F(plan_probe, hint, T_STRING),
	F(plan_probe, once, T_BOOL),
};
static const struct field copy_fields[] = {
	F(plan_copy, guest_path, T_STRING),
	F(plan_copy, host_path, T_STRING),
	F(plan_copy, skip_if_missing, T_BOOL),
	F(plan_copy, delete_on_stop, T_BOOL),
};
static const struct field file_fields[] = {
	F(plan_file, guest_path, T_STRING),
	F(plan_file, source, T_STRING),
	F(plan_file, mode, T_UINT),
};
static const struct field pair_fields[] = {
	F(plan_pair, key, T_STRING),
	F(plan_pair, value, T_STRING),
};
static const struct record disk_record = RECORD(plan_disk, disk_fields);
static const struct record mount_record = RECORD(plan_mount, mount_fields);
static const struct record rule_record = RECORD(plan_port_rule, rule_fields);
static const struct record socket_record = RECORD(plan_socket, socket_fields);
static const struct record script_record = RECORD(plan_script, script_fields);
static const struct record probe_record = RECORD(plan_probe, probe_fields);
static const struct record copy_record = RECORD(plan_copy, copy_fields);
static const struct record file_record = RECORD(plan_file, file_fields);
static const struct record pair_record = RECORD(plan_pair, pair_fields);

static const struct field plan_fields[] = {
	F(plan, name, T_STRING),
	F(plan, dir, T_STRING),
	F(plan, hostname, T_STRING),
	{ .name = "driver", .type = T_WORD, .offset = offsetof(struct plan, driver), .machine = true,
	  .words = driver_words },
	M(plan, arch, T_STRING),
	M(plan, cpus, T_UINT),
	M(plan, memory, T_U64),
	{ .name = "boot", .type = T_WORD, .offset = offsetof(struct plan, boot), .machine = true, .words = boot_words },
	M(plan, kernel, T_OPTIONAL),
	M(plan, initrd_base, T_OPTIONAL),
	F(plan, initrd, T_OPTIONAL),
	F(plan, boot_args, T_OPTIONAL),
	M(plan, cmdline, T_OPTIONAL),
	F(plan, harvest, T_BOOL),
	M(plan, firmware, T_OPTIONAL),
	M(plan, vars, T_OPTIONAL),
	F(plan, vars_template, T_OPTIONAL),
	{ .name = "init", .type = T_WORD, .offset = offsetof(struct plan, init), .words = init_words },
	LIST("files", file, files, &file_record),
	F(plan, containerd, T_OPTIONAL),
	M(plan, seed, T_OPTIONAL),
	{ .name = "disks", .type = T_LIST, .offset = offsetof(struct plan, disk), .machine = true,
	  .list = &disk_record, .count_offset = offsetof(struct plan, disks) },
	M(plan, disk_size, T_U64),
	M(plan, disk_base, T_OPTIONAL),
	M(plan, iso, T_OPTIONAL),
	{ .name = "mounts", .type = T_LIST, .offset = offsetof(struct plan, mount), .machine = true,
	  .list = &mount_record, .count_offset = offsetof(struct plan, mounts) },
	F(plan, virtiofsd, T_OPTIONAL),
	F(plan, virtiofsd_old, T_BOOL),
	F(plan, file_events, T_BOOL),
	M(plan, qemu, T_OPTIONAL),
	{ .name = "accel", .type = T_WORD, .offset = offsetof(struct plan, accel), .machine = true,
	  .words = accel_words },
	M(plan, shared_memory, T_U64),
	M(plan, machine, T_OPTIONAL),
	M(plan, cpu, T_OPTIONAL),
	F(plan, tb_size, T_UINT),
	M(plan, mac, T_OPTIONAL),
	F(plan, agent, T_OPTIONAL),
	F(plan, ssh_port, T_U16),
	F(plan, ssh_key, T_OPTIONAL),
	F(plan, ssh_options, T_STRING),
	LIST("rules", rule, rules, &rule_record),
	LIST("sockets", socket, sockets, &socket_record),
	F(plan, dns_port, T_U16),
	LIST("scripts", script, scripts, &script_record),
	F(plan, dns_address, T_OPTIONAL),
	F(plan, dns_ipv6, T_BOOL),
	LIST("host_names", host_name, host_names, &pair_record),
	LIST("settings", setting, settings, &pair_record),
	LIST("probes", probe, probes, &probe_record),
	F(plan, probe_seconds, T_UINT),
	LIST("copies", copy, copies, &copy_record),
	F(plan, message, T_STRING),
	F(plan, idle_when, T_STRING),
	F(plan, idle_pause_after, T_UINT),
	F(plan, idle_suspend_after, T_UINT),
};
static const struct record plan_record = RECORD(plan, plan_fields);

/* Words are stored as what the compiler makes of an enum. */
_Static_assert(sizeof(enum plan_driver) == sizeof(unsigned) && sizeof(enum plan_proto) == sizeof(unsigned) &&
	       sizeof(enum plan_mount_type) == sizeof(unsigned), "enums");

/* Place of a field in a record at base. */
static void *at(const void *base, const struct field *f)
{
	return (char *)(uintptr_t)base + f->offset;
}

static size_t *count_at(const void *base, const struct field *f)
{
	return (size_t *)(void *)((char *)(uintptr_t)base + f->count_offset);
}

static void free_record(const struct record *r, void *base)
{
	for (size_t i = 0; i < r->fields; i++) {
		const struct field *f = &r->field[i];
		char **s = at(base, f);

		if (f->type == T_STRING || f->type == T_OPTIONAL)
			free(*s);
		if (f->type != T_LIST)
			continue;
		for (size_t k = 0; k < *count_at(base, f); k++)
			free_record(f->list, *s + k * f->list->size);
		free(*s);
	}
	memset(base, 0, r->size);
}

void plan_free(struct plan *p)
{
	free_record(&plan_record, p);
}

static struct jx *save_record(const struct record *r, const void *base, bool machine_only);

static struct jx *save_list(const struct field *f, const void *base, bool machine_only)
{
	const char *element = *(char **)at(base, f);
	struct jx *list = jx_new_array();

	for (size_t k = 0; k < *count_at(base, f); k++)
		jx_add(list, save_record(f->list, element + k * f->list->size, machine_only));
	return list;
}

static void save_field(struct jx *o, const struct field *f, const void *base, bool machine_only)
{
	void *p = at(base, f);

	switch (f->type) {
	case T_STRING:
	case T_OPTIONAL:
		jx_set_string(o, f->name, *(char **)p);
		break;
	case T_BOOL:
		jx_set_bool(o, f->name, *(bool *)p);
		break;
	case T_UINT:
		jx_set_int(o, f->name, *(unsigned *)p);
		break;
	case T_U16:
		jx_set_int(o, f->name, *(uint16_t *)p);
		break;
	case T_U64:
		jx_set_int(o, f->name, (int64_t)*(uint64_t *)p);
		break;
	case T_WORD:
		jx_set_string(o, f->name, f->words[*(unsigned *)p]);
		break;
	case T_LIST:
		jx_set(o, f->name, save_list(f, base, machine_only));
		break;
	}
}

static struct jx *save_record(const struct record *r, const void *base, bool machine_only)
{
	struct jx *o = jx_new_object();

	for (size_t i = 0; i < r->fields; i++)
		if (!machine_only || r->field[i].machine)
			save_field(o, &r->field[i], base, machine_only);
	return o;
}

int plan_save(const struct plan *p, const char *path, struct err *e)
{
	auto_jx *o = save_record(&plan_record, p, false);
	auto_free char *text = NULL;

	jx_set_int(o, "version", PLAN_VERSION);
	text = jx_dump_pretty(o);
	return fs_write_atomic(path, text, strlen(text), 0600, e);
}

char *plan_machine_text(const struct plan *p)
{
	auto_jx *o = save_record(&plan_record, p, true);

	return jx_dump(o);
}

static int load_record(const struct record *r, void *base, const struct jx *o, struct err *e);

static int load_word(const struct field *f, void *p, const struct jx *o, struct err *e)
{
	const char *s = jx_string(o, f->name, e);

	if (!s)
		return -1;
	for (unsigned i = 0; f->words[i]; i++)
		if (*s && !strcmp(s, f->words[i])) {
			*(unsigned *)p = i;
			return 0;
		}
	return err_set(e, ERR_INVALID, "member \"%s\" has the unknown value \"%s\"", f->name, s);
}

static int load_list(const struct field *f, void *base, const struct jx *o, struct err *e)
{
	const struct jx *list = jx_array(o, f->name, e);
	size_t n = jx_count(list);
	char *element;

	if (!list)
		return -1;
	if (n > PLAN_LIST_MAX)
		return err_set(e, ERR_INVALID, "member \"%s\" has %zu elements, at most %d are possible", f->name, n,
			       PLAN_LIST_MAX);
	element = xcalloc(n, f->list->size);
	*(char **)at(base, f) = element;
	*count_at(base, f) = n;
	for (size_t k = 0; k < n; k++)
		if (load_record(f->list, element + k * f->list->size, jx_at(list, k), e) < 0)
			return err_wrap(e, "%s[%zu]", f->name, k);
	return 0;
}

static int load_number(const struct field *f, void *p, const struct jx *o, struct err *e)
{
	int64_t most = f->type == T_U16 ? UINT16_MAX : f->type == T_UINT ? UINT32_MAX : INT64_MAX, n;

	if (jx_int(o, f->name, 0, most, &n, e) < 0)
		return -1;
	if (f->type == T_U16)
		*(uint16_t *)p = (uint16_t)n;
	else if (f->type == T_UINT)
		*(unsigned *)p = (unsigned)n;
	else
		*(uint64_t *)p = (uint64_t)n;
	return 0;
}

static int load_field(const struct field *f, void *base, const struct jx *o, struct err *e)
{
	void *p = at(base, f);
	const char *s;

	switch (f->type) {
	case T_OPTIONAL:
		if (!jx_member(o, f->name))
			return 0;
		/* fallthrough */
	case T_STRING:
		s = jx_string(o, f->name, e);
		if (!s)
			return -1;
		*(char **)p = xstrdup(s);
		return 0;
	case T_BOOL:
		return jx_bool(o, f->name, p, e);
	case T_WORD:
		return load_word(f, p, o, e);
	case T_LIST:
		return load_list(f, base, o, e);
	default:
		return load_number(f, p, o, e);
	}
}

static int load_record(const struct record *r, void *base, const struct jx *o, struct err *e)
{
	for (size_t i = 0; i < r->fields; i++)
		if (load_field(&r->field[i], base, o, e) < 0)
			return -1;
	return 0;
}

int plan_parse(struct plan *p, const char *text, size_t len, struct err *e)
{
	auto_jx *o = jx_parse(text, len, "JSON", e);
	int64_t version;

	if (!o || jx_int(o, "version", 0, INT64_MAX, &version, e) < 0)
		return -1;
	if (version != PLAN_VERSION)
		return err_set(e, ERR_INVALID, "version %lld is not known here, only %d", (long long)version,
			       PLAN_VERSION);
	if (load_record(&plan_record, p, o, e) == 0)
		return 0;
	plan_free(p);
	return -1;
}

int plan_load(struct plan *p, const char *path, struct err *e)
{
	auto_buf b = BUF_INIT(JX_TEXT_MAX);

	*p = (struct plan){ 0 };
	if (io_read_file(path, &b, e) < 0)
		return -1;
	return plan_parse(p, b.data ? b.data : "", b.len, e) < 0 ? err_wrap(e, "%s", path) : 0;
}
