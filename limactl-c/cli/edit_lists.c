/* edit_lists.c - flags that work on lists of the template: folders, networks, ports, images, parameters. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/edit_flags.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/yq/yq.h"

enum { EXPRESSION_MAX = 1 << 20, KNOWN_MAX = 64 };

/* One more element of the list that is being written to b. */
static void ERR_FMT(2, 3) add(struct buf *b, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	buf_addf(b, "%s%s", b->len ? ", " : "", text);
}

/* What b holds, for an expression. */
static const char *elements(const struct buf *b)
{
	return b->len ? b->data : "";
}

/* Of the string member of a mapping; NULL when it has none. */
static const char *member(const struct ynode *map, const char *key)
{
	const struct ynode *n = yn_get(map, key);

	return n && n->kind == YN_STRING ? n->text : NULL;
}

static const struct ynode *list_of(const struct edit_run *r, const char *key)
{
	const struct ynode *n = yn_get(r->root, key);

	return n && n->kind == YN_LIST ? n : NULL;
}

/* --- name servers --- */

int edit_run_dns(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->dns;
	auto_buf list = BUF_INIT(EXPRESSION_MAX);
	unsigned char bytes[sizeof(struct in6_addr)];

	for (size_t i = 0; i < l->count; i++) {
		if (inet_pton(AF_INET, l->item[i], bytes) != 1 && inet_pton(AF_INET6, l->item[i], bytes) != 1)
			return err_set(e, ERR_USAGE, "\"%s\" is no IP address", l->item[i]);
		add(&list, "\"%s\"", l->item[i]);
	}
	return edit_eval(r, e, ".dns += [%s] | .dns |= unique | .hostResolver.enabled = false", elements(&list));
}

/* --- folders --- */

/* "~/src" and "src" as absolute paths; malloc'd. */
static char *absolute(const char *path, struct err *e)
{
	auto_free char *here = NULL;
	const char *home;

	if (*path == '/')
		return xstrdup(path);
	if (*path == '~' && (!path[1] || path[1] == '/') && (home = getenv("HOME")))
		return xasprintf("%s%s", home, path + 1);
	if (*path == '~' || !*path) {
		err_set(e, ERR_USAGE, "\"%s\" is no folder that can be named so; give its path", path);
		return NULL;
	}
	here = getcwd(NULL, 0);
	if (!here) {
		err_errno(e, "current folder");
		return NULL;
	}
	return !strcmp(path, ".") ? steal(&here) : xasprintf("%s/%s", here, path + 2 * !strncmp(path, "./", 2));
}

struct folder {
	const char *path; /* absolute, in the pool */
	bool writable;
};

static int parse_folder(struct edit_run *r, const char *text, struct folder *f, struct err *e)
{
	size_t n = strlen(text);
	auto_free char *path = NULL, *full = NULL;

	f->writable = n > 2 && !strcmp(text + n - 2, ":w");
	path = xstrndup(text, n - 2 * f->writable);
	full = absolute(path, e);
	if (!full)
		return -1;
	/* A trailing slash would make another folder of it. */
	for (n = strlen(full); n > 1 && full[n - 1] == '/'; n--)
		full[n - 1] = '\0';
	f->path = yn_strndup(r->pool, full, n);
	return 0;
}

static void add_folder(struct edit_run *r, struct buf *list, const struct folder *f)
{
	const char *path = yq_quote(r->pool, f->path);

	add(list, "{\"location\": %s, \"mountPoint\": %s, \"writable\": %s}", path, path, f->writable ? "true" : "false");
}

/* The element of .mounts that shares this folder; its count when there is none. */
static size_t find_folder(const struct ynode *mounts, const char *path)
{
	struct err unnamed;
	size_t i = 0;

	for (; i < mounts->count; i++) {
		const char *location = member(mounts->item[i], "location");
		auto_free char *full = location ? absolute(location, &unnamed) : NULL;

		if (full && !strcmp(full, path))
			break;
	}
	return i;
}

int edit_run_mount(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->mount;
	auto_buf list = BUF_INIT(EXPRESSION_MAX);

	if (r->edit->mount_only.count || r->edit->mount_none)
		return err_set(e, ERR_USAGE, "cannot be given together with --mount-%s",
			       r->edit->mount_none ? "none" : "only");
	/* Lima's order: the last one given comes first. */
	for (size_t i = l->count; i-- > 0;) {
		const struct ynode *mounts = list_of(r, "mounts");
		struct folder f;
		size_t at;

		if (parse_folder(r, l->item[i], &f, e) < 0)
			return -1;
		at = mounts ? find_folder(mounts, f.path) : 0;
		/* A second entry of the same folder would be merged with the first, which then decides. */
		if (mounts && at < mounts->count) {
			if (edit_eval(r, e, ".mounts[%zu].writable = %s", at, f.writable ? "true" : "false") < 0)
				return -1;
		} else {
			add_folder(r, &list, &f);
		}
	}
	return list.len ? edit_eval(r, e, ".mounts = [%s] + .mounts", elements(&list)) : 0;
}

int edit_run_mount_only(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->mount_only;
	auto_buf list = BUF_INIT(EXPRESSION_MAX);

	if (r->edit->mount_none)
		return err_set(e, ERR_USAGE, "cannot be given together with --mount-none");
	for (size_t i = 0; i < l->count; i++) {
		struct folder f;

		if (parse_folder(r, l->item[i], &f, e) < 0)
			return -1;
		add_folder(r, &list, &f);
	}
	return edit_eval(r, e, ".mounts = [%s]", elements(&list));
}

int edit_run_mount_none(struct edit_run *r, struct err *e)
{
	return edit_eval(r, e, ".mounts = null");
}

int edit_run_mount_writable(struct edit_run *r, struct err *e)
{
	const struct ynode *mounts = list_of(r, "mounts");

	if (!mounts || !mounts->count)
		return err_set(e, ERR_USAGE, "no folder is shared; give --mount DIR:w");
	return edit_eval(r, e, ".mounts[].writable = %s", r->edit->mount_writable == OPT_YES ? "true" : "false");
}

/* --- networks --- */

static bool has_network(const struct ynode *networks, const char *lima)
{
	for (size_t i = 0; networks && i < networks->count; i++) {
		const struct ynode *n = networks->item[i], *nat = yn_get(n, "vzNAT");
		const char *name = member(n, "lima");

		if (lima ? name && !strcmp(name, lima) : nat && nat->kind == YN_BOOL && !strcmp(nat->text, "true"))
			return true;
	}
	return false;
}

int edit_run_network(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->network;

	for (size_t i = 0; i < l->count; i++) {
		bool nat = !strcmp(l->item[i], "vzNAT");
		const char *lima = !strncmp(l->item[i], "lima:", 5) && l->item[i][5] ? l->item[i] + 5 : NULL;
		int rc;

		if (!nat && !lima)
			return err_set(e, ERR_USAGE, "\"%s\" is neither vzNAT nor lima:NAME", l->item[i]);
		/* One that is there would not become two: a network is joined once. */
		if (has_network(list_of(r, "networks"), lima))
			continue;
		rc = nat ? edit_eval(r, e, ".networks += [{\"vzNAT\": true}]")
			 : edit_eval(r, e, ".networks += [{\"lima\": %s}]", yq_quote(r->pool, lima));
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* --- expressions and parameters --- */

/* ".vmType=qemu" is what is left of quotes when the shell has taken them: an assignment of one word. The expression with that
 * word as text, in the pool; NULL: it is none. */
static const char *with_text(struct edit_run *r, const char *expression)
{
	size_t to = strcspn(expression, "=");
	const char *word = expression + to + (expression[to] == '=');

	word += strspn(word, " ");
	if (!to || !*word || strchr(".=", *word) || strchr("!<>", expression[to - 1]) || strpbrk(word, " \t\n\"'`,;|&$()[]{}<>\\#*"))
		return NULL;
	return yn_printf(r->pool, "%.*s %s", (int)to + 1, expression, yq_quote(r->pool, word));
}

/* No word that means something to yq is ever taken as text. */
static int apply_set(struct edit_run *r, const char *expression, struct err *e)
{
	const char *text;

	if (edit_eval(r, e, "%s", expression) == 0)
		return 0;
	text = e->kind == ERR_NOTFOUND ? with_text(r, expression) : NULL;
	if (!text || edit_eval(r, e, "%s", text) < 0)
		return err_wrap(e, "%s", expression);
	say_info("--set '%s': the word is taken as text", expression);
	return 0;
}

int edit_run_set(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->set;

	for (size_t i = 0; i < l->count; i++) {
		const struct ynode *before = r->root;

		if (apply_set(r, l->item[i], e) < 0)
			return -1;
		if (yn_same(before, r->root))
			say_warn("--set '%s' changes nothing: what it names is not there, or says that already", l->item[i]);
	}
	return 0;
}

static int unknown_param(const struct ynode *param, const char *name, struct err *e)
{
	auto_buf list = BUF_INIT(600);
	const char *known[KNOWN_MAX] = { NULL }, *near;
	size_t n = 0;

	for (size_t i = 0; param && i < param->count && n < KNOWN_MAX; i++) {
		known[n++] = param->key[i]->text;
		buf_addf(&list, "%s%s", i ? ", " : "", param->key[i]->text);
	}
	near = text_nearest(name, known, n);
	return err_set(e, ERR_USAGE, "the template declares no parameter \"%s\"%s%s%s (%s%s)", name,
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "", n ? "it has: " : "it has none",
		       elements(&list));
}

int edit_run_param(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->param;

	for (size_t i = 0; i < l->count; i++) {
		const struct ynode *param = yn_get(r->root, "param");
		const char *equals = strchr(l->item[i], '=');
		auto_free char *name = NULL;

		if (!equals || equals == l->item[i])
			return err_set(e, ERR_USAGE, "\"%s\" is not NAME=VALUE", l->item[i]);
		name = xstrndup(l->item[i], (size_t)(equals - l->item[i]));
		if (!param || param->kind != YN_MAP || !yn_get(param, name))
			return unknown_param(param && param->kind == YN_MAP ? param : NULL, name, e);
		if (edit_eval(r, e, ".param[%s] = %s", yq_quote(r->pool, name), yq_quote(r->pool, equals + 1)) < 0)
			return -1;
	}
	return 0;
}

/* --- ports --- */

static bool is_port(unsigned n)
{
	return n >= 1 && n <= 65535;
}

static int parse_forward(const char *text, unsigned *host, unsigned *guest, bool *is_static, struct err *e)
{
	size_t ports = strcspn(text, ",");
	const char *option = text + ports;
	int n = 0;

	*is_static = !strcmp(option, ",static=true");
	if ((*option && !*is_static && strcmp(option, ",static=false")) || strspn(text, "0123456789:") != ports ||
	    sscanf(text, "%5u:%5u%n", host, guest, &n) != 2 || (size_t)n != ports || !is_port(*host) || !is_port(*guest))
		return err_set(e, ERR_USAGE, "\"%s\" is not HOST:GUEST or HOST:GUEST,static=true with ports from 1 to 65535",
			       text);
	return 0;
}

int edit_run_port_forward(struct edit_run *r, struct err *e)
{
	const struct opt_list *l = &r->edit->port_forward;
	auto_buf list = BUF_INIT(EXPRESSION_MAX);

	for (size_t i = 0; i < l->count; i++) {
		unsigned host, guest;
		bool is_static;

		if (parse_forward(l->item[i], &host, &guest, &is_static, e) < 0)
			return -1;
		add(&list, "{\"guestPort\": %u, \"hostPort\": %u, \"static\": %s}", guest, host, is_static ? "true" : "false");
	}
	return edit_eval(r, e, ".portForwards += [%s]", elements(&list));
}

/* --- images --- */

/* Keeps the images whose key says name. None would be left: an error with those there are. */
static int keep_images(struct edit_run *r, const char *key, const char *name, struct err *e)
{
	const struct ynode *images = list_of(r, "images");
	auto_buf known = BUF_INIT(600);

	for (size_t i = 0; images && i < images->count; i++) {
		const char *its = member(images->item[i], key);

		if (its && !strcmp(its, name))
			return edit_eval(r, e, ".images = [.images[] | select(.%s == %s)]", key, yq_quote(r->pool, name));
		if (its)
			add(&known, "%s", its);
	}
	return err_set(e, ERR_USAGE, "no image of the template has the %s \"%s\"%s%s", key, name,
		       known.len ? "; there are: " : "", elements(&known));
}

int edit_run_image_variant(struct edit_run *r, struct err *e)
{
	return keep_images(r, "variant", r->edit->image_variant, e);
}

int edit_run_arch_variant(struct edit_run *r, struct err *e)
{
	return keep_images(r, "archVariant", r->edit->arch_variant, e);
}
