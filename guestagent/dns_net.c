#include "guestagent/dns_net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/dns.h"
#include "lib/log.h"

#define THEIR_CARD "dns0"
#define BACKLOG 64

/* Our end's address, for the way back: RFC 7600 reserves it for hosts that have none. */
static const uint8_t our_addr[4] = { 192, 0, 0, 8 };

/* --- one request to the kernel --- */

struct request {
	struct nlmsghdr head;
	uint8_t body[512];
};

static void *put(struct request *r, const void *p, size_t n)
{
	void *at = (uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len);

	memcpy(at, p, n);
	r->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->head.nlmsg_len) + n);
	return at;
}

static void begin(struct request *r, unsigned type, unsigned flags, const void *p, size_t n)
{
	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = NLMSG_HDRLEN;
	r->head.nlmsg_type = (uint16_t)type;
	r->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	put(r, p, n);
}

static void attribute(struct request *r, unsigned type, const void *p, size_t n)
{
	struct rtattr a = { .rta_len = (uint16_t)RTA_LENGTH(n), .rta_type = (uint16_t)type };

	put(r, &a, sizeof(a));
	put(r, p, n);
}

static struct rtattr *nest(struct request *r, unsigned type)
{
	struct rtattr a = { .rta_len = RTA_LENGTH(0), .rta_type = (uint16_t)type };

	return put(r, &a, sizeof(a));
}

static void nest_end(struct request *r, struct rtattr *a)
{
	a->rta_len = (uint16_t)((uint8_t *)r + r->head.nlmsg_len - (uint8_t *)a);
}

/* In the present namespace. */
static int talk(const struct request *r, const char *what, struct err *e)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		uint8_t rest[1024];
	} answer;
	ssize_t n;

	if (fd < 0 || send(fd, r, r->head.nlmsg_len, 0) < 0)
		return err_errno(e, "%s", what);
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(answer.error)) || answer.head.nlmsg_type != NLMSG_ERROR)
		return err_set(e, ERR_INVALID, "%s: the kernel answered something else", what);
	errno = -answer.error.error;
	return errno ? err_errno(e, "%s", what) : 0;
}

/* --- cards, addresses, routes --- */

static int delete_card(struct err *e)
{
	struct ifinfomsg card = { .ifi_family = AF_UNSPEC };
	struct request r;

	begin(&r, RTM_DELLINK, 0, &card, sizeof(card));
	attribute(&r, IFLA_IFNAME, DNS_NET_CARD, sizeof(DNS_NET_CARD));
	return talk(&r, "removing " DNS_NET_CARD, e);
}

/* Theirs here, ours where home is. */
static int make_cards(int home, struct err *e)
{
	struct ifinfomsg card = { .ifi_family = AF_UNSPEC };
	struct rtattr *info, *data, *peer;
	struct request r;

	begin(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &card, sizeof(card));
	attribute(&r, IFLA_IFNAME, THEIR_CARD, sizeof(THEIR_CARD));
	info = nest(&r, IFLA_LINKINFO);
	attribute(&r, IFLA_INFO_KIND, "veth", 4);
	data = nest(&r, IFLA_INFO_DATA);
	peer = nest(&r, VETH_INFO_PEER);
	put(&r, &card, sizeof(card));
	attribute(&r, IFLA_IFNAME, DNS_NET_CARD, sizeof(DNS_NET_CARD));
	attribute(&r, IFLA_NET_NS_FD, &home, sizeof(home));
	nest_end(&r, peer);
	nest_end(&r, data);
	nest_end(&r, info);
	return talk(&r, "virtual cards", e);
}

static int switch_card(const char *card, bool up, struct err *e)
{
	struct ifinfomsg m = { .ifi_family = AF_UNSPEC, .ifi_flags = up ? IFF_UP : 0, .ifi_change = IFF_UP };
	struct request r;

	m.ifi_index = (int)if_nametoindex(card);
	begin(&r, RTM_NEWLINK, 0, &m, sizeof(m));
	return talk(&r, "its card", e);
}

/* Of one address only; no other host is on the wire. Nobody takes it for an address of the machine, as is its scope, and
 * systemd-resolved uses no card on which it has none but a link's. */
static int give_address(const char *card, const uint8_t addr[4], struct err *e)
{
	struct ifaddrmsg a = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_scope = RT_SCOPE_SITE };
	struct request r;

	a.ifa_index = if_nametoindex(card);
	begin(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &a, sizeof(a));
	attribute(&r, IFA_LOCAL, addr, 4);
	attribute(&r, IFA_ADDRESS, addr, 4);
	return talk(&r, "its address", e) < 0 ? -1 : switch_card(card, true, e);
}

/* To that address, or by way of it to all. */
static int add_route(const char *card, const uint8_t addr[4], bool all, struct err *e)
{
	struct rtmsg m = {
		.rtm_family = AF_INET, .rtm_dst_len = all ? 0 : 32, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_BOOT,
		.rtm_scope = all ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK, .rtm_type = RTN_UNICAST,
		.rtm_flags = all ? RTNH_F_ONLINK : 0,
	};
	unsigned index = if_nametoindex(card);
	struct request r;

	begin(&r, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &m, sizeof(m));
	attribute(&r, all ? RTA_GATEWAY : RTA_DST, addr, 4);
	attribute(&r, RTA_OIF, &index, sizeof(index));
	return talk(&r, "its route", e);
}

/* The kernel would look for neighbours and routers on it, every few minutes. */
static void no_ipv6(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) < 0)
		log_debug("%s stays as it is", path);
}

static int bind_socket(const uint8_t addr[4], int type, int *fd, struct err *e)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(DNS_PORT) };

	memcpy(&sa.sin_addr, addr, 4);
	*fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || (type == SOCK_STREAM && listen(*fd, BACKLOG) < 0))
		return err_errno(e, "port %d", DNS_PORT);
	return 0;
}

static int furnish(int home, const uint8_t addr[4], int *udp, int *tcp, struct err *e)
{
	no_ipv6("/proc/sys/net/ipv6/conf/default/disable_ipv6");
	if (make_cards(home, e) < 0 || give_address(THEIR_CARD, addr, e) < 0 || add_route(THEIR_CARD, our_addr, true, e) < 0 ||
	    bind_socket(addr, SOCK_DGRAM, udp, e) < 0)
		return -1;
	return bind_socket(addr, SOCK_STREAM, tcp, e);
}

int dns_net_route(const uint8_t addr[4], bool there, struct err *e)
{
	if (switch_card(DNS_NET_CARD, there, e) < 0)
		return -1;
	return there ? add_route(DNS_NET_CARD, addr, false, e) : 0; /* which goes with the card */
}

static int join(const uint8_t addr[4], struct err *e)
{
	no_ipv6("/proc/sys/net/ipv6/conf/" DNS_NET_CARD "/disable_ipv6");
	return give_address(DNS_NET_CARD, our_addr, e) < 0 ? -1 : dns_net_route(addr, true, e);
}

int dns_net_open(const uint8_t addr[4], int *udp, int *tcp, struct err *e)
{
	auto_close int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), u = -1, t = -1;
	int status;

	if (home < 0)
		return err_errno(e, "/proc/self/ns/net");
	dns_net_close(); /* of an agent that was killed a moment ago */
	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(e, "a network namespace");
	status = furnish(home, addr, &u, &t, e);
	if (setns(home, CLONE_NEWNET) < 0)
		abort(); /* everything else of ours would be in there */
	if (status < 0 || join(addr, e) < 0)
		return -1;
	*udp = steal_fd(&u);
	*tcp = steal_fd(&t);
	return 0;
}

void dns_net_close(void)
{
	struct err none;

	delete_card(&none);
}
