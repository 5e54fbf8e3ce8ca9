/* fill_derived.c - defaults that depend on other values: forwards, mount points, what plain takes away. */
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/sha256.h"
#include "limactl-c/config/fill.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

static void fill_range(uint32_t range[2], uint32_t port, const uint32_t otherwise[2])
{
	if (range[0] || range[1])
		return;
	range[0] = port ? port : otherwise[0];
	range[1] = port ? port : otherwise[1];
}

void fill_forwards(struct cfg *c)
{
	static const uint32_t every_port[2] = { 1, 65535 };
	const struct ynode *given = yn_get(c->given, "portForwards");

	for (size_t i = 0; i < c->forwards; i++) {
		struct cfg_port_forward *f = &c->forward[i];
		const struct ynode *zero = yn_get(given->item[i], "guestIPMustBeZero");

		fill_if_none(&f->guest_ip, f->guest_ip_must_be_zero ? "0.0.0.0" : "127.0.0.1");
		if (!zero || zero->kind == YN_NULL)
			f->guest_ip_must_be_zero = !strcmp(f->guest_ip, "0.0.0.0");
		fill_range(f->guest_range, f->guest_port, every_port);
		if (!f->host_socket)
			fill_range(f->host_range, f->host_port, f->guest_range);
	}
}

/* Without "//", "/./", "/../" and a slash at the end; in place. */
static void clean_path(char *path)
{
	char *out = path;

	for (const char *p = path; *p;) {
		size_t n;

		while (*p == '/')
			p++;
		n = strcspn(p, "/");
		if (n == 2 && !strncmp(p, "..", 2)) {
			while (out > path && *--out != '/')
				;
		} else if (n && !(n == 1 && *p == '.')) {
			*out++ = '/';
			memmove(out, p, n);
			out += n;
		}
		p += n;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
}

/* "~", "~/x": the home of who runs this. */
static void expand_home(char **path, const char *home)
{
	char *p = *path, *whole;

	if (!home || p[0] != '~' || (p[1] && p[1] != '/'))
		return;
	whole = xasprintf("%s%s", home, p + 1);
	free(p);
	*path = whole;
}

/* Lima's rule: the same for the same host, file and place in it. */
static char *mac_address(const struct cfg_input *in, size_t i)
{
	auto_free char *text = xasprintf("%s%s/lima.yaml#%zu", in->host->machine_id ? in->host->machine_id : "",
					 in->dir ? in->dir : "", i);
	uint8_t d[SHA256_SIZE];

	sha256(text, strlen(text), d);
	return xasprintf("52:55:55:%02x:%02x:%02x", d[0], d[1], d[2]);
}

static void fill_networks(struct cfg *c, const struct cfg_input *in)
{
	for (size_t i = 0; i < c->networks; i++) {
		struct cfg_network *n = &c->network[i];

		if (!n->interface || !*n->interface) {
			free(n->interface);
			n->interface = xasprintf("lima%zu", i);
		}
		if (!n->mac_address || !*n->mac_address) {
			free(n->mac_address);
			n->mac_address = mac_address(in, i);
		}
	}
}

void fill_derived(struct cfg *c, const struct cfg_input *in)
{
	for (size_t i = 0; i < c->mounts; i++) {
		struct cfg_mount *m = &c->mount[i];

		if (!m->location)
			continue;
		expand_home(&m->location, in->host->home);
		if (m->location[0] == '/')
			clean_path(m->location);
		fill_if_none(&m->mount_point, m->location);
	}
	fill_networks(c, in);
}

void fill_plain(struct cfg *c)
{
	struct ynode *forwards = yn_get(c->given, "portForwards");
	size_t kept = 0;

	if (!c->plain)
		return;
	for (size_t i = 0; i < c->forwards; i++) {
		if (c->forward[i].is_static) {
			c->forward[kept++] = c->forward[i];
		} else {
			yn_remove(forwards, kept);
			schema_clear("portForwards[]", &c->forward[i]);
		}
	}
	c->forwards = kept;
	for (size_t i = 0; i < c->mounts; i++)
		schema_clear("mounts[]", &c->mount[i]);
	c->mounts = 0;
	c->containerd.system = c->containerd.user = false;
	free(c->timezone);
	c->timezone = xstrdup("");
}
