#include "guestagent/ports_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { RING_BYTES = 64 * 1024, LINKS = 6, STATE_CLOSE = 7, STATE_LISTEN = 10 };
enum { ASKED_BYTES = 65536 }; /* one a UDP port, by its number in network order */

struct port_events {
	int map;         /* the ring buffer */
	int link[LINKS]; /* attachments; closing one detaches it */
	size_t page;
	unsigned long *consumer; /* our position, writable */
	const unsigned char *shared; /* the kernel's position, then the data twice */
	int asked_map;
	uint8_t *asked; /* shared with the programs that run before a bind() */
};

/* Fields of the tracepoint's record; the kernel's format file has said the same since the tracepoint exists. */
enum { TP_SOCK = 8, TP_OLD_STATE = 16, TP_NEW_STATE = 20, TP_SPORT = 24, TP_PROTOCOL = 30 };

/* Where struct sock keeps the pointer to its network namespace (skc_net) on 64-bit machines. own_net() finds out whether
 * that holds in this kernel. */
enum { SOCK_NET = 48 };

/* Instructions, named as in the kernel's documentation of the instruction set. */
#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOV_REG(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ALU_IMM(op, d, i) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU_REG(op, d, s) INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LOAD(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STORE(size, d, s, o) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define STORE_IMM(size, d, o, i) INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define JUMP_IMM(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JUMP_REG(op, d, s, o) INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define CALL(helper) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LOAD_MAP(d, fd) INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define LOAD_64(d, v) \
	INSN(BPF_LD | BPF_DW | BPF_IMM, d, 0, 0, (int32_t)(uint32_t)(v)), \
	INSN(0, 0, 0, 0, (int32_t)(uint32_t)((uint64_t)(v) >> 32))
/* Writes the record on the program's stack into the ring. */
#define RECORD (-(int)sizeof(struct port_event)) /* from r10 */
#define OUTPUT(map) \
	LOAD_MAP(BPF_REG_1, map), MOV_REG(BPF_REG_2, BPF_REG_10), ALU_IMM(BPF_ADD, BPF_REG_2, RECORD), \
	MOV_IMM(BPF_REG_3, sizeof(struct port_event)), MOV_IMM(BPF_REG_4, 0), CALL(BPF_FUNC_ringbuf_output)
enum { OUTPUT_LEN = 7 };

static int sys_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int load(enum bpf_prog_type type, enum bpf_attach_type attach, const struct bpf_insn *insn, size_t count,
		struct err *e)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.expected_attach_type = attach;
	attr.insns = (uintptr_t)insn;
	attr.insn_cnt = (uint32_t)count;
	attr.license = (uintptr_t) "GPL"; /* the kernel asks it of programs on tracepoints */
	fd = sys_bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		err_errno(e, "load a BPF program");
	return fd;
}

/* Runs in bind() and close() of every socket: UDP of our namespace → a record. Returns 1, "allowed", always. */
static int load_cgroup(enum bpf_attach_type attach, uint8_t kind, int map, uint64_t cookie, struct err *e)
{
	const struct bpf_insn port = LOAD(BPF_W, BPF_REG_7, BPF_REG_6, offsetof(struct bpf_sock, src_port));
	const struct bpf_insn no_port = MOV_IMM(BPF_REG_7, 0); /* it may not be read in a release */
	const struct bpf_insn prog[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		LOAD(BPF_W, BPF_REG_0, BPF_REG_6, offsetof(struct bpf_sock, protocol)),
		JUMP_IMM(BPF_JNE, BPF_REG_0, IPPROTO_UDP, 10 + OUTPUT_LEN),
		CALL(BPF_FUNC_get_netns_cookie),
		LOAD_64(BPF_REG_1, cookie),
		JUMP_REG(BPF_JNE, BPF_REG_0, BPF_REG_1, 6 + OUTPUT_LEN),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		CALL(BPF_FUNC_get_socket_cookie),
		kind == PORT_EVENT_BIND ? port : no_port,
		STORE_IMM(BPF_DW, BPF_REG_10, RECORD, kind),
		STORE(BPF_H, BPF_REG_10, BPF_REG_7, RECORD + (int)offsetof(struct port_event, port)),
		STORE(BPF_DW, BPF_REG_10, BPF_REG_0, RECORD + (int)offsetof(struct port_event, id)),
		OUTPUT(map),
		MOV_IMM(BPF_REG_0, 1),
		EXIT(),
	};

	return load(BPF_PROG_TYPE_CGROUP_SOCK, attach, prog, sizeof(prog) / sizeof(prog[0]), e);
}

/* Runs before each bind(): marks the UDP port of our namespace that was asked for by its number. Returns 1, "allowed". */
static int load_bind(enum bpf_attach_type attach, int map, uint64_t cookie, struct err *e)
{
	const struct bpf_insn prog[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		LOAD(BPF_W, BPF_REG_0, BPF_REG_6, offsetof(struct bpf_sock_addr, protocol)),
		JUMP_IMM(BPF_JNE, BPF_REG_0, IPPROTO_UDP, 16),
		LOAD(BPF_W, BPF_REG_7, BPF_REG_6, offsetof(struct bpf_sock_addr, user_port)),
		JUMP_IMM(BPF_JEQ, BPF_REG_7, 0, 14),
		CALL(BPF_FUNC_get_netns_cookie),
		LOAD_64(BPF_REG_1, cookie),
		JUMP_REG(BPF_JNE, BPF_REG_0, BPF_REG_1, 10),
		STORE_IMM(BPF_DW, BPF_REG_10, -8, 0),
		LOAD_MAP(BPF_REG_1, map),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ALU_IMM(BPF_ADD, BPF_REG_2, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		JUMP_IMM(BPF_JEQ, BPF_REG_0, 0, 3),
		ALU_IMM(BPF_AND, BPF_REG_7, ASKED_BYTES - 1),
		ALU_REG(BPF_ADD, BPF_REG_0, BPF_REG_7),
		STORE_IMM(BPF_B, BPF_REG_0, 0, 1),
		MOV_IMM(BPF_REG_0, 1),
		EXIT(),
	};

	return load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, attach, prog, sizeof(prog) / sizeof(prog[0]), e);
}

/* Runs at every change of a TCP state: entering LISTEN, or LISTEN → CLOSE (an accept leaves LISTEN too, for SYN_RECV).
 * net: only sockets of this namespace (see own_net()), 0 = all. */
static int load_tracepoint(int map, uint64_t net, struct err *e)
{
	const struct bpf_insn prog[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		LOAD(BPF_H, BPF_REG_0, BPF_REG_6, TP_PROTOCOL),
		JUMP_IMM(BPF_JNE, BPF_REG_0, IPPROTO_TCP, 22 + OUTPUT_LEN),
		LOAD(BPF_W, BPF_REG_2, BPF_REG_6, TP_OLD_STATE),
		LOAD(BPF_W, BPF_REG_3, BPF_REG_6, TP_NEW_STATE),
		MOV_IMM(BPF_REG_7, PORT_EVENT_LISTEN),
		JUMP_IMM(BPF_JEQ, BPF_REG_3, STATE_LISTEN, 3),
		JUMP_IMM(BPF_JNE, BPF_REG_2, STATE_LISTEN, 17 + OUTPUT_LEN),
		JUMP_IMM(BPF_JNE, BPF_REG_3, STATE_CLOSE, 16 + OUTPUT_LEN),
		MOV_IMM(BPF_REG_7, PORT_EVENT_CLOSE),
		STORE_IMM(BPF_DW, BPF_REG_10, RECORD, 0),
		STORE(BPF_B, BPF_REG_10, BPF_REG_7, RECORD),
		LOAD(BPF_H, BPF_REG_4, BPF_REG_6, TP_SPORT),
		STORE(BPF_H, BPF_REG_10, BPF_REG_4, RECORD + (int)offsetof(struct port_event, port)),
		/* The socket's namespace, read into the record. */
		LOAD(BPF_DW, BPF_REG_3, BPF_REG_6, TP_SOCK),
		ALU_IMM(BPF_ADD, BPF_REG_3, SOCK_NET),
		MOV_REG(BPF_REG_1, BPF_REG_10),
		ALU_IMM(BPF_ADD, BPF_REG_1, RECORD + (int)offsetof(struct port_event, id)),
		MOV_IMM(BPF_REG_2, sizeof(uint64_t)),
		CALL(BPF_FUNC_probe_read_kernel),
		LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, RECORD + (int)offsetof(struct port_event, id)),
		LOAD_64(BPF_REG_2, net),
		JUMP_IMM(BPF_JEQ, BPF_REG_2, 0, 1),
		JUMP_REG(BPF_JNE, BPF_REG_1, BPF_REG_2, OUTPUT_LEN),
		OUTPUT(map),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};

	return load(BPF_PROG_TYPE_TRACEPOINT, 0, prog, sizeof(prog) / sizeof(prog[0]), e);
}

/* A file system's root as a descriptor, mounted nowhere. */
static int detached_mount(const char *type, struct err *e)
{
	auto_close int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return err_errno(e, "open the file system %s", type);
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ||
	    (fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0)) < 0)
		return err_errno(e, "mount the file system %s", type);
	return fd;
}

static int attach_cgroup(struct port_events *p, struct err *e)
{
	static const struct {
		enum bpf_attach_type attach;
		uint8_t kind; /* of the record, 0: load_bind() */
	} hook[] = {
		{ BPF_CGROUP_INET4_BIND, 0 },
		{ BPF_CGROUP_INET6_BIND, 0 },
		{ BPF_CGROUP_INET4_POST_BIND, PORT_EVENT_BIND },
		{ BPF_CGROUP_INET6_POST_BIND, PORT_EVENT_BIND },
		{ BPF_CGROUP_INET_SOCK_RELEASE, PORT_EVENT_RELEASE },
	};
	auto_close int root = detached_mount("cgroup2", e);
	auto_close int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	if (root < 0)
		return -1;
	if (getsockopt(probe, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0)
		return err_errno(e, "network namespace cookie");
	for (size_t i = 0; i < sizeof(hook) / sizeof(hook[0]); i++) {
		auto_close int prog = hook[i].kind ? load_cgroup(hook[i].attach, hook[i].kind, p->map, cookie, e) :
						     load_bind(hook[i].attach, p->asked_map, cookie, e);
		union bpf_attr attr;

		if (prog < 0)
			return -1;
		memset(&attr, 0, sizeof(attr));
		attr.link_create.prog_fd = (uint32_t)prog;
		attr.link_create.target_fd = (uint32_t)root;
		attr.link_create.attach_type = hook[i].attach;
		p->link[i] = sys_bpf(BPF_LINK_CREATE, &attr);
		if (p->link[i] < 0)
			return err_errno(e, "attach to the root cgroup");
	}
	return 0;
}

static int tracepoint_id(uint64_t *id, struct err *e)
{
	auto_close int fs = detached_mount("tracefs", e);
	auto_close int fd = -1;
	char text[32] = "";

	if (fs < 0)
		return -1;
	fd = openat(fs, "events/sock/inet_sock_set_state/id", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_full(fd, text, sizeof(text) - 1) <= 0)
		return err_errno(e, "tracepoint inet_sock_set_state");
	*id = strtoull(text, NULL, 10);
	return 0;
}

static int attach_tracepoint(struct port_events *p, uint64_t net, struct err *e)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	auto_close int prog = load_tracepoint(p->map, net, e);
	auto_close int fd = -1;
	uint64_t id = 0;

	if (prog < 0 || tracepoint_id(&id, e) < 0)
		return -1;
	attr.config = id;
	/* One CPU is named, but a program on a tracepoint runs on whichever CPU passes it. */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open the tracepoint");
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return err_errno(e, "attach to the tracepoint");
	cleanup_closep(&p->link[LINKS - 1]);
	p->link[LINKS - 1] = steal_fd(&fd);
	return 0;
}

/* The namespace that the event of a listener of ours names, 0 when none came. */
static uint64_t net_of_listener(struct port_events *p, int family)
{
	auto_close int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 sa = { 0 };
	socklen_t len = sizeof(sa);
	struct port_event ev;
	uint64_t net = 0;

	/* The address is all zero in both families; the event comes before listen() returns. */
	sa.sin6_family = (sa_family_t)family;
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return 0;
	while (port_events_next(p, &ev)) {
		if (ev.kind == PORT_EVENT_LISTEN && ev.port == ntohs(sa.sin6_port))
			net = ev.id;
	}
	return net;
}

/* How this kernel names our namespace in an event, 0 when that cannot be told: then the listeners of all namespaces
 * cause events. A wrong SOCK_NET would name different things for sockets of two families. */
static uint64_t own_net(struct port_events *p)
{
	uint64_t four = net_of_listener(p, AF_INET), six = net_of_listener(p, AF_INET6);

	return four == six ? four : 0;
}

static int make_ring(struct port_events *p, struct err *e)
{
	union bpf_attr attr;
	void *at;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_RINGBUF;
	attr.max_entries = RING_BYTES;
	p->map = sys_bpf(BPF_MAP_CREATE, &attr);
	if (p->map < 0)
		return err_errno(e, "BPF ring buffer");
	at = mmap(NULL, p->page, PROT_READ | PROT_WRITE, MAP_SHARED, p->map, 0);
	if (at == MAP_FAILED)
		return err_errno(e, "map the ring buffer");
	p->consumer = at;
	at = mmap(NULL, p->page + 2 * RING_BYTES, PROT_READ, MAP_SHARED, p->map, (off_t)p->page);
	if (at == MAP_FAILED)
		return err_errno(e, "map the ring buffer");
	p->shared = at;
	return 0;
}

static int make_asked(struct port_events *p, struct err *e)
{
	union bpf_attr attr;
	void *at;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = ASKED_BYTES;
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE;
	p->asked_map = sys_bpf(BPF_MAP_CREATE, &attr);
	if (p->asked_map < 0)
		return err_errno(e, "BPF array");
	at = mmap(NULL, ASKED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->asked_map, 0);
	if (at == MAP_FAILED)
		return err_errno(e, "map the array");
	p->asked = at;
	return 0;
}

struct port_events *port_events_open(struct err *e)
{
	struct port_events *p = calloc(1, sizeof(*p));

	if (!p) {
		err_set(e, ERR_SYS, "out of memory");
		return NULL;
	}
	p->map = p->asked_map = -1;
	for (size_t i = 0; i < LINKS; i++)
		p->link[i] = -1;
	p->page = (size_t)sysconf(_SC_PAGESIZE);
	if (make_ring(p, e) < 0 || make_asked(p, e) < 0 || attach_cgroup(p, e) < 0 || attach_tracepoint(p, 0, e) < 0 ||
	    attach_tracepoint(p, own_net(p), e) < 0) {
		port_events_close(p);
		return NULL;
	}
	return p;
}

void port_events_close(struct port_events *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < LINKS; i++)
		cleanup_closep(&p->link[i]);
	if (p->consumer)
		munmap(p->consumer, p->page);
	if (p->asked)
		munmap(p->asked, ASKED_BYTES);
	cleanup_closep(&p->asked_map);
	if (p->shared)
		munmap((void *)(uintptr_t)p->shared, p->page + 2 * RING_BYTES);
	cleanup_closep(&p->map);
	free(p);
}

int port_events_fd(const struct port_events *p)
{
	return p->map;
}

static unsigned long produced(const struct port_events *p)
{
	return __atomic_load_n((const unsigned long *)(const void *)p->shared, __ATOMIC_ACQUIRE);
}

bool port_events_pending(const struct port_events *p)
{
	return produced(p) != *p->consumer;
}

/* A record is a 32-bit length with two flag bits, 32 bits of the kernel's, and the data, in units of 8 bytes. One that is
 * still being written ends the walk: the kernel wakes us again when it is complete. */
bool port_events_next(struct port_events *p, struct port_event *ev)
{
	unsigned long at = *p->consumer;

	while (at != produced(p)) {
		const unsigned char *rec = p->shared + p->page + (at & (RING_BYTES - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)(const void *)rec, __ATOMIC_ACQUIRE);
		uint32_t len = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (head & BPF_RINGBUF_BUSY_BIT)
			return false;
		at += (BPF_RINGBUF_HDR_SZ + len + 7) & ~7UL;
		if (!(head & BPF_RINGBUF_DISCARD_BIT) && len == sizeof(*ev))
			memcpy(ev, rec + BPF_RINGBUF_HDR_SZ, sizeof(*ev));
		else
			memset(ev, 0, sizeof(*ev));
		__atomic_store_n(p->consumer, at, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

bool port_events_asked(const struct port_events *p, uint16_t port)
{
	return __atomic_load_n(&p->asked[htons(port)], __ATOMIC_ACQUIRE);
}

void port_events_ask(struct port_events *p, uint16_t port)
{
	__atomic_store_n(&p->asked[htons(port)], 1, __ATOMIC_RELEASE);
}
