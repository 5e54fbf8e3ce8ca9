/* ha_stub.h - the whole host agent with a driver that does what the test says and a guest in the same process, asked
 * through its control socket. */
#ifndef TEST_HA_STUB_H
#define TEST_HA_STUB_H

#include "tests/unit/ha_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/hostagent/life.h"

/* --- a driver that does what the test says --- */

struct vm {
	enum vm_state state;
	struct vm_event queue[4];
	size_t queued;
};

static struct {
	struct vm vm;
	enum vm_state left;  /* adopt finds a machine in this state; VM_OFF: none */
	const char *fail;    /* the next operation fails with this */
	bool deaf;           /* the power button does nothing */
	bool saw_file;       /* the saved state was there when restore began */
	int starts, restores, kills;
	enum vmctl_op op;
} drv;

static struct peer p;
static struct ha *ha;
static char dir[40];
static struct plan plan;

static void queue(enum vm_event_type type, const char *why)
{
	struct vm_event *ev = &drv.vm.queue[drv.vm.queued++];

	*ev = (struct vm_event){ .type = type };
	if (why)
		err_set(&ev->error, ERR_STATE, "%s", why);
}

/* An operation that ends in state, or fails as the test asked for. */
static int operation(enum vm_state state)
{
	if (drv.fail) {
		queue(VM_EV_FAILED, drv.fail);
		drv.fail = NULL;
		return 0;
	}
	drv.vm.state = state;
	queue(VM_EV_DONE, NULL);
	return 0;
}

static void machine_goes(void)
{
	drv.vm.state = VM_OFF;
	peer_cut(&p);
}

static struct vm *stub_open(const struct plan *pl, struct spawner *sp, struct err *e)
{
	(void)pl;
	(void)sp;
	(void)e;
	return &drv.vm;
}

static void stub_release(struct vm *vm)
{
	(void)vm;
}

static void stub_close(struct vm *vm)
{
	(void)vm;
}

static int stub_start(struct vm *vm, struct err *e)
{
	(void)vm;
	(void)e;
	drv.starts++;
	return operation(VM_RUNNING);
}

static int stub_adopt(struct vm *vm, struct err *e)
{
	(void)vm;
	return drv.left == VM_OFF ? err_set(e, ERR_NOTFOUND, "no machine") : operation(drv.left);
}

static int stub_pause(struct vm *vm, struct err *e)
{
	(void)vm;
	(void)e;
	return operation(VM_PAUSED);
}

static int stub_resume(struct vm *vm, struct err *e)
{
	(void)vm;
	(void)e;
	return operation(VM_RUNNING);
}

static int stub_save(struct vm *vm, const char *path, struct err *e)
{
	(void)vm;
	if (drv.fail) {
		drv.vm.state = VM_PAUSED;
		return operation(VM_OFF);
	}
	if (fs_write_atomic(path, "memory", 6, 0600, e) < 0)
		return -1;
	machine_goes();
	return operation(VM_OFF);
}

static int stub_restore(struct vm *vm, const char *path, struct err *e)
{
	(void)vm;
	(void)e;
	drv.restores++;
	drv.saw_file = access(path, R_OK) == 0;
	if (!drv.fail)
		unlink(path);
	return operation(VM_RUNNING);
}

static int stub_powerdown(struct vm *vm, struct err *e)
{
	(void)vm;
	(void)e;
	if (drv.deaf)
		return 0;
	if (!drv.fail)
		machine_goes();
	return operation(VM_OFF);
}

static void stub_kill(struct vm *vm)
{
	(void)vm;
	drv.kills++;
	machine_goes();
	queue(VM_EV_EXITED, "killed");
}

static enum vm_state stub_state(const struct vm *vm)
{
	return vm->state;
}

static int stub_fd(const struct vm *vm)
{
	(void)vm;
	return -1;
}

static short stub_wants(const struct vm *vm)
{
	(void)vm;
	return 0;
}

static int64_t stub_deadline(const struct vm *vm)
{
	return vm->queued ? clock_ms() : -1;
}

static void stub_step(struct vm *vm, struct vm_event *ev)
{
	if (!vm->queued)
		return;
	*ev = vm->queue[0];
	memmove(vm->queue, vm->queue + 1, --vm->queued * sizeof(*vm->queue));
}

static void stub_child_exited(struct vm *vm, pid_t pid, int status)
{
	(void)vm;
	(void)pid;
	(void)status;
}

static int stub_carrier(struct vm *vm, struct err *e)
{
	(void)vm;
	return peer_connect(&p, e);
}

static pid_t stub_pid(const struct vm *vm)
{
	return vm->state == VM_OFF ? 0 : 4711;
}

static const struct vm_driver stub = {
	.name = "stub",
	.open = stub_open,
	.release = stub_release,
	.close = stub_close,
	.start = stub_start,
	.adopt = stub_adopt,
	.pause = stub_pause,
	.resume = stub_resume,
	.save = stub_save,
	.restore = stub_restore,
	.powerdown = stub_powerdown,
	.kill = stub_kill,
	.state = stub_state,
	.fd = stub_fd,
	.wants = stub_wants,
	.deadline = stub_deadline,
	.step = stub_step,
	.child_exited = stub_child_exited,
	.carrier = stub_carrier,
	.pid = stub_pid,
};

/* --- the guest --- */

static void say(unsigned type, const void *body, ssize_t len)
{
	assert_true(len > 0);
	assert_int_equal(mux_send(p.mux, type, body, (size_t)len), 0);
}

static void say_boot(enum ap_boot_phase phase)
{
	struct ap_boot b = { .phase = (uint8_t)phase };
	uint8_t out[400];

	say(AP_MSG_BOOT, out, ap_boot_pack(&b, out, sizeof(out)));
}

static inline void say_failed(unsigned index, int status, const char *tail)
{
	static struct ap_provision v;
	static uint8_t out[3000];

	v = (struct ap_provision){ .index = (uint16_t)index, .state = AP_PROVISION_FAILED, .status = status };
	snprintf(v.tail, sizeof(v.tail), "%s", tail);
	say(AP_MSG_PROVISION, out, ap_provision_pack(&v, out, sizeof(out)));
}

/* family 4: 0.0.0.0, 6: [::] */
static inline void say_port(unsigned family, unsigned port, bool listening, bool snapshot)
{
	static struct ap_ports m;
	static uint8_t out[100];

	memset(&m, 0, sizeof(m));
	m.snapshot = snapshot;
	m.count = 1;
	m.change[0].listening = listening;
	m.change[0].port = (struct ap_port){ .proto = AP_TCP, .family = (uint8_t)family, .port = (uint16_t)port };
	say(AP_MSG_PORTS, out, ap_ports_pack(&m, out, sizeof(out)));
}

static void guest_is_booted(struct peer *peer)
{
	struct ap_info info = { .pid = 77, .version = "1", .hostname = "lima-t" };
	uint8_t out[500];

	(void)peer;
	say(AP_MSG_INFO, out, ap_info_pack(&info, out, sizeof(out)));
	say_boot(AP_BOOT_DONE);
}

static inline void guest_boots(struct peer *peer)
{
	(void)peer;
	say_boot(AP_BOOT_SETUP);
}

/* --- the fixture --- */

static struct plan_port_rule all_ports = { .proto = PLAN_ANY,
					   .guest_ip = "127.0.0.1",
					   .host_ip = "127.0.0.1",
					   .guest_first = 1,
					   .guest_last = 65535,
					   .host_first = 1 };

static int begin(void **state)
{
	static char log_path[60];
	int out;

	(void)state;
	memset(&drv, 0, sizeof(drv));
	snprintf(dir, sizeof(dir), "/tmp/ha.XXXXXX");
	assert_non_null(mkdtemp(dir));
	plan = (struct plan){ .name = "t", .dir = dir, .driver = PLAN_FAKE, .arch = "x86_64", .rule = &all_ports,
			      .rules = 1, .hostname = "lima-t", .idle_when = "never", .message = "" };
	/* Event lines go to standard output, which must not be cmocka's. */
	snprintf(log_path, sizeof(log_path), "%s/ha.stdout.log", dir);
	out = open(log_path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	fflush(stdout);
	*state = (void *)(intptr_t)dup(STDOUT_FILENO);
	dup2(out, STDOUT_FILENO);
	close(out);
	log_init("test", STDERR_FILENO, LOG_TEXT, LOG_ERROR_ + 1);
	return 0;
}

static int end(void **state)
{
	struct err e = { 0 };

	if (ha) {
		peer_end_guest(&p);
		ha_free(ha);
	}
	ha = NULL;
	fflush(stdout);
	dup2((int)(intptr_t)*state, STDOUT_FILENO);
	close((int)(intptr_t)*state);
	return fs_remove_tree(dir, &e);
}

/* Spawner: the stub starts nothing, but the loop wants its descriptor. */
static struct spawner *spawner;

static int start_with(void (*on_up)(struct peer *p))
{
	ha = ha_new(&plan, &stub, spawner, -1, -1);
	peer_begin_guest(&p, ha->loop);
	p.on_up = on_up;
	return ha_begin(ha);
}

static bool is_running(struct peer *peer)
{
	(void)peer;
	return ha->state == HA_RUNNING && ha->op == VMCTL_NONE;
}

static inline void start(void)
{
	assert_int_equal(start_with(guest_is_booted), 0);
	peer_run(&p, is_running);
}

static inline bool has_ended(struct peer *peer)
{
	(void)peer;
	return ha->ended;
}

/* --- a client of the control socket --- */

static int client;

static bool client_ready(struct peer *peer)
{
	struct pollfd f = { .fd = client, .events = POLLIN };

	(void)peer;
	return ha->ended || poll(&f, 1, 0) == 1;
}

static void send_request(const char *text)
{
	char path[80];
	struct err e = { 0 };

	snprintf(path, sizeof(path), "%s/ha.sock", dir);
	client = sock_connect_unix(path, &e);
	assert_true(client >= 0);
	assert_int_equal(write(client, text, strlen(text)), strlen(text));
}

static inline const char *read_answer(void)
{
	static char buf[8192];
	size_t n = 0;
	ssize_t k;

	do {
		peer_run(&p, client_ready);
		k = read(client, buf + n, sizeof(buf) - 1 - n);
		n += k > 0 ? (size_t)k : 0;
	} while (k > 0);
	buf[n] = '\0';
	close(client);
	return buf;
}

static inline void expect(const char *method, const char *path, const char *body, const char *status, const char *text)
{
	char request[300];
	const char *answer;

	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", method, path,
		 strlen(body), body);
	send_request(request);
	answer = read_answer();
	if (strncmp(answer + 9, status, 3) || !strstr(answer, text))
		fail_msg("%s %s: expected %s with %s, got: %s", method, path, status, text, answer);
}

/* The event lines so far. */
static inline const char *events(void)
{
	static char buf[16384];
	char path[80];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/ha.stdout.log", dir);
	fd = open(path, O_RDONLY);
	n = io_read_full(fd, buf, sizeof(buf) - 1);
	assert_true(n >= 0);
	buf[n] = '\0';
	return buf;
}

static inline bool in_folder(const char *name)
{
	char path[80];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return lstat(path, &st) == 0;
}

static inline int connect_port(int family, unsigned port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = family == 4 ? connect(fd, (struct sockaddr *)&in, sizeof(in)) :
			      connect(fd, (struct sockaddr *)&in6, sizeof(in6));

	if (r < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline bool accepts(int family, unsigned port)
{
	int fd = connect_port(family, port);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A port that is free now. */
static inline unsigned free_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	struct err e = { 0 };
	int fd = sock_listen_tcp((struct sockaddr *)&in, sizeof(in), &e);

	assert_true(fd >= 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	close(fd);
	return ntohs(in.sin_port);
}

static int with_spawner(void **state)
{
	struct err e = { 0 };

	(void)state;
	spawner = spawner_new(&e);
	return spawner ? 0 : -1;
}

static int without_spawner(void **state)
{
	(void)state;
	spawner_free(spawner);
	return 0;
}

#endif
