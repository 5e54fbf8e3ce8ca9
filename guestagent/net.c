/* net.c - the guest's network by its known addresses: no DHCP, no wait, no process. By DHCP only where it has to be. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guestagent/dhcp.h"
#include "guestagent/net.h"
#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"
#include "lib/log.h"

enum { DHCP_WAIT_MS = 10000 }; /* of a boot */

static int set_flags(int fd, const char *name, struct err *e)
{
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
		return err_errno(e, "interface %s", name);
	r.ifr_flags |= IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &r) < 0 ? err_errno(e, "cannot bring %s up", name) : 0;
}

static int set_address(int fd, const char *name, unsigned long request, struct in_addr a, struct err *e)
{
	struct ifreq r = { 0 };
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = a };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	memcpy(&r.ifr_addr, &sa, sizeof(sa));
	return ioctl(fd, request, &r) < 0 ? err_errno(e, "cannot set the address of %s", name) : 0;
}

static int add_default_route(int fd, struct in_addr gateway, struct err *e)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct sockaddr_in via = { .sin_family = AF_INET, .sin_addr = gateway };
	struct rtentry r = { .rt_flags = RTF_UP | RTF_GATEWAY };

	memcpy(&r.rt_dst, &any, sizeof(any));
	memcpy(&r.rt_genmask, &any, sizeof(any));
	memcpy(&r.rt_gateway, &via, sizeof(via));
	if (ioctl(fd, SIOCADDRT, &r) < 0 && errno != EEXIST)
		return err_errno(e, "cannot set the default route");
	return 0;
}

int net_configure(const char *card, const struct net_address *a, struct err *e)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, "no sockets");
	if (set_address(fd, card, SIOCSIFADDR, a->address, e) < 0 || set_address(fd, card, SIOCSIFNETMASK, a->mask, e) < 0 ||
	    set_flags(fd, card, e) < 0)
		return -1;
	return a->gateway.s_addr ? add_default_route(fd, a->gateway, e) : 0;
}

int net_clear(const char *card, struct err *e)
{
	static const struct in_addr none;
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, "no sockets");
	return set_flags(fd, card, e) < 0 ? -1 : set_address(fd, card, SIOCSIFADDR, none, e);
}

bool net_has_address(const char *card)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", card);
	return fd >= 0 && ioctl(fd, SIOCGIFADDR, &r) == 0;
}

/* The first Ethernet card that is not virtual: eth0, unless somebody renames cards. */
static int find_card(char name[IF_NAMESIZE], struct err *e)
{
	struct dirent *d;
	auto_closedir DIR *dir = opendir("/sys/class/net");

	name[0] = '\0';
	while (dir && (d = readdir(dir))) {
		char device[300];

		snprintf(device, sizeof(device), "/sys/class/net/%s/device", d->d_name);
		if (strlen(d->d_name) >= IF_NAMESIZE || access(device, F_OK) < 0)
			continue;
		if (!name[0] || strcmp(d->d_name, name) < 0)
			snprintf(name, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1, d->d_name);
	}
	return name[0] ? 0 : err_set(e, ERR_NOTFOUND, "there is no network card");
}

static int address_of(const struct setup *su, const char *key, const char *otherwise, struct in_addr *a, struct err *e)
{
	const char *text = settings_get(su->settings, key, otherwise);

	if (inet_pton(AF_INET, text, a) != 1)
		return err_set(e, ERR_INVALID, "%s=%.64s is no IPv4 address", key, text);
	return 0;
}

/* The network tells its IPv6 prefix and routes. alone: nobody else is on it who could have our address. */
static void prepare_ipv6(const char *card, bool alone)
{
	static const char *const set[][2] = {
		{ "router_solicitation_delay", "0" }, /* who asks at once has them at once */
		{ "accept_ra", "2" },                 /* Docker makes the guest a router, which by default would listen to none */
		{ "dad_transmits", "0" },             /* alone only, the last */
	};

	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]) - !alone; i++) {
		auto_close int fd = -1;
		char path[128];

		snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/%s", card, set[i][0]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		/* A kernel without IPv6 has no such file. */
		if (fd >= 0 && write(fd, set[i][1], strlen(set[i][1])) < 0)
			log_warn("%s: %s", path, strerror(errno));
	}
}

static bool by_dhcp(const struct setup *su)
{
	return strcmp(settings_get(su->settings, "net.address", ""), "dhcp") == 0;
}

static int card_up(const struct setup *su, struct err *e)
{
	unsigned long long prefix = su_number(su, "net.prefix", 24);
	struct net_address a;
	char card[IF_NAMESIZE];

	if (find_card(card, e) < 0)
		return -1;
	prepare_ipv6(card, !by_dhcp(su));
	if (by_dhcp(su))
		return dhcp_start(su, card, DHCP_WAIT_MS, e);
	if (prefix < 1 || prefix > 32)
		return err_set(e, ERR_INVALID, "net.prefix is not 1 to 32");
	a.mask.s_addr = htonl(0xffffffffu << (32 - prefix));
	if (address_of(su, "net.address", "10.0.2.15", &a.address, e) < 0 ||
	    address_of(su, "net.gateway", "10.0.2.2", &a.gateway, e) < 0)
		return -1;
	return net_configure(card, &a, e);
}

/* net.dns as lines of a resolv.conf; a word that is no address would make it unreadable. */
static int name_servers(const struct setup *su, const char *before, const char *separator, struct buf *text)
{
	char list[512], *save = NULL;
	int bad = 0;

	snprintf(list, sizeof(list), "%s", settings_get(su->settings, "net.dns", "10.0.2.3"));
	for (char *word = strtok_r(list, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		unsigned char address[16];

		if (inet_pton(AF_INET, word, address) == 1 || inet_pton(AF_INET6, word, address) == 1)
			bad |= buf_addf(text, "%s%s%s", before, word, separator);
		else
			su_warn(su, "dns: \"%.64s\" is no address", word);
	}
	/* Nothing follows the last one but the end of its line. */
	if (text->len && *separator == ' ')
		text->data[--text->len] = '\0';
	return bad | (text->len ? 0 : -1);
}

static bool are_given(const struct setup *su)
{
	return settings_get(su->settings, "net.dns", NULL) != NULL;
}

/* The image's own, or those of an earlier boot, would be asked first. */
static int drop_others(const struct setup *su, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX), new = BUF_INIT(SU_FILE_MAX);
	int bad = buf_adds(&new, "");
	size_t n;

	if (su_read(su, "/etc/resolv.conf", &old, e) < 0)
		return -1;
	for (const char *line = old.data; *line; line += n) {
		n = strcspn(line, "\n");
		n += line[n] == '\n';
		if (strncmp(line, "nameserver", 10) != 0)
			bad |= buf_add(&new, line, n);
	}
	return bad ? err_set(e, ERR_INVALID, "/etc/resolv.conf is too large") :
		     su_write(su, "/etc/resolv.conf", new.data, 0644, e);
}

int net_dns(const struct setup *su, struct err *e)
{
	auto_buf text = BUF_INIT(1024);

	if (name_servers(su, "nameserver ", "\n", &text) < 0)
		return err_set(e, ERR_INVALID, "there is no usable name server");
	if (are_given(su) && drop_others(su, e) < 0)
		return -1;
	return su_block(su, "/etc/resolv.conf", text.data, e);
}

int net_dns_if_given(const struct setup *su, struct err *e)
{
	return are_given(su) ? net_dns(su, e) : 0;
}

/* Where the guest asks for an address itself, its clients would write the network's name server. */
int net_dns_clients(const struct setup *su, struct err *e)
{
	auto_buf list = BUF_INIT(1024), dhcpcd = BUF_INIT(1200), udhcpc = BUF_INIT(1200);
	bool given = are_given(su);

	if (given && (name_servers(su, "", " ", &list) < 0 ||
		      buf_addf(&dhcpcd, "static domain_name_servers=%s\n", list.data) < 0 ||
		      buf_addf(&udhcpc, "dns=\"%s\"\n", list.data) < 0))
		return err_set(e, ERR_INVALID, "there is no usable name server");
	if (su_block(su, "/etc/dhcpcd.conf", given ? dhcpcd.data : "", e) < 0)
		return -1;
	if (given && su_mkdirs(su, "/etc/udhcpc", 0755, e) < 0)
		return -1;
	if (!su_exists(su, "/etc/udhcpc"))
		return 0;
	return su_block(su, "/etc/udhcpc/udhcpc.conf", given ? udhcpc.data : "", e);
}

int net_up(const struct setup *su, struct err *e)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, "no sockets");
	/* The network's own name servers come with its address. */
	if (set_flags(fd, "lo", e) < 0 || (!by_dhcp(su) && net_dns(su, e) < 0))
		return -1;
	return card_up(su, e);
}

int net_up_if_down(const struct setup *su, struct err *e)
{
	char card[IF_NAMESIZE];

	if (find_card(card, e) < 0)
		return -1;
	return net_has_address(card) ? 0 : net_up(su, e);
}
