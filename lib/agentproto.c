#include "lib/agentproto.h"

#include <string.h>

#include "lib/le.h"

enum { AP_SSHFS_FLAGS = AP_SSHFS_WRITABLE | AP_SSHFS_CACHE | AP_SSHFS_FOLLOW };

/* A place in bytes being written or read. What does not fit, or is wrong, sets bad; nothing happens after that. */
struct out {
	uint8_t *p;
	size_t at, max;
	bool bad;
};
struct in {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static void put(struct out *o, const void *p, size_t n)
{
	if (o->bad || n > o->max - o->at) {
		o->bad = true;
		return;
	}
	memcpy(o->p + o->at, p, n);
	o->at += n;
}

static void put8(struct out *o, unsigned v)
{
	const uint8_t b = (uint8_t)v;

	put(o, &b, 1);
}

static void put16(struct out *o, uint16_t v)
{
	uint8_t b[2];

	le16_put(b, v);
	put(o, b, sizeof(b));
}

static void put32(struct out *o, uint32_t v)
{
	uint8_t b[4];

	le32_put(b, v);
	put(o, b, sizeof(b));
}

static void put64(struct out *o, uint64_t v)
{
	uint8_t b[8];

	le64_put(b, v);
	put(o, b, sizeof(b));
}

/* size: of the array s is in; it need not be terminated. */
static void put_text(struct out *o, const char *s, size_t size)
{
	size_t n = strnlen(s, size - 1);

	put16(o, (uint16_t)n);
	put(o, s, n);
}

static ssize_t packed(const struct out *o)
{
	return o->bad ? -1 : (ssize_t)o->at;
}

static const uint8_t *get(struct in *i, size_t n)
{
	static const uint8_t nothing[AP_SEED_SIZE]; /* the longest that is got at once */
	const uint8_t *p = i->p;

	if (i->bad || n > i->left) {
		i->bad = true;
		return nothing;
	}
	i->p += n;
	i->left -= n;
	return p;
}

static uint8_t get8(struct in *i)
{
	return *get(i, 1);
}

static uint16_t get16(struct in *i)
{
	return le16_get(get(i, 2));
}

static uint32_t get32(struct in *i)
{
	return le32_get(get(i, 4));
}

static uint64_t get64(struct in *i)
{
	return le64_get(get(i, 8));
}

/* One of first … last. */
static uint8_t get_choice(struct in *i, uint8_t first, uint8_t last)
{
	uint8_t v = get8(i);

	i->bad |= v < first || v > last;
	return v;
}

static void get_text(struct in *i, char *s, size_t size)
{
	size_t n = get16(i);
	const uint8_t *p;

	i->bad |= n >= size;
	p = i->bad ? NULL : get(i, n);
	if (i->bad || memchr(p, 0, n)) {
		i->bad = true;
		return;
	}
	memcpy(s, p, n);
	s[n] = '\0';
}

static int unpacked(const struct in *i)
{
	return i->bad || i->left ? -1 : 0;
}

/* u8 family, u8 0, u16 port, address */
static void put_address(struct out *o, uint8_t family, uint16_t port, const uint8_t addr[16])
{
	o->bad |= (family != 4 && family != 6) || !port;
	put8(o, family);
	put8(o, 0);
	put16(o, port);
	put(o, addr, family == 4 ? 4 : 16);
}

static void get_address(struct in *i, uint8_t *family, uint16_t *port, uint8_t addr[16])
{
	size_t n;

	*family = get8(i);
	i->bad |= (*family != 4 && *family != 6) || get8(i);
	*port = get16(i);
	i->bad |= !*port;
	n = *family == 4 ? 4 : 16;
	memcpy(addr, get(i, n), n);
}

/* Requests that say nothing more. */
static bool is_bare(enum ap_open_kind kind)
{
	return kind == AP_OPEN_EXEC || kind == AP_OPEN_SOCKS || kind == AP_OPEN_EVENTS;
}

ssize_t ap_open_pack(const struct ap_open *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put8(&o, v->kind);
	if (v->kind == AP_OPEN_TCP || v->kind == AP_OPEN_UDP || v->kind == AP_OPEN_DNS) {
		put_address(&o, v->family, v->port, v->addr);
	} else if (v->kind == AP_OPEN_UNIX) {
		o.bad |= v->path[0] != '/';
		put_text(&o, v->path, sizeof(v->path));
	} else if (v->kind == AP_OPEN_REVERSE) {
		put16(&o, v->index);
	} else if (v->kind == AP_OPEN_SSHFS) {
		o.bad |= v->path[0] != '/' || v->flags > AP_SSHFS_FLAGS;
		put16(&o, v->index);
		put8(&o, v->flags);
		put_text(&o, v->path, sizeof(v->path));
	} else {
		o.bad |= !is_bare(v->kind);
	}
	return packed(&o);
}

int ap_open_unpack(struct ap_open *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	v->kind = (enum ap_open_kind)get_choice(&i, AP_OPEN_TCP, AP_OPEN_SSHFS);
	if (v->kind == AP_OPEN_TCP || v->kind == AP_OPEN_UDP || v->kind == AP_OPEN_DNS) {
		get_address(&i, &v->family, &v->port, v->addr);
	} else if (v->kind == AP_OPEN_UNIX) {
		get_text(&i, v->path, sizeof(v->path));
		i.bad |= v->path[0] != '/';
	} else if (v->kind == AP_OPEN_REVERSE) {
		v->index = get16(&i);
	} else if (v->kind == AP_OPEN_SSHFS) {
		v->index = get16(&i);
		v->flags = get8(&i);
		get_text(&i, v->path, sizeof(v->path));
		i.bad |= v->path[0] != '/' || v->flags > AP_SSHFS_FLAGS;
	} else {
		i.bad |= !is_bare(v->kind);
	}
	return unpacked(&i);
}

ssize_t ap_info_pack(const struct ap_info *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put32(&o, v->pid);
	put64(&o, v->boot_id);
	put_text(&o, v->version, sizeof(v->version));
	put_text(&o, v->hostname, sizeof(v->hostname));
	put_text(&o, v->kernel, sizeof(v->kernel));
	put_text(&o, v->port_events, sizeof(v->port_events));
	return packed(&o);
}

int ap_info_unpack(struct ap_info *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	v->pid = get32(&i);
	v->boot_id = get64(&i);
	get_text(&i, v->version, sizeof(v->version));
	get_text(&i, v->hostname, sizeof(v->hostname));
	get_text(&i, v->kernel, sizeof(v->kernel));
	get_text(&i, v->port_events, sizeof(v->port_events));
	return unpacked(&i);
}

ssize_t ap_ports_pack(const struct ap_ports *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n, .bad = v->count > AP_PORTS_MAX };

	put8(&o, v->snapshot);
	put8(&o, 0);
	put16(&o, (uint16_t)v->count);
	for (size_t k = 0; !o.bad && k < v->count; k++) {
		const struct ap_port *port = &v->change[k].port;

		o.bad |= port->proto != AP_TCP && port->proto != AP_UDP;
		put8(&o, v->change[k].listening);
		put8(&o, port->proto);
		put_address(&o, port->family, port->port, port->addr);
	}
	return packed(&o);
}

int ap_ports_unpack(struct ap_ports *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	v->snapshot = get_choice(&i, 0, 1);
	i.bad |= get8(&i) != 0;
	v->count = get16(&i);
	i.bad |= v->count > AP_PORTS_MAX;
	for (size_t k = 0; !i.bad && k < v->count; k++) {
		struct ap_port *port = &v->change[k].port;

		memset(port, 0, sizeof(*port));
		v->change[k].listening = get_choice(&i, 0, 1);
		port->proto = get_choice(&i, AP_TCP, AP_UDP);
		get_address(&i, &port->family, &port->port, port->addr);
	}
	return unpacked(&i);
}

ssize_t ap_provision_pack(const struct ap_provision *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	o.bad |= v->state < AP_PROVISION_RUNNING || v->state > AP_PROVISION_ASKS;
	put16(&o, v->index);
	put8(&o, v->state);
	put32(&o, (uint32_t)v->status);
	put_text(&o, v->tail, sizeof(v->tail));
	return packed(&o);
}

int ap_provision_unpack(struct ap_provision *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	v->index = get16(&i);
	v->state = get_choice(&i, AP_PROVISION_RUNNING, AP_PROVISION_ASKS);
	v->status = (int32_t)get32(&i);
	get_text(&i, v->tail, sizeof(v->tail));
	return unpacked(&i);
}

ssize_t ap_boot_pack(const struct ap_boot *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	o.bad |= v->phase < AP_BOOT_SETUP || v->phase > AP_BOOT_STOPPING;
	put8(&o, v->phase);
	put_text(&o, v->detail, sizeof(v->detail));
	return packed(&o);
}

int ap_boot_unpack(struct ap_boot *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	v->phase = get_choice(&i, AP_BOOT_SETUP, AP_BOOT_STOPPING);
	get_text(&i, v->detail, sizeof(v->detail));
	return unpacked(&i);
}

ssize_t ap_trouble_pack(const struct ap_trouble *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	o.bad |= !v->what[0];
	put_text(&o, v->what, sizeof(v->what));
	put_text(&o, v->why, sizeof(v->why));
	return packed(&o);
}

int ap_trouble_unpack(struct ap_trouble *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	get_text(&i, v->what, sizeof(v->what));
	get_text(&i, v->why, sizeof(v->why));
	i.bad |= !v->what[0];
	return unpacked(&i);
}

ssize_t ap_reverse_pack(const struct ap_reverse *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n, .bad = v->count > AP_REVERSE_MAX };

	put16(&o, (uint16_t)v->count);
	for (size_t k = 0; !o.bad && k < v->count; k++) {
		const struct ap_reverse_socket *s = &v->socket[k];

		o.bad |= s->mode > 0777 || s->path[0] != '/';
		put16(&o, s->index);
		put16(&o, s->mode);
		put_text(&o, s->group, sizeof(s->group));
		put_text(&o, s->path, sizeof(s->path));
	}
	return packed(&o);
}

int ap_reverse_unpack(struct ap_reverse *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	v->count = get16(&i);
	i.bad |= v->count > AP_REVERSE_MAX;
	for (size_t k = 0; !i.bad && k < v->count; k++) {
		struct ap_reverse_socket *s = &v->socket[k];

		s->index = get16(&i);
		s->mode = get16(&i);
		get_text(&i, s->group, sizeof(s->group));
		get_text(&i, s->path, sizeof(s->path));
		i.bad |= s->mode > 0777 || s->path[0] != '/';
	}
	return unpacked(&i);
}

bool ap_host_key_ok(const char *key)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789-.@";
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	size_t n = strspn(key, name), m;

	/* A line that began with a digit, "@" or "-" could mean something else. */
	if (!n || key[n] != ' ' || key[0] < 'a' || key[0] > 'z')
		return false;
	m = strspn(key + n + 1, base64);
	return m && !key[n + 1 + m];
}

ssize_t ap_host_keys_pack(const struct ap_host_keys *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n, .bad = v->count > AP_HOST_KEYS_MAX };

	put16(&o, (uint16_t)v->count);
	for (size_t k = 0; !o.bad && k < v->count; k++) {
		o.bad |= !ap_host_key_ok(v->key[k]);
		put_text(&o, v->key[k], sizeof(v->key[k]));
	}
	return packed(&o);
}

int ap_host_keys_unpack(struct ap_host_keys *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	v->count = get16(&i);
	i.bad |= v->count > AP_HOST_KEYS_MAX;
	for (size_t k = 0; !i.bad && k < v->count; k++) {
		get_text(&i, v->key[k], sizeof(v->key[k]));
		i.bad = i.bad || !ap_host_key_ok(v->key[k]);
	}
	return unpacked(&i);
}

ssize_t ap_suspend_pack(const struct ap_suspend *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put_text(&o, v->why, sizeof(v->why));
	return packed(&o);
}

int ap_suspend_unpack(struct ap_suspend *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memset(v, 0, sizeof(*v));
	get_text(&i, v->why, sizeof(v->why));
	return unpacked(&i);
}

ssize_t ap_woken_pack(const struct ap_woken *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put(&o, v->seed, sizeof(v->seed));
	return packed(&o);
}

int ap_woken_unpack(struct ap_woken *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	memcpy(v->seed, get(&i, sizeof(v->seed)), sizeof(v->seed));
	return unpacked(&i);
}

ssize_t ap_mounted_pack(uint16_t index, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put16(&o, index);
	return packed(&o);
}

int ap_mounted_unpack(uint16_t *index, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	*index = get16(&i);
	return unpacked(&i);
}

ssize_t ap_time_pack(uint64_t ns, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put64(&o, ns);
	return packed(&o);
}

int ap_time_unpack(uint64_t *ns, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	*ns = get64(&i);
	return unpacked(&i);
}

ssize_t ap_clock_pack(const struct ap_clock *v, uint8_t *p, size_t n)
{
	struct out o = { .p = p, .max = n };

	put64(&o, v->stamp);
	put64(&o, v->ns);
	return packed(&o);
}

int ap_clock_unpack(struct ap_clock *v, const uint8_t *p, size_t n)
{
	struct in i = { .p = p, .left = n };

	v->stamp = get64(&i);
	v->ns = get64(&i);
	return unpacked(&i);
}
