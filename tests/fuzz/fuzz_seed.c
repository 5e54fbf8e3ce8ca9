/* Texts of a user, separated by NUL, in every place of a template that comes to a file of the seed. Either they are refused in
 * words, or a reader of each file (YAML; NAME=VALUE lines; settings) finds exactly them again, and nothing besides. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/settings.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/seed.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { TEMPLATE_MAX = 1 << 20 };

/* Where the texts go; a line whose texts are all empty is left out. % stands for the next text. */
static const char *const lines[] = {
	"user: {name: %, comment: %, home: %, shell: %}", "env: {%: %}", "param: {P: %}",
	"timezone: %",
	"mounts: [{location: /srv, mountPoint: %}, {location: /srv, mountPoint: /z}]",
	"dns: [%, 9.9.9.9]", "guestInstallPrefix: %",
	"caCerts: {certs: [%]}", "networks: [{lima: shared, interface: %}, {lima: shared, macAddress: %}]",
	"additionalDisks: [{name: d, fsType: %, fsArgs: [%, %]}]",
	"provision: [{mode: data, path: %, owner: %, permissions: %, content: %}, {mode: boot, script: %}]",
};
enum { LINES = sizeof(lines) / sizeof(*lines) };

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* --- the template --- */

/* The next text, malloc'd. */
static char *next(const uint8_t **data, size_t *len)
{
	const uint8_t *end = *len ? memchr(*data, 0, *len) : NULL;
	size_t n = end ? (size_t)(end - *data) : *len;
	char *text = xstrndup((const char *)(*len ? *data : (const uint8_t *)""), n);

	*data += n + (end != NULL);
	*len -= n + (end != NULL);
	return text;
}

static void add_line(struct buf *b, const char *line, const uint8_t **data, size_t *len)
{
	size_t before = b->len;
	bool any = false;

	for (const char *p = line; *p; p++) {
		auto_free char *text = *p == '%' ? next(data, len) : NULL;
		struct ynode n = { .kind = YN_STRING, .style = YN_DOUBLE, .text = text, .len = text ? strlen(text) : 0 };

		any = any || (text && *text);
		if (text ? yn_emit_scalar(&n, b) : buf_add(b, p, 1))
			return; /* too large */
	}
	if (!any && before)
		b->data[b->len = before] = '\0';
	else if (any)
		buf_adds(b, "\n");
}

/* --- readers --- */

static const char *file(const struct seed *s, const char *path)
{
	for (size_t i = 0; i < s->files; i++)
		if (!strcmp(s->file[i].path, path)) {
			must(s->file[i].data && strlen(s->file[i].data) == s->file[i].len);
			return s->file[i].data;
		}
	abort();
}

static const struct ynode *read_yaml(struct yn_pool *pool, const struct seed *s, const char *path)
{
	const char *text = file(s, path);
	const struct ynode *root;
	struct err e = { 0 };

	root = yn_parse_one(pool, path, text, strlen(text), &e);
	must(root && root->kind == YN_MAP);
	return root;
}

/* The member is a text, and this one. */
static void says(const struct ynode *map, const char *key, const char *want)
{
	const struct ynode *n = yn_get(map, key);

	must(n && n->kind == YN_STRING && n->len == strlen(want) && !memcmp(n->text, want, n->len));
}

static const struct ynode *list(const struct ynode *map, const char *key, size_t count)
{
	const struct ynode *n = yn_get(map, key);

	if (!count && !n)
		return NULL;
	must(n && n->kind == YN_LIST && n->count == count);
	return n;
}

static void lists(const struct ynode *map, const char *key, char **text, size_t count)
{
	const struct ynode *n = list(map, key, count);

	for (size_t i = 0; i < count; i++)
		must(n->item[i]->kind == YN_STRING && !strcmp(n->item[i]->text, text[i]));
}

/* The value behind "NAME=" at a line's begin, which is there once; malloc'd. */
static char *variable(const char *text, const char *name)
{
	size_t n = strlen(name);
	char *found = NULL;

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, name, n) && p[n] == '=') {
			must(!found);
			found = xstrndup(p + n + 1, strcspn(p + n + 1, "\n"));
		}
	must(found != NULL);
	return found;
}

static void sets(const char *text, const char *name, const char *want)
{
	auto_free char *value = variable(text, name);

	must(!strcmp(value, want ? want : ""));
}

/* Every line is a name with this beginning and a value; their number. */
static size_t variables(const char *text, const char *begin)
{
	size_t count = 0;

	for (const char *p = text; *p; p += strcspn(p, "\n") + 1, count++) {
		size_t n = strcspn(p, "=\n");

		must(p[n] == '=' && !strncmp(p, begin, strlen(begin)) && !isdigit((unsigned char)*p));
		for (size_t i = 0; i < n; i++)
			must(isalnum((unsigned char)p[i]) || p[i] == '_');
		must(strchr(p, '\n') != NULL);
	}
	return count;
}

/* --- what the files must say --- */

struct made {
	const struct cfg *c;
	const struct plan *p;
	const struct seed_input *in;
	const struct seed *s;
};

/* Certificates may be indented and have empty lines between. */
static void same_but_blanks(const char *a, const char *b)
{
	do {
		a += strspn(a, " \t\r\n");
		b += strspn(b, " \t\r\n");
		must(*a == *b);
	} while (*a++ && *b++);
}

static void check_user(const struct made *m, const struct ynode *root)
{
	const struct ynode *user = list(root, "users", 1)->item[0];

	says(user, "name", m->c->user.name);
	says(user, "homedir", m->c->user.home);
	says(user, "shell", m->c->user.shell);
	if (*m->c->user.comment)
		says(user, "gecos", m->c->user.comment);
	must(user->count <= 8 && yn_get(user, "uid")->kind == YN_INT);
	lists(user, "ssh_authorized_keys", (char **)(uintptr_t)m->in->key, m->in->keys);
}

static void check_user_data(const struct made *m)
{
	static const char *const known[] = { "growpart", "mounts", "users", "disable_root", "write_files", "manage_resolv_conf",
					     "resolv_conf", "ca_certs", "bootcmd", "timezone" };
	const struct cfg *c = m->c;
	auto_pool pool = yn_pool_new();
	const struct ynode *root = read_yaml(pool, m->s, "user-data"), *trusted;
	size_t n = 0, certificates = m->in->certificates + c->ca_certs.certs;

	for (size_t i = 0, k; i < root->count; i++) {
		for (k = 0; k < sizeof(known) / sizeof(*known) && strcmp(known[k], root->key[i]->text); k++)
			;
		must(k < sizeof(known) / sizeof(*known));
	}
	check_user(m, root);
	for (size_t i = 0; i < c->mounts; i++) {
		const struct ynode *mounts = yn_get(root, "mounts");

		if (!mounts || n == mounts->count || strcmp(mounts->item[n]->item[1]->text, c->mount[i].mount_point))
			must(strpbrk(c->mount[i].mount_point, " \t\"\\$`,#'[]{}") != NULL); /* left to a script of ours */
		else
			must(mounts->item[n++]->count == 6);
	}
	if (c->timezone && *c->timezone)
		must(!strcmp(yn_get(root, "timezone")->text, c->timezone));
	must(!strcmp(list(root, "write_files", 1)->item[0]->item[0]->text, "/var/lib/cloud/scripts/per-boot/00-lima.boot.sh"));
	must(!strncmp(list(root, "bootcmd", 1)->item[0]->text, "export LIMA_CIDATA_MNT=", 23));
	if (c->dns_count)
		lists(yn_get(root, "resolv_conf"), "nameservers", c->dns, c->dns_count);
	trusted = list(yn_get(root, "ca_certs"), "trusted", certificates);
	for (size_t i = 0; i < certificates; i++)
		same_but_blanks(trusted->item[i]->text, i < m->in->certificates ? m->in->certificate[i] :
				c->ca_certs.cert[i - m->in->certificates]);
}

static void check_network(const struct made *m)
{
	auto_pool pool = yn_pool_new();
	const struct ynode *root = read_yaml(pool, m->s, "network-config"), *cards = yn_get(root, "ethernets");

	must(root->count == 2 && cards->count == 1 + m->c->networks && !strcmp(cards->key[0]->text, "eth0"));
	for (size_t i = 0; i < m->c->networks; i++) {
		const struct ynode *card = cards->item[1 + i];

		must(cards->key[1 + i]->kind == YN_STRING && !strcmp(cards->key[1 + i]->text, m->c->network[i].interface));
		says(card, "set-name", m->c->network[i].interface);
		says(yn_get(card, "match"), "macaddress", m->c->network[i].mac_address);
	}
	root = read_yaml(pool, m->s, "meta-data");
	must(root->count == 2);
	says(root, "local-hostname", m->p->hostname);
}

static void check_variables(const struct made *m)
{
	const char *env = file(m->s, "lima.env"), *end;
	const struct cfg *c = m->c;
	auto_free char *inside = NULL;
	size_t n = 0;

	variables(env, "LIMA_CIDATA_");
	sets(env, "LIMA_CIDATA_USER", c->user.name);
	sets(env, "LIMA_CIDATA_HOME", c->user.home);
	sets(env, "LIMA_CIDATA_SHELL", c->user.shell);
	sets(env, "LIMA_CIDATA_COMMENT", c->user.comment);
	sets(env, "LIMA_CIDATA_GUEST_INSTALL_PREFIX", c->guest_install_prefix);
	if (c->mounts)
		sets(env, "LIMA_CIDATA_MOUNTS_0_MOUNTPOINT", c->mount[0].mount_point);
	if (c->provisions) {
		sets(env, "LIMA_CIDATA_DATAFILE_00000000_PATH", c->provision[0].path);
		sets(env, "LIMA_CIDATA_DATAFILE_00000000_OWNER", c->provision[0].owner);
		sets(env, "LIMA_CIDATA_DATAFILE_00000000_PERMISSIONS", c->provision[0].permissions);
	}
	must(variables(file(m->s, "param.env"), "PARAM_") == c->params);
	for (size_t i = 0; i < c->params; i++)
		sets(file(m->s, "param.env"), "PARAM_P", c->param[i].value);
	env = file(m->s, "etc_environment");
	must(!strncmp(env, "#LIMA-START\n", 12) && (end = strstr(env, "#LIMA-END\n")) && !end[10]);
	inside = xstrndup(env + 12, (size_t)(end - env - 12));
	for (size_t i = 0; i < m->p->settings; i++)
		if (!strncmp(m->p->setting[i].key, "env.", 4)) {
			sets(inside, m->p->setting[i].key + 4, m->p->setting[i].value);
			n++;
		}
	must(variables(inside, "") == n);
}

static void check_rest(const struct made *m)
{
	static struct settings settings;
	auto_free char *text = xstrdup(file(m->s, "lima/settings"));
	const char *mounts = file(m->s, "lima/mounts");
	struct err e;

	must(settings_parse(&settings, text, &e) == 0 && settings.count == m->p->settings);
	for (size_t i = 0; i < settings.count; i++)
		must(!strcmp(settings.item[i].key, m->p->setting[i].key) &&
		     !strcmp(settings.item[i].value, m->p->setting[i].value));
	for (; *mounts; mounts += strcspn(mounts, "\n") + 1) {
		auto_free char *line = xstrndup(mounts, strcspn(mounts, "\n"));
		const char *type = strchr(line, ' '), *options = type ? strchr(type + 1, ' ') : NULL;

		must(!strncmp(line, "lima-", 5) && options && !strchr(options + 1, ' '));
	}
	for (size_t i = 0; i < m->p->scripts; i++) {
		auto_free char *path = xasprintf("provision.%s/%08zu", m->p->script[i].mode, i);

		must(!strcmp(file(m->s, path), m->p->script[i].text));
	}
	if (m->in->keys)
		must(!strncmp(file(m->s, "ssh_authorized_keys"), m->in->key[0], strlen(m->in->key[0])));
}

/* --- the whole --- */

static const struct plan_host *host(void)
{
	static struct plan_host h = {
		.arch = (char *)"x86_64", .cpus = 2, .memory = 8ull << 30, .user = (char *)"jane", .comment = (char *)"Jane",
		.home = (char *)"/home/jane", .uid = 1000, .lima_home = (char *)"/home/jane/.lima",
		.qemu = (char *)"qemu-system-x86_64", .agent = (char *)"/share/agent", .provision = (char *)"provision",
		.machine_id = (char *)"",
	};

	return &h;
}

static void seed(const char *text, size_t len, const char *key, const char *certificate)
{
	const struct plan_host *h = host();
	struct cfg_host facts = plan_host_facts(h);
	struct cfg_input in = { .instance = { "t.yaml", text, len }, .host = &facts, .name = "box",
				.dir = "/home/jane/.lima/box", .lima_home = h->lima_home };
	static const struct plan_extra extra[] = { { "/d/0", "raw" } };
	struct plan_images im = { .disk = "/cache/image", .extra = extra, .extras = 1 };
	CLEANUP(plan_free) struct plan p = { 0 };
	CLEANUP(findings_fini) struct findings f = { 0 };
	auto_cfg c = { 0 };
	struct seed_input want = { .c = &c, .p = &p, .host_home = h->home, .provision = h->provision, .key = &key,
				   .keys = *key != '\0', .certificate = &certificate, .certificates = *certificate != '\0' };
	auto_seed s = { 0 };
	struct made m = { &c, &p, &want, &s };
	struct err e = { 0 };

	if (!cfg_read(&in, &c, &f) || plan_make(&c, h, &im, "box", in.dir, &p, &e) < 0)
		return;
	if (seed_make(&want, &s, &e) < 0) {
		must(*e.msg && !s.files);
		return;
	}
	check_user_data(&m);
	check_network(&m);
	check_variables(&m);
	check_rest(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_free char *key = next(&data, &len), *certificate = next(&data, &len);
	auto_buf text = BUF_INIT(TEMPLATE_MAX);

	buf_adds(&text, "images: [{location: /i.qcow2, arch: x86_64}]\nfirmware: {legacyBIOS: true}\nmountType: 9p\n");
	for (size_t i = 0; i < LINES; i++)
		add_line(&text, lines[i], &data, &len);
	seed(text.data, text.len, key, certificate);
	return 0;
}
