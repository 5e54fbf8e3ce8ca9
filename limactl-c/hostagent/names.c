#include "limactl-c/hostagent/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/dns.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/containers.h"
#include "limactl-c/hostagent/forward.h"

#define TOP ".local"

enum {
	TTL = 1,          /* seconds */
	FRESH_MS = 1000,  /* a list this old still answers for the names in it */
	PENDING_MAX = 64, /* questions that wait for the guest; more are told to try again */
	BATCH = 16,       /* questions taken in one go */
	ADDRESSES_MAX = 8, /* of one answer, which therefore always fits */
};

/* A question that waits for a list. */
struct pending {
	struct dns_question q;
	struct sockaddr_in from;
	bool covered; /* the list under way was asked for after this */
};

struct names {
	const struct plan *plan;
	const struct publish *publish;
	bool (*awake)(void *ctx);
	void *ctx;
	int fd; /* -1: not served */
	int errnum;
	struct watch *watch;
	struct containers *containers;
	struct pending pending[PENDING_MAX];
	size_t pendings;
};

enum names_kind names_kind(const char *name, const char *instance, size_t *len)
{
	size_t n = strlen(name), own = strlen(instance), top = strlen(TOP);
	const char *zone;

	if (n < own + top || strcasecmp(name + n - top, TOP) != 0)
		return NAMES_OUTSIDE;
	zone = name + n - top - own;
	if (strncasecmp(zone, instance, own) != 0)
		return NAMES_OUTSIDE;
	if (zone == name)
		return NAMES_INSTANCE;
	if (zone[-1] != '.' || zone == name + 1)
		return NAMES_OUTSIDE;
	*len = (size_t)(zone - name) - 1;
	return NAMES_CONTAINER;
}

/* --- answers --- */

struct answer {
	struct dns_answer dns;
	uint8_t bytes[DNS_UDP_MIN];
	unsigned family; /* asked for: 4, 6; 0: neither, which nothing here has */
	struct ap_port said[ADDRESSES_MAX];
	size_t count;
	bool any; /* an address of whatever family is there */
};

static void begin(struct answer *a, const struct dns_question *q)
{
	a->family = q->type == DNS_A ? 4 : q->type == DNS_AAAA ? 6 : 0;
	a->count = 0;
	a->any = false;
	dns_answer_begin(&a->dns, q, a->bytes, sizeof(a->bytes));
}

static void send_answer(struct names *n, struct answer *a, enum dns_rcode rcode, const struct sockaddr_in *to)
{
	size_t len = dns_answer_end(&a->dns, rcode, rcode == DNS_OK || rcode == DNS_NXDOMAIN, false);

	/* One that is lost is asked for again. */
	(void)!sendto(n->fd, a->bytes, len, 0, (const struct sockaddr *)to, sizeof(*to));
}

static void refuse(struct names *n, const struct dns_question *q, enum dns_rcode rcode, const struct sockaddr_in *to)
{
	struct answer a;

	begin(&a, q);
	send_answer(n, &a, rcode, to);
}

/* Where something listens is where it is reached, but for "everywhere", which is here. */
static void add_host(void *ctx, const struct ap_port *host)
{
	size_t len = host->family == 6 ? 16 : 4;
	struct answer *a = ctx;
	struct ap_port at = fwd_target(host);

	a->any = true;
	if (host->family != a->family || a->count == ADDRESSES_MAX)
		return;
	for (size_t i = 0; i < a->count; i++)
		if (!memcmp(a->said[i].addr, at.addr, len))
			return;
	a->said[a->count++] = at;
	dns_answer_add(&a->dns, NULL, a->family == 6 ? DNS_AAAA : DNS_A, TTL, at.addr, len);
}

static void add_here(struct answer *a)
{
	static const struct ap_port here = { .family = 4, .addr = { 127, 0, 0, 1 } };

	add_host(a, &here);
}

/* One that publishes nothing is here all the same. */
static void answer_container(struct names *n, const struct dns_question *q, const struct container *c,
			     const struct sockaddr_in *to)
{
	struct answer a;

	begin(&a, q);
	for (size_t i = 0; i < c->ports; i++)
		publish_hosts(n->publish, c->port[i], add_host, &a);
	if (!a.any)
		add_here(&a);
	send_answer(n, &a, DNS_OK, to);
}

/* By the list there is; false: it does not know the container. */
static bool answer_known(struct names *n, const struct dns_question *q, int64_t oldest, const struct sockaddr_in *to)
{
	char name[DNS_NAME_TEXT];
	int64_t age;
	size_t len = 0;
	const struct container_list *list = containers_known(n->containers, &age);
	const struct container *c;

	if (!list || age > oldest || names_kind(q->name, n->plan->name, &len) != NAMES_CONTAINER)
		return false;
	memcpy(name, q->name, len);
	name[len] = '\0';
	c = container_list_find(list, name);
	if (c)
		answer_container(n, q, c, to);
	return c;
}

/* --- questions --- */

static void ask(struct names *n)
{
	for (size_t i = 0; i < n->pendings; i++)
		n->pending[i].covered = true;
	containers_ask(n->containers);
}

/* A name that is not in the list is unknown only when the list was asked for after the question came: it may be of a
 * container that was started meanwhile. */
static void on_list(void *ctx, bool ok)
{
	struct names *n = ctx;
	size_t kept = 0;

	for (size_t i = 0; i < n->pendings; i++) {
		const struct pending *p = &n->pending[i];

		if (answer_known(n, &p->q, INT64_MAX, &p->from))
			continue;
		if (ok && !p->covered)
			n->pending[kept++] = *p;
		else
			refuse(n, &p->q, ok ? DNS_NXDOMAIN : DNS_SERVFAIL, &p->from);
	}
	n->pendings = kept;
	if (kept)
		ask(n);
}

static void take_container(struct names *n, const struct dns_question *q, const struct sockaddr_in *from)
{
	bool awake = n->awake(n->ctx);
	int64_t age;

	if (answer_known(n, q, awake ? FRESH_MS : INT64_MAX, from))
		return;
	if (!awake) {
		/* What sleeps starts no containers. */
		refuse(n, q, containers_known(n->containers, &age) ? DNS_NXDOMAIN : DNS_SERVFAIL, from);
		return;
	}
	if (n->pendings == PENDING_MAX) {
		refuse(n, q, DNS_SERVFAIL, from);
		return;
	}
	n->pending[n->pendings++] = (struct pending){ .q = *q, .from = *from };
	if (!containers_asking(n->containers))
		ask(n);
}

static void take_question(struct names *n, const struct dns_question *q, const struct sockaddr_in *from)
{
	struct answer a;
	size_t len;

	if (q->rcode != DNS_OK) {
		refuse(n, q, q->rcode, from);
		return;
	}
	switch (names_kind(q->name, n->plan->name, &len)) {
	case NAMES_OUTSIDE:
		refuse(n, q, DNS_REFUSED, from);
		break;
	case NAMES_INSTANCE:
		begin(&a, q);
		add_here(&a);
		send_answer(n, &a, DNS_OK, from);
		break;
	case NAMES_CONTAINER:
		take_container(n, q, from);
		break;
	}
}

static void on_datagrams(void *ctx, unsigned events)
{
	struct names *n = ctx;
	uint8_t bytes[DNS_UDP_MAX];

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		struct sockaddr_in from;
		struct dns_question q;
		socklen_t len = sizeof(from);
		ssize_t k = recvfrom(n->fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &len);

		if (k < 0)
			return;
		if (dns_question_read(&q, bytes, (size_t)k) == 0)
			take_question(n, &q, &from);
	}
}

/* --- the whole --- */

static int bind_here(uint16_t port)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port) };
	auto_close int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || io_set_cloexec(fd, true) < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0)
		return -1;
	return steal_fd(&fd);
}

struct names *names_new(struct loop *l, struct guest *g, const struct publish *pub, const struct plan *plan,
			bool (*awake)(void *ctx), void *ctx)
{
	const char *socket = plan_docker_socket(plan);
	struct names *n;

	if (!plan->dns_port || !socket)
		return NULL;
	n = xcalloc(1, sizeof(*n));
	n->plan = plan;
	n->publish = pub;
	n->awake = awake;
	n->ctx = ctx;
	n->fd = bind_here(plan->dns_port);
	if (n->fd < 0) {
		n->errnum = errno;
		log_warn("names of containers are not served at 127.0.0.1:%u: %s", plan->dns_port, strerror(n->errnum));
		return n;
	}
	n->containers = containers_new(l, g, socket, on_list, n);
	n->watch = watch_new(l, n->fd, on_datagrams, n);
	if (!n->watch)
		abort(); /* a socket can always be watched */
	watch_set(n->watch, WATCH_READ);
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	containers_free(n->containers);
	watch_free(n->watch);
	if (n->fd >= 0)
		close(n->fd);
	free(n);
}

struct jx *names_json(const struct names *n)
{
	struct jx *o = jx_new_object();
	auto_free char *domain = xasprintf("%s" TOP, n->plan->name), *address = xasprintf("127.0.0.1:%u", n->plan->dns_port);

	jx_set_string(o, "domain", domain);
	jx_set_string(o, "address", address);
	if (n->fd < 0)
		jx_set_string(o, "error", strerror(n->errnum));
	return o;
}
