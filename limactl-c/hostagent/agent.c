#include "limactl-c/hostagent/agent.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/api.h"
#include "limactl-c/hostagent/life.h"
#include "limactl-c/hostagent/logs.h"
#include "limactl-c/store/paths.h"

enum { LOGS_EVERY_MS = 500 }; /* between two looks at the size of the logs, while something happens */

/* --- what the guest agent says --- */

static int on_connect(void *ctx, struct err *e)
{
	struct ha *ha = ctx;

	return ha->plan->ssh_key ? agentless_carrier(&ha->agentless, ha->plan, ha->spawner, e) : vmctl_carrier(ha->vm, e);
}

static int on_memory(void *ctx)
{
	struct ha *ha = ctx;

	return ha->plan->ssh_key ? -1 : vmctl_memory(ha->vm);
}

static void on_up(void *ctx, bool resumed)
{
	struct ha *ha = ctx;

	log_info("the guest%s answers%s", ha->plan->ssh_key ? "'s SSH server" : " agent", resumed ? " again" : "");
	guest_send_time(ha->guest); /* the queue is empty: nothing was sent over this link yet */
	if (!ha->agent_known)
		ha->answered = clock_ms();
	ha->agent_known = true;
	ha->resets = 0;
	if (!resumed) {
		troubles_forget(ha->troubles);
		sockets_tell(ha->sockets, ha->guest);
		resolve_agent(ha->resolve);
		file_events_agent(ha->file_events);
	}
	suspend_linked(ha);
	harvester_answered(ha->harvester);
	ready_agent(ha->ready, resumed);
	sshfs_up(ha->sshfs, resumed); /* whatever changes by that counts for what was begun anew above */
}

static void on_down(void *ctx)
{
	(void)ctx;
	log_debug("no link to the guest agent");
}

static int message_info(struct ha *ha, const uint8_t *body, size_t len)
{
	return ap_info_unpack(&ha->agent, body, len);
}

static int message_ports(struct ha *ha, const uint8_t *body, size_t len)
{
	if (ha->state == HA_STOPPING)
		return 0;
	sockets_retry(ha->sockets);
	return publish_message(ha->publish, body, len);
}

static int message_provision(struct ha *ha, const uint8_t *body, size_t len)
{
	if (ha->state != HA_STOPPING)
		edits_message(ha->edits, body, len);
	return ready_provision(ha->ready, body, len);
}

static int message_trouble(struct ha *ha, const uint8_t *body, size_t len)
{
	if (troubles_message(ha->troubles, body, len) < 0)
		return -1;
	ready_trouble(ha->ready, troubles_of_guest(ha->troubles));
	return 0;
}

static int message_boot(struct ha *ha, const uint8_t *body, size_t len)
{
	struct ap_boot v;

	if (ap_boot_unpack(&v, body, len) == 0 && v.phase == AP_BOOT_DONE)
		sshfs_provisioned(ha->sshfs);
	return ready_boot(ha->ready, body, len);
}

static int message_clock(struct ha *ha, const uint8_t *body, size_t len)
{
	return guest_answer_clock(ha->guest, body, len);
}

static int message_mounted(struct ha *ha, const uint8_t *body, size_t len)
{
	return sshfs_message(ha->sshfs, body, len);
}

static int message_suspend(struct ha *ha, const uint8_t *body, size_t len)
{
	return suspend_message(ha, body, len);
}

static int message_host_keys(struct ha *ha, const uint8_t *body, size_t len)
{
	return ssh_message(ha->ssh, body, len);
}

static const struct {
	unsigned type;
	int (*fn)(struct ha *ha, const uint8_t *body, size_t len);
} messages[] = {
	{ AP_MSG_INFO, message_info },
	{ AP_MSG_PORTS, message_ports },
	{ AP_MSG_PROVISION, message_provision },
	{ AP_MSG_BOOT, message_boot },
	{ AP_MSG_TROUBLE, message_trouble },
	{ AP_MSG_CLOCK, message_clock },
	{ AP_MSG_HOST_KEYS, message_host_keys },
	{ AP_MSG_MOUNTED, message_mounted },
	{ AP_MSG_SUSPEND, message_suspend },
};

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		if (messages[i].type == type)
			return messages[i].fn(ctx, body, len);
	}
	return 0; /* of a newer guest agent */
}

static void on_open(void *ctx, struct mux_stream *m, const uint8_t *request, size_t len)
{
	struct ha *ha = ctx;

	sockets_open(ha->sockets, m, request, len);
}

static const struct guest_ops guest_ops = {
	.connect = on_connect,
	.memory = on_memory,
	.up = on_up,
	.down = on_down,
	.message = on_message,
	.open = on_open,
};

/* --- for the control socket --- */

struct jx *ha_info(const struct ha *ha)
{
	struct jx *o = jx_new_object();

	jx_set_int(o, "sshLocalPort", ha->plan->ssh_port);
	if (ha->names)
		jx_set_int(o, "dnsLocalPort", ha->plan->dns_port);
	return o;
}

static struct jx *agent_json(const struct ha *ha)
{
	struct jx *o = jx_new_object();

	jx_set_bool(o, "connected", guest_is_up(ha->guest));
	if (!ha->agent_known)
		return o;
	jx_set_int(o, "pid", ha->agent.pid);
	jx_set_string(o, "version", ha->agent.version);
	jx_set_string(o, "hostname", ha->agent.hostname);
	jx_set_string(o, "kernel", ha->agent.kernel);
	jx_set_string(o, "portEvents", ha->agent.port_events);
	jx_set_int(o, "answeredAfterMs", ha->answered - ha->begun);
	return o;
}

struct jx *ha_errors(const struct ha *ha)
{
	struct jx *list = jx_copy(ha->errors);

	troubles_list(ha->troubles, list);
	return list;
}

static struct jx *forwards(const struct ha *ha, bool counted)
{
	struct jx *list = publish_json(ha->publish, counted);

	sockets_json(ha->sockets, list, counted);
	return list;
}

struct jx *ha_forwards(const struct ha *ha)
{
	struct jx *o = jx_new_object();

	jx_set(o, "forwards", forwards(ha, true));
	return o;
}

struct jx *ha_status(const struct ha *ha)
{
	struct jx *o = jx_new_object(), *waiting = jx_new_array(), *errors = ha_errors(ha);

	if (ha->state == HA_STARTING)
		ready_waiting(ha->ready, waiting);
	jx_set_string(o, "state", life_word(ha->state));
	jx_set_int(o, "vmPid", vmctl_pid(ha->vm));
	jx_set_bool(o, "degraded", jx_count(errors) > 0);
	jx_set(o, "errors", errors);
	jx_set(o, "waiting", waiting);
	jx_set(o, "ports", forwards(ha, false));
	if (ha->names)
		jx_set(o, "names", names_json(ha->names));
	if (ha->plan->dns_address)
		jx_set(o, "resolver", resolve_json(ha->resolve));
	if (ha->plan->ssh_port)
		jx_set(o, "ssh", ssh_json(ha->ssh));
	jx_set_int(o, "connections", (int64_t)conns_count(ha->conns));
	jx_set(o, "agent", agent_json(ha));
	jx_set(o, "idle", idle_json(ha->idle));
	return o;
}

void ha_subscribe(struct ha *ha, int fd)
{
	events_subscribe(ha->events, fd);
}

const char *ha_exec_refusal(const struct ha *ha, int *status)
{
	*status = 409;
	if (ha->state == HA_STOPPING)
		return "the instance is stopping";
	*status = 503;
	return ha->agent_known ? NULL : "the guest agent has not answered yet";
}

void ha_exec(struct ha *ha, int fd, const void *early, size_t early_len)
{
	struct ap_open o = { .kind = AP_OPEN_EXEC };
	uint8_t request[64];
	ssize_t n = ap_open_pack(&o, request, sizeof(request));

	if (n < 0)
		abort(); /* it is of one fixed size */
	conn_start(ha->conns, NULL, fd, CONN_JOB, request, (size_t)n, early, early_len);
}

int ha_tunnel(struct ha *ha, uint16_t port, struct err *e)
{
	if (ha->plan->ssh_key)
		return err_set(e, ERR_STATE, "the guest has no agent of ours, which SOCKS needs: ssh -F %s/ssh.config -N -D %u %s does it",
			       ha->plan->dir, port ? port : 1080, ha->plan->hostname);
	return tunnel_open(ha->tunnels, port, e);
}

/* --- the whole --- */

static void before_wait(void *ctx)
{
	static int64_t looked;
	struct ha *ha = ctx;

	idle_look(ha->idle);
	/* Who comes while the machine sleeps, goes to sleep or has just been loaded, waits. */
	guest_hurry(ha->guest, ha->state == HA_RUNNING && ha->op == VMCTL_NONE && !ha->suspend.untold);
	recall_state(ha->recall, ha->state == HA_RUNNING && ha->op == VMCTL_NONE,
		     (ha->state == HA_PAUSED || ha->state == HA_SAVED) && ha->op == VMCTL_NONE);
	guest_flush(ha->guest);
	if (clock_ms() - looked >= LOGS_EVERY_MS) {
		looked = clock_ms();
		auto_free char *out = path_in(ha->plan->dir, PATH_HA_STDOUT);
		auto_free char *err = path_in(ha->plan->dir, PATH_HA_STDERR);

		logs_check(STDOUT_FILENO, out);
		logs_check(STDERR_FILENO, err);
	}
}

static int open_sockets(struct ha *ha, struct err *e)
{
	auto_free char *path = path_in(ha->plan->dir, PATH_HA_SOCK);

	ha->api = api_new(ha->loop, ha, path, e);
	if (!ha->api)
		return -1;
	ha->sockets = sockets_new(ha->loop, ha->conns, ha->events, ha->plan, e);
	return ha->sockets ? 0 : -1;
}

static bool guest_is_awake(void *ctx)
{
	const struct ha *ha = ctx;

	return ha->state == HA_STARTING || ha->state == HA_RUNNING;
}

/* "rm -rf" of the folder: nobody could reach the machine any more, and what we remove at the end might be another's. */
static void on_lock_changed(void *ctx)
{
	struct ha *ha = ctx;
	struct stat st;

	if (ha->ended || fstat(ha->lock, &st) < 0 || st.st_nlink)
		return;
	log_error("the instance's folder was removed: the machine is killed");
	life_stop(ha, true);
}

static int set_up(struct ha *ha, struct err *e)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGHUP };
	auto_free char *lock = path_in(ha->plan->dir, PATH_HA_LOCK);

	ha->guest = guest_new(ha->loop, &guest_ops, ha, e);
	if (!ha->guest)
		return -1;
	suspend_init(ha);
	ha->conns = conns_new(ha->loop, ha->guest);
	if (plan_docker_socket(ha->plan))
		ha->recall = recall_new(ha->loop, ha->guest, plan_docker_socket(ha->plan));
	conns_recall(ha->conns, ha->recall);
	ha->tunnels = tunnels_new(ha->loop, ha->conns);
	ha->publish = publish_new(ha->loop, ha->guest, ha->conns, ha->events, ha->plan, e);
	if (!ha->publish)
		return -1;
	ha->ssh = ssh_new(ha->loop, ha->conns, ha->plan);
	ha->edits = edits_new(ha->loop, ha->guest, ha->plan);
	ha->harvester = harvester_new(ha->guest, ha->plan);
	ha->resolve = resolve_new(ha->loop, ha->guest, ha->spawner, ha->plan);
	ha->file_events = file_events_new(ha->loop, ha->guest, ha->spawner, ha->plan, ha->troubles);
	ha->sshfs = sshfs_new(&(struct sshfs_world){ ha->loop, ha->guest, ha->conns, ha->spawner, ha->troubles, ha->plan,
						     life_ready, ha });
	ha->ready = ready_new(ha->loop, ha->guest, ha->plan, life_ready, ha);
	ready_mounts(ha->ready, ha->sshfs);
	ha->vm = vmctl_new(ha->loop, ha->driver, ha->plan, ha->spawner, life_event, ha, e);
	if (!ha->vm || open_sockets(ha, e) < 0)
		return -1;
	ha->names = names_new(ha->loop, ha->guest, ha->publish, ha->plan, guest_is_awake, ha);
	ha->idle = idle_new(ha);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		loop_on_signal(ha->loop, ends[i], life_signal, ha);
	loop_before_wait(ha->loop, before_wait, ha);
	ha->lock_change = change_new(ha->loop, lock, on_lock_changed, ha);
	ha->clock = hostclock_new(ha->loop, life_tell_time, ha);
	return 0;
}

struct ha *ha_new(const struct plan *plan, const struct vm_driver *driver, struct spawner *spawner, int lock,
		  int ready_fd)
{
	struct ha *ha = xcalloc(1, sizeof(*ha));

	signal(SIGPIPE, SIG_IGN);
	ha->plan = plan;
	ha->driver = driver;
	ha->spawner = spawner;
	ha->lock = lock;
	ha->loop = loop_new();
	ha->events = events_new(ha->loop, ready_fd, plan->ssh_port);
	ha->errors = jx_new_array();
	ha->troubles = troubles_new();
	return ha;
}

int ha_begin(struct ha *ha)
{
	auto_free char *pid_file = path_in(ha->plan->dir, PATH_HA_PID);
	struct err e = { 0 };

	ha->begun = clock_ms();
	if (set_up(ha, &e) == 0) {
		life_begin(ha);
		return ha->ended ? -1 : 0;
	}
	unlink(pid_file);
	log_error("%s", e.msg);
	jx_add_string(ha->errors, e.msg);
	events_exiting(ha->events, ha->errors);
	ha->exit_code = 1;
	return -1;
}

int ha_run(struct ha *ha)
{
	if (ha_begin(ha) == 0)
		loop_run(ha->loop);
	return ha->exit_code;
}

void ha_free(struct ha *ha)
{
	sockets_free(ha->sockets);
	api_free(ha->api);
	ready_free(ha->ready);
	edits_free(ha->edits);
	harvester_free(ha->harvester);
	names_free(ha->names);
	idle_free(ha->idle);
	resolve_free(ha->resolve);
	file_events_free(ha->file_events);
	sshfs_free(ha->sshfs);
	publish_free(ha->publish);
	tunnels_free(ha->tunnels);
	ssh_free(ha->ssh);
	conns_free(ha->conns);
	recall_free(ha->recall);
	guest_free(ha->guest);
	vmctl_free(ha->vm);
	events_free(ha->events);
	deadline_free(ha->end_deadline);
	suspend_fini(ha);
	change_free(ha->lock_change);
	hostclock_free(ha->clock);
	loop_free(ha->loop);
	jx_free(ha->errors);
	troubles_free(ha->troubles);
	free(ha->snapshot.tag);
	if (ha->lock >= 0)
		close(ha->lock);
	free(ha);
}
