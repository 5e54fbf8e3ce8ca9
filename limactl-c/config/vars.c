/* vars.c - which values are templates, what they are filled with, and the filling. */
#include "limactl-c/config/vars.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"
#include "limactl-c/gotmpl/gotmpl.h"

enum scope { SCOPE_HOST, SCOPE_ENGINE, SCOPE_GUEST_HOME, SCOPE_GUEST, SCOPE_MESSAGE, SCOPES };

/* In the order they are filled: the guest's home first, as the others may hold it. */
static const struct fillable {
	const char *path;
	enum scope scope;
} fillable[] = {
	{ "user.home", SCOPE_GUEST_HOME },
	{ "mounts[].location", SCOPE_HOST },
	{ "mounts[].mountPoint", SCOPE_GUEST },
	{ "provision[].script", SCOPE_GUEST },
	{ "provision[].content", SCOPE_GUEST },
	{ "provision[].expression", SCOPE_GUEST },
	{ "provision[].owner", SCOPE_GUEST },
	{ "provision[].path", SCOPE_GUEST },
	{ "probes[].script", SCOPE_GUEST },
	{ "portForwards[].guestSocket", SCOPE_GUEST },
	{ "portForwards[].hostSocket", SCOPE_HOST },
	{ "copyToHost[].guest", SCOPE_GUEST },
	{ "copyToHost[].host", SCOPE_HOST },
	{ "guest.engineDisk", SCOPE_ENGINE },
	{ "message", SCOPE_MESSAGE },
};

struct filling {
	struct cfg *c;
	const struct cfg_input *in;
	struct findings *f;
	struct yn_pool *pool;
	struct ynode *data[SCOPES]; /* NULL: not made yet */
	struct ynode *config;       /* the whole of c, for the message; the same */
};

char *vars_hostname(const char *name)
{
	char *s = xasprintf("lima-%s", name);

	for (char *p = s; *p; p++)
		if (*p == '.' || *p == '_')
			*p = '-';
	return s;
}

/* A variable that is not known here (a template without an instance) stands for itself. */
static void set(struct filling *x, struct ynode *map, const char *name, const char *value)
{
	yn_set(x->pool, map, name, yn_string(x->pool, value ? value : yn_printf(x->pool, "{{.%s}}", name)));
}

static const char *hostname_of(struct filling *x)
{
	auto_free char *name = x->in->name ? vars_hostname(x->in->name) : NULL;

	return name ? yn_printf(x->pool, "%s", name) : NULL;
}

static struct ynode *parameters(struct filling *x)
{
	struct ynode *map = yn_map(x->pool);

	for (size_t i = 0; i < x->c->params; i++)
		yn_set(x->pool, map, x->c->param[i].key, yn_string(x->pool, x->c->param[i].value));
	return map;
}

static struct ynode *host_data(struct filling *x)
{
	struct ynode *map = yn_map(x->pool);
	const struct cfg_host *h = x->in->host;
	const char *temp = getenv("TMPDIR");

	set(x, map, "Dir", x->in->dir);
	set(x, map, "Name", x->in->name);
	set(x, map, "UID", yn_printf(x->pool, "%u", h->uid));
	set(x, map, "User", h->user);
	set(x, map, "Home", h->home);
	yn_set(x->pool, map, "Param", parameters(x));
	set(x, map, "GlobalTempDir", "/tmp");
	set(x, map, "TempDir", temp && *temp ? temp : "/tmp");
	set(x, map, "Instance", x->in->name);
	set(x, map, "LimaHome", x->in->lima_home);
	return map;
}

/* One template serves every architecture. */
static struct ynode *engine_data(struct filling *x)
{
	struct ynode *map = host_data(x);

	set(x, map, "Arch", x->c->arch);
	return map;
}

static struct ynode *guest_home_data(struct filling *x)
{
	struct ynode *map = yn_map(x->pool);

	set(x, map, "Name", x->in->name);
	set(x, map, "Hostname", hostname_of(x));
	yn_set(x->pool, map, "UID", yn_int(x->pool, x->c->user.uid));
	set(x, map, "User", x->c->user.name);
	yn_set(x->pool, map, "Param", parameters(x));
	return map;
}

static struct ynode *guest_data(struct filling *x)
{
	struct ynode *map = guest_home_data(x);

	set(x, map, "Home", x->c->user.home);
	return map;
}

/* What "list" knows of an instance that runs, as the message is shown when it does. */
static struct ynode *instance_data(struct filling *x)
{
	const struct cfg *c = x->c;
	const char *dir = x->in->dir;
	struct ynode *map = yn_map(x->pool);

	set(x, map, "Name", x->in->name);
	set(x, map, "Hostname", hostname_of(x));
	set(x, map, "Status", "Running");
	set(x, map, "Dir", dir);
	set(x, map, "VMType", c->vm_type);
	set(x, map, "Arch", c->arch);
	yn_set(x->pool, map, "CPUs", yn_int(x->pool, c->cpus));
	yn_set(x->pool, map, "Memory", yn_int(x->pool, (int64_t)c->memory));
	yn_set(x->pool, map, "Disk", yn_int(x->pool, (int64_t)c->disk));
	yn_set(x->pool, map, "SSHLocalPort", yn_int(x->pool, c->ssh.local_port));
	set(x, map, "SSHConfigFile", dir ? yn_printf(x->pool, "%s/ssh.config", dir) : NULL);
	set(x, map, "SSHAddress", "127.0.0.1");
	set(x, map, "LimaVersion", CFG_LIMA_VERSION);
	if (!x->config)
		x->config = cfg_tree(c, x->pool);
	yn_set(x->pool, map, "Config", x->config);
	yn_set(x->pool, map, "Param", parameters(x));
	return map;
}

static struct ynode *message_data(struct filling *x)
{
	struct ynode *map = instance_data(x);
	const char *home = x->in->lima_home;

	yn_set(x->pool, map, "Instance", instance_data(x));
	set(x, map, "HostOS", x->in->host->darwin ? "darwin" : "linux");
	set(x, map, "HostArch", x->in->host->arch);
	set(x, map, "LimaHome", home);
	set(x, map, "IdentityFile", home ? yn_printf(x->pool, "%s/_config/user", home) : NULL);
	return map;
}

/* Go's names of what is in a message differ from those in YAML by case: Config.VMOpts. A field may be missing where Lima has
 * maps: parameters, and all of a message, as options of drivers that are not used are not there. */
static const struct {
	struct ynode *(*data)(struct filling *x);
	struct gotmpl_options options;
} scopes[SCOPES] = {
	[SCOPE_HOST] = { host_data, { .go_only = true, .open = "Param" } },
	[SCOPE_ENGINE] = { engine_data, { .go_only = true, .open = "Param" } },
	[SCOPE_GUEST_HOME] = { guest_home_data, { .go_only = true, .open = "Param" } },
	[SCOPE_GUEST] = { guest_data, { .go_only = true, .open = "Param" } },
	[SCOPE_MESSAGE] = { message_data, { .go_only = true, .open = "", .fold = true } },
};

/* The place of a line of the value at path. Only "|" keeps the lines of the file, from the one behind it. */
static struct place line_place(const struct filling *x, const char *path, unsigned line)
{
	struct place at = where_place(x->c, x->in->instance.name, path);
	const struct ynode *n = where_node(x->c, path);

	if (!n || !n->source || n->style != YN_LITERAL)
		return at;
	at.line += line;
	at.column = 1;
	return at;
}

static void report(const struct filling *x, const char *path, unsigned line, const char *what)
{
	static const char braces[] = "braces that are meant for others are written {{\"{{\"}}";
	struct place at = line_place(x, path, line);

	if (x->in->strict)
		finding_error(x->f, at, path, "%s; %s", what, braces);
	else
		finding_warning(x->f, at, path,
				"%s; so the whole text stays as it is, with none of its {{ }} filled; %s", what, braces);
}

static int render(struct filling *x, enum scope scope, const char *text, struct buf *out, unsigned *line, struct err *e)
{
	if (!x->data[scope])
		x->data[scope] = scopes[scope].data(x);
	if (gotmpl_render(text, strlen(text), x->data[scope], &scopes[scope].options, out, line, e) < 0)
		return -1;
	if (out->data && (strlen(out->data) != out->len || !text_is_utf8(out->data)))
		return err_set(e, ERR_INVALID, "what is filled in gives no text: a NUL byte or no UTF-8");
	return 0;
}

static void fill(struct filling *x, enum scope scope, char **field, const char *path)
{
	auto_buf out = BUF_INIT(YN_TEXT_MAX);
	unsigned line = 1;
	struct err e;

	if (!*field || !gotmpl_has_action(*field))
		return;
	if (render(x, scope, *field, &out, &line, &e) < 0) {
		report(x, path, line, e.msg);
		return;
	}
	free(*field);
	*field = xstrdup(out.data ? out.data : "");
}

static char **field_at(void *base, const struct key *k)
{
	return (char **)(void *)((char *)base + k->at);
}

/* Every element's value of "LIST[].KEY". */
static void fill_list(struct filling *x, const struct fillable *one, const struct key *k)
{
	size_t len = strcspn(one->path, "[");
	auto_free char *name = xstrndup(one->path, len);
	const struct key *list = schema_find(name);
	char *array = *field_at(x->c, list);
	size_t count = *(size_t *)(void *)((char *)x->c + list->count_at);

	for (size_t i = 0; i < count; i++) {
		auto_free char *path = xasprintf("%s[%zu]%s", name, i, one->path + len + 2);

		fill(x, one->scope, field_at(array + i * list->size, k), path);
	}
}

void vars_fill(struct cfg *c, const struct cfg_input *in, struct findings *f)
{
	auto_pool pool = yn_pool_new();
	struct filling x = { .c = c, .in = in, .f = f, .pool = pool };

	for (size_t i = 0; i < sizeof(fillable) / sizeof(*fillable); i++) {
		const struct key *k = schema_find(fillable[i].path);

		if (strchr(fillable[i].path, '['))
			fill_list(&x, &fillable[i], k);
		else
			fill(&x, fillable[i].scope, field_at(c, k), fillable[i].path);
	}
}

static void restore(const struct cfg *c, struct yn_pool *p, const struct ynode *map, const char *key, const char *path)
{
	const struct ynode *given = where_node(c, path);
	struct ynode *value = yn_get(map, key);

	if (!value || !given || given->kind != YN_STRING || !gotmpl_has_action(given->text))
		return;
	value->text = yn_strndup(p, given->text, given->len);
	value->len = given->len;
}

void vars_restore(const struct cfg *c, struct yn_pool *p, const struct ynode *tree)
{
	for (size_t i = 0; i < sizeof(fillable) / sizeof(*fillable); i++) {
		const char *path = fillable[i].path, *in_list = strstr(path, "[]."), *dot = strchr(path, '.');
		auto_free char *name = xstrndup(path, in_list ? (size_t)(in_list - path) : dot ? (size_t)(dot - path) : 0);
		const struct ynode *group = *name ? yn_get(tree, name) : tree, *given = where_node(c, name);

		if (!in_list)
			restore(c, p, group, dot ? dot + 1 : path, path);
		/* Of a list that became shorter nobody knows which entries are left. */
		for (size_t k = 0; in_list && group && given && group->count == given->count && k < group->count; k++) {
			auto_free char *entry = xasprintf("%s[%zu]%s", name, k, in_list + 2);

			restore(c, p, group->item[k], in_list + 3, entry);
		}
	}
}
