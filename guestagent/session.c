#include "guestagent/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guestagent/dns.h"
#include "guestagent/exec.h"
#include "guestagent/file_events.h"
#include "guestagent/host_keys.h"
#include "guestagent/provision.h"
#include "guestagent/relay.h"
#include "guestagent/relay_udp.h"
#include "guestagent/reverse.h"
#include "guestagent/service.h"
#include "guestagent/socks.h"
#include "guestagent/sshfs.h"
#include "guestagent/suspend.h"
#include "guestagent/trouble.h"
#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"

void ga_stream_attach(struct ga_stream *s, struct ga *ga, struct mux_stream *m, const struct ga_stream_ops *ops)
{
	s->ops = ops;
	s->ga = ga;
	s->mux = m;
	mux_stream_set(m, s);
}

void ga_stream_release(struct ga_stream *s)
{
	struct mux_stream *m = s->mux;

	s->mux = NULL;
	mux_stream_set(m, NULL);
	mux_drain(m); /* unread, it would hold the peer back for ever */
	mux_finish(m);
}

void ga_stream_reset(struct ga_stream *s, enum mux_reset_code code)
{
	struct mux_stream *m = s->mux;

	s->mux = NULL;
	mux_abort(m, code);
}

/* --- ports --- */

enum { PORTS_LOST_MS = 1000 };

/* When to look: always where the kernel does not tell, soon after something was noticed, and again for a moment while its
 * effect is not to be seen yet, or while a host that does not listen has no room for what it should be told. */
static void arm_ports_timer(struct ga *ga)
{
	int ms = ports_interval(ga->ports);

	if (ms < 0 && ga->ports_lost)
		ms = PORTS_LOST_MS;
	if (ms >= 0)
		ga_timer_set(&ga->loop, &ga->ports_timer, ms);
	else
		ga_timer_stop(&ga->loop, &ga->ports_timer);
}

/* Whether an SSH server has begun to listen. */
static bool has_ssh(const struct ap_ports *v)
{
	for (size_t i = 0; i < v->count; i++) {
		if (v->change[i].listening && v->change[i].port.proto == AP_TCP && v->change[i].port.port == SSH_PORT)
			return true;
	}
	return false;
}

static void tell_changes(struct ga *ga)
{
	static struct ap_ports msg; /* large, and only one at a time */
	static uint8_t body[MUX_MESSAGE_MAX];
	struct err e;
	int left;

	if (ga->ports_lost) {
		ga->ports_lost = false;
		ports_forget(ga->ports);
	}
	do {
		ssize_t n;

		left = ports_scan(ga->ports, &msg, &e);
		if (left < 0) {
			log_error("ports: %s", e.msg);
			return;
		}
		/* Before the first hello nobody wants to know; a snapshot follows that. */
		if ((!msg.count && !msg.snapshot) || !mux_peer_epoch(ga->mux))
			continue;
		if (has_ssh(&msg))
			ga_host_keys_tell(ga);
		n = ap_ports_pack(&msg, body, sizeof(body));
		if (n < 0 || mux_send(ga->mux, AP_MSG_PORTS, body, (size_t)n) < 0)
			ga->ports_lost = true;
	} while (left > 0);
}

static void scan_ports(struct ga *ga)
{
	tell_changes(ga);
	arm_ports_timer(ga);
}

void ga_before_data(struct ga *ga)
{
	if (ga->ports && ports_pending(ga->ports))
		scan_ports(ga);
}

static void on_ports(struct ga_watch *w, uint32_t events)
{
	struct ga *ga = ga_of(w, struct ga, ports_watch);

	(void)events;
	if (ports_interval(ga->ports) == 0)
		scan_ports(ga);
	else
		arm_ports_timer(ga);
}

static void on_ports_timer(struct ga_timer *t)
{
	scan_ports(ga_of(t, struct ga, ports_timer));
}

static void watch_ports(struct ga *ga)
{
	ga->ports_watch = (struct ga_watch){ ports_fd(ga->ports), on_ports };
	if (ga->ports_watch.fd >= 0 && ga_loop_add(&ga->loop, &ga->ports_watch, EPOLLIN) < 0)
		log_error("ports: their descriptor cannot be watched");
	ga->ports_timer.fn = on_ports_timer;
	arm_ports_timer(ga);
}

/* --- what the guest tells --- */

/* setup draws an id at every boot; where it does not run, the kernel's own does. */
static uint64_t boot_id(const char *run_dir)
{
	static const char kernel[] = "/proc/sys/kernel/random/boot_id";
	char path[300], hex[17] = "";
	size_t digits = 0;

	snprintf(path, sizeof(path), "%s/boot-id", run_dir);
	for (int i = 0; i < 2 && !digits; i++) {
		auto_buf text = BUF_INIT(100);
		struct err e;

		if (io_read_file(i ? kernel : path, &text, &e) < 0)
			continue;
		for (size_t k = 0; k < text.len && digits < 16; k++)
			if (strchr("0123456789abcdef", text.data[k]))
				hex[digits++] = text.data[k];
	}
	return strtoull(hex, NULL, 16);
}

static void send_info(struct ga *ga)
{
	struct ap_info info = { .pid = (uint32_t)getpid(), .boot_id = boot_id(ga->run_dir), .version = VERSION };
	uint8_t body[512];
	struct utsname u;
	ssize_t n;

	if (uname(&u) == 0) {
		snprintf(info.hostname, sizeof(info.hostname), "%s", u.nodename);
		snprintf(info.kernel, sizeof(info.kernel), "%s", u.release);
	}
	snprintf(info.port_events, sizeof(info.port_events), "%s", ga->ports ? ports_kind(ga->ports) : "");
	n = ap_info_pack(&info, body, sizeof(body));
	if (n < 0 || mux_send(ga->mux, AP_MSG_INFO, body, (size_t)n) < 0)
		log_error("the guest's description could not be sent");
}

/* The warning told is the first one behind that many bytes of them. */
static void send_boot(struct ga *ga, enum ap_boot_phase phase, size_t from)
{
	struct ap_boot boot = { .phase = (uint8_t)phase };
	auto_buf warnings = BUF_INIT(64 * 1024);
	char path[300];
	uint8_t body[512];
	struct err e;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/setup.warnings", ga->run_dir);
	if (io_read_file(path, &warnings, &e) == 0 && warnings.len > from) {
		snprintf(boot.detail, sizeof(boot.detail), "%s", warnings.data + from);
		boot.detail[strcspn(boot.detail, "\n")] = '\0';
	}
	n = ap_boot_pack(&boot, body, sizeof(body));
	if (n < 0 || mux_send(ga->mux, AP_MSG_BOOT, body, (size_t)n) < 0)
		log_error("the boot phase could not be sent");
}

void ga_send_warning(struct ga *ga, size_t from)
{
	if (mux_peer_epoch(ga->mux))
		send_boot(ga, ga_provision_done(ga->provision) ? AP_BOOT_DONE : AP_BOOT_PROVISIONING, from);
}

void ga_send_boot(struct ga *ga)
{
	ga_send_warning(ga, 0);
}

/* --- the channel's calls --- */

/* A port keeps the link of a host that left until the next one says hello. */
static void look_for_host(struct ga *ga)
{
	if (ga->dns)
		ga_dns_host(ga->dns, !ga->carrier.alone && mux_is_up(ga->mux));
}

static void on_alone(struct ga_carrier *c)
{
	look_for_host(ga_of(c, struct ga, carrier));
}

static void on_up(void *ctx, bool resumed)
{
	struct ga *ga = ctx;

	look_for_host(ga);
	if (resumed) {
		if (ga->ports && ga->ports_lost)
			scan_ports(ga);
		return;
	}
	if (ga->carrier.port)
		service_settled("daemon");
	send_info(ga);
	ga_host_keys_forget(ga);
	ga_host_keys_tell(ga);
	if (ga->ports) {
		ports_forget(ga->ports);
		scan_ports(ga);
	}
	ga_provision_send(ga->provision);
	ga_troubles_send(ga->troubles);
	ga_send_boot(ga);
}

static void on_down(void *ctx)
{
	look_for_host(ctx); /* streams and queued messages wait for the next carrier */
}

static int on_power_off(struct ga *ga, const uint8_t *body, size_t len)
{
	(void)body;
	if (len)
		return -1;
	if (ga->power_off)
		ga->power_off(ga);
	return 0;
}

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	static const struct {
		unsigned type;
		int (*fn)(struct ga *ga, const uint8_t *body, size_t len);
	} handlers[] = {
		{ AP_MSG_TIME, ga_clock_told },
		{ AP_MSG_CLOCK, ga_clock_answered },
		{ AP_MSG_POWER_OFF, on_power_off },
		{ AP_MSG_REVERSE, ga_reverse_message },
		{ AP_MSG_SUSPEND, ga_suspend_asked },
		{ AP_MSG_WOKEN, ga_suspend_over },
	};

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].type == type)
			return handlers[i].fn(ctx, body, len);
	return 0; /* of a newer host */
}

/* A port that only a packet filter rule publishes: its target is asked, as rules need not cover what we send ourselves. */
static void follow_rule(struct ga *ga, struct ap_open *o)
{
	uint8_t proto = o->kind == AP_OPEN_TCP ? AP_TCP : o->kind == AP_OPEN_UDP ? AP_UDP : 0;
	struct ap_port to;

	if (!proto || !ga->ports || !ports_by_rule(ga->ports, proto, o->port, &to))
		return;
	o->family = to.family;
	memcpy(o->addr, to.addr, sizeof(o->addr));
	o->port = to.port;
}

static void on_open(void *ctx, struct mux_stream *m, const uint8_t *request, size_t len)
{
	static void (*const openers[])(struct ga *ga, struct mux_stream *m, const struct ap_open *o) = {
		[AP_OPEN_TCP] = ga_relay_open,
		[AP_OPEN_UNIX] = ga_relay_open,
		[AP_OPEN_EXEC] = ga_exec_open,
		[AP_OPEN_UDP] = ga_relay_udp_open,
		[AP_OPEN_DNS] = ga_dns_open,
		[AP_OPEN_SOCKS] = ga_socks_open,
		[AP_OPEN_EVENTS] = ga_file_events_open,
		[AP_OPEN_SSHFS] = ga_sshfs_open,
	};
	struct ga *ga = ctx;
	struct ap_open o;

	mux_stream_set(m, NULL);
	if (ap_open_unpack(&o, request, len) < 0 || (size_t)o.kind >= sizeof(openers) / sizeof(openers[0]) ||
	    !openers[o.kind]) {
		mux_reset(m, MUX_RESET_PROTOCOL);
	} else {
		if (o.kind == AP_OPEN_TCP && o.port == SSH_PORT)
			ga_host_keys_tell(ga);
		follow_rule(ga, &o);
		if (ga->used)
			ga->used(ga);
		openers[o.kind](ga, m, &o);
	}
}

static void on_readable(void *ctx, struct mux_stream *m)
{
	struct ga_stream *s = mux_stream_get(m);

	(void)ctx;
	if (s)
		s->ops->readable(s);
	else
		mux_drain(m); /* unread, it would hold the peer back for ever */
}

static void on_writable(void *ctx, struct mux_stream *m)
{
	struct ga_stream *s = mux_stream_get(m);

	(void)ctx;
	if (s)
		s->ops->writable(s);
}

static void on_reset(void *ctx, struct mux_stream *m, enum mux_reset_code code)
{
	struct ga_stream *s = mux_stream_get(m);

	(void)ctx;
	(void)code;
	if (s) {
		s->mux = NULL;
		s->ops->gone(s);
	}
}

static void on_closed(void *ctx, struct mux_stream *m)
{
	/* Both ends are done, so ours was released before, or its owner is about to notice the end. */
	on_reset(ctx, m, MUX_RESET_ABORT);
}

static const struct mux_ops ops = {
	.up = on_up,
	.down = on_down,
	.message = on_message,
	.open = on_open,
	.readable = on_readable,
	.writable = on_writable,
	.reset = on_reset,
	.closed = on_closed,
};

static void before_sleep(void *ctx)
{
	ga_carrier_flush(&((struct ga *)ctx)->carrier);
}

int ga_session_start(struct ga *ga, const char *carrier, struct err *e)
{
	uint64_t epoch = 0;

	while (!epoch)
		if (getrandom(&epoch, sizeof(epoch), 0) < 0)
			return err_errno(e, "getrandom");
	ga->mux = mux_new(MUX_GUEST, epoch, &ops, ga);
	if (!ga->mux)
		return err_set(e, ERR_SYS, "out of memory");
	ga->carrier.alone_changed = on_alone;
	if (ga_carrier_open(&ga->carrier, &ga->loop, ga->mux, carrier, e) < 0)
		return -1;
	ga_clock_start(ga);
	ga->loop.before_sleep = before_sleep;
	ga->loop.ctx = ga;
	ga->ports_watch.fd = -1;
	ga->host_keys.max = MUX_MESSAGE_MAX;
	if (ga->ports)
		watch_ports(ga);
	return 0;
}

static void let_go(void *ctx, struct mux_stream *m)
{
	on_reset(ctx, m, MUX_RESET_ABORT);
	mux_reset(m, MUX_RESET_ABORT);
}

void ga_session_stop(struct ga *ga)
{
	if (ga->carrier.port && mux_peer_epoch(ga->mux))
		send_boot(ga, AP_BOOT_STOPPING, 0);
	ga_reverse_stop(ga);
	ga_sshfs_stop(ga);
	ga_suspend_stop(ga);
	mux_each(ga->mux, let_go, ga);
	ga_timer_stop(&ga->loop, &ga->ports_timer);
	ga_clock_stop(ga);
	ga_carrier_flush(&ga->carrier);
	ga_loop_del(&ga->loop, &ga->ports_watch);
	ga_carrier_close(&ga->carrier);
	ga_host_keys_forget(ga);
	mux_free(ga->mux);
	ga->mux = NULL;
}
