#include "guestagent/nat_rules.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/be.h"

/* --- attributes --- */

struct bytes {
	const uint8_t *p;
	size_t n;
};

/* Takes the first attribute off b. false: there is none, or it is cut. */
static bool next_attr(struct bytes *b, unsigned *type, struct bytes *value)
{
	struct nlattr a;
	size_t whole;

	if (b->n < sizeof(a))
		return false;
	memcpy(&a, b->p, sizeof(a));
	if (a.nla_len < sizeof(a) || a.nla_len > b->n)
		return false;
	*type = a.nla_type & (unsigned)NLA_TYPE_MASK;
	*value = (struct bytes){ b->p + sizeof(a), a.nla_len - sizeof(a) };
	whole = (a.nla_len + 3U) & ~3U;
	if (whole > b->n) /* the last one needs no padding */
		whole = b->n;
	b->p += whole;
	b->n -= whole;
	return true;
}

static struct bytes attr(struct bytes b, unsigned wanted)
{
	struct bytes value;
	unsigned type;

	while (next_attr(&b, &type, &value)) {
		if (type == wanted)
			return value;
	}
	return (struct bytes){ NULL, 0 };
}

/* A number in network order; 0 when there is none. */
static uint32_t attr32(struct bytes b, unsigned type)
{
	struct bytes v = attr(b, type);
	uint32_t x;

	if (v.n != sizeof(x))
		return 0;
	memcpy(&x, v.p, sizeof(x));
	return ntohl(x);
}

static bool is_text(struct bytes b, const char *text)
{
	size_t n = strlen(text);

	return b.n >= n && !memcmp(b.p, text, n) && (b.n == n || !b.p[n]);
}

/* --- a rule, expression by expression --- */

enum holds { HOLDS_OTHER, HOLDS_PROTO, HOLDS_DPORT, HOLDS_DADDR, HOLDS_VALUE };
enum { SLOTS = 16, VALUE_MAX = 16 };

struct walk {
	uint8_t family; /* of the table: AF_INET, AF_INET6, or NFPROTO_INET */
	struct {
		enum holds holds;
		uint8_t value[VALUE_MAX];
		size_t n;
	} reg[SLOTS]; /* of 32 bits each; a register of 128 bits is its first */
	uint8_t proto; /* IPPROTO_*, 0: any */
	bool asked, refused, sent;
	uint16_t first, last;
	uint8_t addr[16];
	size_t addr_n; /* 0: any */
	uint8_t to_family;
	uint8_t to[16];
	size_t to_n;   /* 0: to ourselves */
	uint16_t to_first, to_last; /* 0: the port stays as it is */
};

static size_t slot(uint32_t reg)
{
	if (reg >= NFT_REG_1 && reg <= NFT_REG_4)
		return (reg - NFT_REG_1) * 4;
	return reg >= NFT_REG32_00 && reg <= NFT_REG32_15 ? reg - NFT_REG32_00 : SLOTS;
}

static void load(struct walk *w, uint32_t reg, enum holds holds)
{
	size_t s = slot(reg);

	if (s < SLOTS)
		w->reg[s].holds = holds;
}

static enum holds held(const struct walk *w, uint32_t reg)
{
	size_t s = slot(reg);

	return s < SLOTS ? w->reg[s].holds : HOLDS_OTHER;
}

static void take_meta(struct walk *w, struct bytes b)
{
	load(w, attr32(b, NFTA_META_DREG), attr32(b, NFTA_META_KEY) == NFT_META_L4PROTO ? HOLDS_PROTO : HOLDS_OTHER);
}

static void take_payload(struct walk *w, struct bytes b)
{
	static const struct {
		uint32_t base, offset, len;
		enum holds holds;
	} fields[] = {
		{ NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, HOLDS_DPORT },
		{ NFT_PAYLOAD_NETWORK_HEADER, 16, 4, HOLDS_DADDR },
		{ NFT_PAYLOAD_NETWORK_HEADER, 24, 16, HOLDS_DADDR },
		{ NFT_PAYLOAD_NETWORK_HEADER, 9, 1, HOLDS_PROTO },
	};
	uint32_t base = attr32(b, NFTA_PAYLOAD_BASE), offset = attr32(b, NFTA_PAYLOAD_OFFSET);
	uint32_t len = attr32(b, NFTA_PAYLOAD_LEN);
	enum holds holds = HOLDS_OTHER;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].base == base && fields[i].offset == offset && fields[i].len == len)
			holds = fields[i].holds;
	}
	load(w, attr32(b, NFTA_PAYLOAD_DREG), holds);
}

static void ask_ports(struct walk *w, uint16_t first, uint16_t last)
{
	w->first = w->asked && w->first > first ? w->first : first;
	w->last = w->asked && w->last < last ? w->last : last;
	w->asked = true;
}

static void compare_port(struct walk *w, uint32_t op, uint16_t port)
{
	switch (op) {
	case NFT_CMP_EQ:
		ask_ports(w, port, port);
		break;
	case NFT_CMP_GTE:
		ask_ports(w, port, UINT16_MAX);
		break;
	case NFT_CMP_LTE:
		ask_ports(w, 0, port);
		break;
	default:
		w->refused = true;
	}
}

static void take_cmp(struct walk *w, struct bytes b)
{
	struct bytes v = attr(attr(b, NFTA_CMP_DATA), NFTA_DATA_VALUE);
	uint32_t op = attr32(b, NFTA_CMP_OP);
	enum holds holds = held(w, attr32(b, NFTA_CMP_SREG));

	if (holds == HOLDS_DPORT && v.n == 2) {
		compare_port(w, op, be16_get(v.p));
	} else if (holds == HOLDS_PROTO && v.n == 1 && op == NFT_CMP_EQ) {
		w->proto = v.p[0];
	} else if (holds == HOLDS_DADDR && op == NFT_CMP_EQ && (v.n == 4 || v.n == 16)) {
		memcpy(w->addr, v.p, v.n);
		w->addr_n = v.n;
	}
}

static void take_range(struct walk *w, struct bytes b)
{
	struct bytes from = attr(attr(b, NFTA_RANGE_FROM_DATA), NFTA_DATA_VALUE);
	struct bytes to = attr(attr(b, NFTA_RANGE_TO_DATA), NFTA_DATA_VALUE);

	if (held(w, attr32(b, NFTA_RANGE_SREG)) != HOLDS_DPORT || from.n != 2 || to.n != 2)
		return;
	if (attr32(b, NFTA_RANGE_OP) == NFT_RANGE_EQ)
		ask_ports(w, be16_get(from.p), be16_get(to.p));
	else
		w->refused = true;
}

static void take_bitwise(struct walk *w, struct bytes b)
{
	load(w, attr32(b, NFTA_BITWISE_DREG), HOLDS_OTHER);
}

static void take_immediate(struct walk *w, struct bytes b)
{
	struct bytes v = attr(attr(b, NFTA_IMMEDIATE_DATA), NFTA_DATA_VALUE);
	size_t s = slot(attr32(b, NFTA_IMMEDIATE_DREG));

	if (s == SLOTS || v.n > VALUE_MAX)
		return;
	w->reg[s].holds = HOLDS_VALUE;
	if (v.n)
		memcpy(w->reg[s].value, v.p, v.n);
	w->reg[s].n = v.n;
}

/* The value a register was given, of exactly n bytes; NULL when it holds another. */
static const uint8_t *value(const struct walk *w, uint32_t reg, size_t n)
{
	size_t s = slot(reg);

	return s < SLOTS && w->reg[s].holds == HOLDS_VALUE && w->reg[s].n == n ? w->reg[s].value : NULL;
}

static void send_to_ports(struct walk *w, uint32_t min, uint32_t max)
{
	const uint8_t *first = value(w, min, 2), *last = value(w, max, 2);

	w->to_first = first ? be16_get(first) : 0;
	w->to_last = last ? be16_get(last) : w->to_first;
	w->refused |= min && !first;
}

static void take_nat(struct walk *w, struct bytes b)
{
	uint32_t family = attr32(b, NFTA_NAT_FAMILY), reg = attr32(b, NFTA_NAT_REG_ADDR_MIN);
	size_t n = family == AF_INET6 ? 16 : 4;
	const uint8_t *addr = value(w, reg, n);

	if (attr32(b, NFTA_NAT_TYPE) != NFT_NAT_DNAT)
		return;
	w->sent = true;
	w->to_family = (uint8_t)family;
	w->refused |= !addr;
	if (addr)
		memcpy(w->to, addr, n);
	w->to_n = n;
	send_to_ports(w, attr32(b, NFTA_NAT_REG_PROTO_MIN), attr32(b, NFTA_NAT_REG_PROTO_MAX));
}

static void take_redir(struct walk *w, struct bytes b)
{
	w->sent = true;
	send_to_ports(w, attr32(b, NFTA_REDIR_REG_PROTO_MIN), attr32(b, NFTA_REDIR_REG_PROTO_MAX));
}

/* xt_tcp and xt_udp: two source ports, two destination ports, in the host's order; flags of what is inverted at the end. */
static void take_match(struct walk *w, struct bytes b)
{
	static const struct {
		const char *name;
		uint8_t proto;
		size_t flags;
	} matches[] = { { "tcp", IPPROTO_TCP, 11 }, { "udp", IPPROTO_UDP, 8 } };
	struct bytes name = attr(b, NFTA_MATCH_NAME), info = attr(b, NFTA_MATCH_INFO);
	uint16_t port[4];

	for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++) {
		if (!is_text(name, matches[i].name) || info.n <= matches[i].flags)
			continue;
		memcpy(port, info.p, sizeof(port));
		w->proto = matches[i].proto;
		if (info.p[matches[i].flags] & 2) /* not that port */
			w->refused = true;
		else if (port[2] != 0 || port[3] != UINT16_MAX)
			ask_ports(w, port[2], port[3]);
	}
}

/* DNAT and REDIRECT of iptables: struct nf_nat_range and its successor, or for IPv4 the older one with a count ahead. */
static void take_target(struct walk *w, struct bytes b)
{
	struct bytes name = attr(b, NFTA_TARGET_NAME), info = attr(b, NFTA_TARGET_INFO);
	bool dnat = is_text(name, "DNAT"), redirect = is_text(name, "REDIRECT");
	struct nf_nat_ipv4_multi_range_compat old;
	struct nf_nat_range range;

	if (!dnat && !redirect)
		return;
	if (w->family == AF_INET && (redirect || attr32(b, NFTA_TARGET_REV) == 0)) {
		if (info.n < sizeof(old))
			return;
		memcpy(&old, info.p, sizeof(old));
		memset(&range, 0, sizeof(range));
		range.flags = old.range[0].flags;
		range.min_addr.ip = old.range[0].min_ip;
		range.min_proto = old.range[0].min;
		range.max_proto = old.range[0].max;
	} else if (info.n >= sizeof(range)) {
		memcpy(&range, info.p, sizeof(range));
	} else {
		return;
	}
	w->sent = true;
	w->to_family = w->family;
	w->to_n = dnat ? (w->family == AF_INET6 ? 16 : 4) : 0;
	w->refused |= dnat && !(range.flags & NF_NAT_RANGE_MAP_IPS);
	memcpy(w->to, &range.min_addr, w->to_n);
	if (range.flags & NF_NAT_RANGE_PROTO_SPECIFIED) {
		w->to_first = ntohs(range.min_proto.all);
		w->to_last = ntohs(range.max_proto.all);
	}
}

static void take_expression(struct walk *w, struct bytes b)
{
	static const struct {
		const char *name;
		void (*take)(struct walk *w, struct bytes b);
	} kinds[] = {
		{ "meta", take_meta },		 { "payload", take_payload }, { "cmp", take_cmp },
		{ "range", take_range },	 { "bitwise", take_bitwise }, { "immediate", take_immediate },
		{ "nat", take_nat },		 { "redir", take_redir },     { "match", take_match },
		{ "target", take_target },
	};
	struct bytes name = attr(b, NFTA_EXPR_NAME), data = attr(b, NFTA_EXPR_DATA);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (is_text(name, kinds[i].name))
			kinds[i].take(w, data);
	}
}

/* --- what it comes to --- */

static bool wanted(const struct walk *w)
{
	return w->sent && w->asked && !w->refused && (w->proto == IPPROTO_TCP || w->proto == IPPROTO_UDP) && w->first > 0 &&
	       w->last >= w->first && w->last - w->first < NAT_RANGE_MAX;
}

/* A redirect goes to ourselves, which any address of ours is. */
static void fill_target(const struct walk *w, bool six, struct ap_port *to)
{
	static const uint8_t four_self[] = { 127, 0, 0, 1 };

	if (w->to_n)
		memcpy(to->addr, w->to, w->to_n);
	else if (six)
		to->addr[15] = 1;
	else
		memcpy(to->addr, four_self, sizeof(four_self));
	to->port = w->to_first ? w->to_first : w->first;
}

bool nat_rule_parse(const uint8_t *msg, size_t n, struct nat_rule *out)
{
	struct bytes b = { msg, n }, list, item;
	struct walk w;
	unsigned type;
	bool six;

	if (n < sizeof(struct nfgenmsg))
		return false;
	memset(&w, 0, sizeof(w));
	w.family = msg[0];
	b.p += sizeof(struct nfgenmsg);
	b.n -= sizeof(struct nfgenmsg);
	list = attr(b, NFTA_RULE_EXPRESSIONS);
	w.proto = (uint8_t)attr32(attr(b, NFTA_RULE_COMPAT), NFTA_RULE_COMPAT_PROTO);
	while (next_attr(&list, &type, &item)) {
		if (type == NFTA_LIST_ELEM)
			take_expression(&w, item);
	}
	if (!wanted(&w))
		return false;
	six = w.to_family == AF_INET6 || (!w.to_family && w.family == AF_INET6);
	if (w.addr_n && w.addr_n != (six ? 16U : 4U))
		return false;
	memset(out, 0, sizeof(*out)); /* padding too: ports are compared as bytes */
	out->port.proto = out->to.proto = w.proto == IPPROTO_UDP ? AP_UDP : AP_TCP;
	out->port.family = out->to.family = six ? 6 : 4;
	memcpy(out->port.addr, w.addr, w.addr_n);
	out->port.port = w.first;
	out->last = w.last;
	fill_target(&w, six, &out->to);
	out->same = !w.to_first || (w.to_last > w.to_first && w.to_last - w.to_first == w.last - w.first);
	return true;
}
