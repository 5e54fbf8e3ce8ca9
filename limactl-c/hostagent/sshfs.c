#include "limactl-c/hostagent/sshfs.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/plan/nested.h"

enum { REST_MS = 1000 }; /* after a mount ended, until it is made again */

enum share_state {
	SHARE_OFF,      /* it could not be mounted */
	SHARE_WAITING,  /* to be started */
	SHARE_STARTING, /* its stream is open */
	SHARE_MOUNTED,
	SHARE_LOST,     /* it was mounted, and is to be again */
};

struct share {
	struct sshfs *all;
	const struct plan_mount *plan;
	enum share_state state;
	bool again; /* it is tried once more when this try has failed */
	pid_t pid;  /* of its server */
	int life;   /* whose end is told here; -1: there is none */
	struct watch *watch;
};

struct sshfs {
	struct sshfs_world w;
	struct share *share;
	size_t count;
	struct deadline *rest; /* set only while one is lost */
	bool closed;
};

static void go_on(struct sshfs *s);

static void let_go(struct share *sh)
{
	watch_free(sh->watch);
	sh->watch = NULL;
	if (sh->life >= 0)
		close(sh->life);
	sh->life = -1;
}

/* Whether inner is hidden, or gone, with what is mounted at outer. */
static bool lies_in(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return !strncmp(inner, outer, n) && (inner[n] == '/' || (n && outer[n - 1] == '/'));
}

/* Those mounted below it have gone with it. */
static void end_inner(struct share *outer)
{
	struct sshfs *s = outer->all;

	for (size_t i = 0; i < s->count; i++) {
		struct share *sh = &s->share[i];

		if (sh->state == SHARE_MOUNTED && lies_in(sh->plan->guest_path, outer->plan->guest_path))
			kill(sh->pid, SIGTERM);
	}
}

static void on_life(void *ctx, unsigned events)
{
	struct share *sh = ctx;
	struct sshfs *s = sh->all;

	(void)events;
	let_go(sh);
	if (s->closed)
		return;
	if (sh->state == SHARE_MOUNTED) {
		log_warn("%s is mounted in the guest no more; it is mounted again", sh->plan->guest_path);
		sh->state = SHARE_LOST;
		end_inner(sh);
		deadline_in(s->rest, REST_MS);
	} else {
		sh->state = sh->again ? SHARE_WAITING : SHARE_OFF;
	}
	go_on(s);
}

/* --- start --- */

static int start_server(struct share *sh, int fd, int life, struct err *e)
{
	auto_free char *program = prefix_libexec("sftp", e);
	const char *rest, *argv[7] = { program };
	auto_free char *outer = nested_in(sh->all->w.plan, sh->plan, &rest);
	struct spawn what = { .argv = argv, .fd = { fd, life }, .fds = 2 };
	size_t n = 1;

	if (!program)
		return -1;
	if (!sh->plan->writable)
		argv[n++] = "--read-only";
	if (sh->plan->follow_symlinks)
		argv[n++] = "--follow-symlinks";
	argv[n++] = "--";
	argv[n++] = outer ? outer : sh->plan->host_path;
	argv[n] = rest;
	sh->pid = spawner_start(sh->all->w.spawner, &what, e);
	return sh->pid < 0 ? -1 : 0;
}

static ssize_t make_request(const struct share *sh, uint8_t *request, size_t n)
{
	struct ap_open o = { .kind = AP_OPEN_SSHFS, .index = (uint16_t)(sh - sh->all->share) };
	size_t len = strlen(sh->plan->guest_path);

	if (len >= sizeof(o.path))
		return -1;
	memcpy(o.path, sh->plan->guest_path, len + 1);
	o.flags = (uint8_t)((sh->plan->writable ? AP_SSHFS_WRITABLE : 0) | (sh->plan->cache ? AP_SSHFS_CACHE : 0) |
			    (sh->plan->follow_symlinks ? AP_SSHFS_FOLLOW : 0));
	return ap_open_pack(&o, request, n);
}

static int start(struct share *sh, struct err *e)
{
	uint8_t request[MUX_REQUEST_MAX];
	ssize_t n = make_request(sh, request, sizeof(request));
	auto_close int ours = -1, its = -1, held = -1;
	int pair[2], life[2];

	if (n < 0)
		return err_set(e, ERR_INVALID, "its path in the guest is too long");
	if (io_socketpair(pair, e) < 0)
		return -1;
	ours = pair[0];
	its = pair[1];
	if (io_pipe(life, e) < 0)
		return -1;
	sh->life = life[0];
	held = life[1];
	if (io_set_nonblock(ours, true) < 0)
		return err_errno(e, "socketpair");
	if (start_server(sh, its, held, e) < 0)
		return -1;
	sh->watch = watch_new(sh->all->w.loop, sh->life, on_life, sh);
	if (!sh->watch)
		return err_set(e, ERR_SYS, "its server cannot be watched");
	watch_set(sh->watch, WATCH_READ);
	conn_start(sh->all->w.conns, NULL, steal_fd(&ours), CONN_SOCKET, request, (size_t)n, NULL, 0);
	return 0;
}

static void start_or_tell(struct share *sh)
{
	struct err e = { 0 };
	auto_free char *text = NULL;

	sh->state = SHARE_STARTING;
	sh->again = false;
	if (start(sh, &e) == 0) {
		troubles_over(sh->all->w.troubles, sh->plan->tag);
		return;
	}
	let_go(sh);
	sh->state = SHARE_OFF;
	text = xasprintf("mount %s: %s", sh->plan->guest_path, e.msg);
	troubles_set(sh->all->w.troubles, sh->plan->tag, text);
}

/* Starts the next, once the one before it has come to something. */
static void go_on(struct sshfs *s)
{
	for (size_t i = 0; i < s->count && !s->closed; i++) {
		if (s->share[i].state == SHARE_WAITING)
			start_or_tell(&s->share[i]);
		if (s->share[i].state == SHARE_STARTING)
			return;
	}
	if (s->count)
		s->w.changed(s->w.ctx);
}

static void try_again(struct sshfs *s, enum share_state which)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->share[i].state == which)
			s->share[i].state = SHARE_WAITING;
	go_on(s);
}

static void on_rest(void *ctx)
{
	struct sshfs *s = ctx;

	if (guest_is_up(s->w.guest)) /* else sshfs_up() follows */
		try_again(s, SHARE_LOST);
}

void sshfs_up(struct sshfs *s, bool resumed)
{
	/* A new guest agent has none of our streams; those who serve them end with these. */
	for (size_t i = 0; i < s->count && !resumed; i++) {
		let_go(&s->share[i]);
		s->share[i].state = SHARE_WAITING;
	}
	try_again(s, SHARE_LOST);
}

void sshfs_provisioned(struct sshfs *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->share[i].again = s->share[i].state == SHARE_STARTING;
	try_again(s, SHARE_OFF);
}

int sshfs_message(struct sshfs *s, const uint8_t *body, size_t len)
{
	uint16_t index;

	if (ap_mounted_unpack(&index, body, len) < 0 || index >= s->count)
		return -1;
	if (s->share[index].state != SHARE_STARTING)
		return 0;
	log_info("%s is mounted in the guest by sshfs", s->share[index].plan->guest_path);
	s->share[index].state = SHARE_MOUNTED;
	go_on(s);
	return 0;
}

void sshfs_close(struct sshfs *s)
{
	s->closed = true;
	deadline_stop(s->rest);
}

bool sshfs_settled(const struct sshfs *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->share[i].state == SHARE_WAITING || s->share[i].state == SHARE_STARTING)
			return false;
	return true;
}

void sshfs_waiting(const struct sshfs *s, struct jx *list)
{
	for (size_t i = 0; i < s->count; i++) {
		auto_free char *text = xasprintf("%s is mounted", s->share[i].plan->guest_path);

		if (s->share[i].state == SHARE_WAITING || s->share[i].state == SHARE_STARTING)
			jx_add_string(list, text);
	}
}

struct sshfs *sshfs_new(const struct sshfs_world *w)
{
	struct sshfs *s = xcalloc(1, sizeof(*s));

	s->w = *w;
	s->rest = deadline_new(w->loop, on_rest, s);
	s->share = xcalloc(w->plan->mounts, sizeof(*s->share));
	for (size_t i = 0; i < w->plan->mounts; i++) {
		if (w->plan->mount[i].type == PLAN_MOUNT_SSHFS)
			s->share[s->count++] = (struct share){ .all = s, .plan = &w->plan->mount[i], .state = SHARE_WAITING,
							       .life = -1 };
	}
	return s;
}

void sshfs_free(struct sshfs *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		let_go(&s->share[i]);
	deadline_free(s->rest);
	free(s->share);
	free(s);
}
