#include "guestagent/provision.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/containerd.h"
#include "guestagent/script.h"
#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "guestagent/user.h"
#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/log.h"

enum { RUNNERS_MAX = 3 };

struct ga_provision {
	struct ga *ga;
	void (*on_done)(struct ga *ga);
	struct ga_watch watch; /* inotify on the folder, while there is something to come */
	struct ga_child runner;
	unsigned runners; /* started by us */
	bool done;
	uint8_t sent[AP_PROVISION_UPGRADE + 1]; /* the state the host was told last */
};

static void file_path(char *path, size_t size, const char *run_dir, const char *name)
{
	snprintf(path, size, "%s/provision/%s", run_dir, name);
}

bool provision_run(const char *run_dir, const struct settings *s, const char *mode)
{
	auto_close int lock = -1;
	char path[300];
	bool good = true;

	file_path(path, sizeof(path), run_dir, "lock");
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* A runner of a daemon before us may still be at it: its end is ours to wait for. */
	while (lock >= 0 && flock(lock, LOCK_EX) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < s->count; i++) {
		int index = script_index(s->item[i].key);

		if (index >= 0 && strcmp(s->item[i].value, mode) == 0)
			good &= script_run(run_dir, s, index, mode);
	}
	return good;
}

static bool run_upgrade(const char *run_dir, const struct settings *s)
{
	return !settings_true(s, SCRIPT_UPGRADE) || script_run(run_dir, s, AP_PROVISION_UPGRADE, SCRIPT_UPGRADE);
}

int provision_main(int argc, char **argv)
{
	static struct settings settings;
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	const char *run_dir = argc > 2 ? argv[2] : RUN_DIR;
	char path[300];
	struct err e;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: provision MODE [RUN-FOLDER]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/settings", run_dir);
	log_init("lima-guestagent", STDERR_FILENO, LOG_TEXT, LOG_INFO_);
	if (settings_load(&settings, path, &text, &e) < 0) {
		log_error("%s", e.msg);
		return 1;
	}
	if (strcmp(argv[1], SCRIPT_UPGRADE) == 0)
		return !run_upgrade(run_dir, &settings);
	return !provision_run(run_dir, &settings, argv[1]);
}

/* After setup's "boot", in Lima's order. What a mode needs is in place when it comes: packages before files that belong to
 * them, all of that before scripts. */
static void run_all(const char *run_dir, const struct settings *s)
{
	static const char *const order[] = { "data", "yq", "system", "user" };

	run_upgrade(run_dir, s);
	provision_run(run_dir, s, "dependency");
	containerd_install(run_dir, s);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		provision_run(run_dir, s, order[i]);
}

/* --- the daemon's side --- */

static void send_state(struct ga_provision *p, int index, bool again)
{
	struct ap_provision v;
	uint8_t body[AP_TAIL_MAX + 64];
	ssize_t n;

	if (script_load(p->ga->run_dir, index, &v) < 0 || (!again && p->sent[index] == v.state))
		return;
	if (!mux_peer_epoch(p->ga->mux))
		return; /* all of it is sent when the host comes */
	n = ap_provision_pack(&v, body, sizeof(body));
	if (n < 0 || mux_send(p->ga->mux, AP_MSG_PROVISION, body, (size_t)n) < 0)
		log_error("the state of provision script %d could not be sent", index);
	else
		p->sent[index] = v.state;
}

static void send_all(struct ga_provision *p, bool again)
{
	const struct settings *s = p->ga->settings;

	for (size_t i = 0; i < s->count; i++) {
		int index = script_index(s->item[i].key);

		if (index >= 0)
			send_state(p, index, again);
	}
	send_state(p, AP_PROVISION_UPGRADE, again);
}

void ga_provision_send(struct ga_provision *p)
{
	send_all(p, true);
}

bool ga_provision_done(const struct ga_provision *p)
{
	return p->done;
}

static bool done_on_file(const struct ga_provision *p)
{
	char path[300];

	file_path(path, sizeof(path), p->ga->run_dir, "done");
	return access(path, F_OK) == 0;
}

static void check(struct ga_provision *p)
{
	/* Looked for before the scripts' states: what the last of them came to must not be missed. */
	bool done = done_on_file(p);

	send_all(p, false);
	if (p->done || !done)
		return;
	p->done = true;
	ga_loop_close(&p->ga->loop, &p->watch);
	ga_send_boot(p->ga);
	p->on_done(p->ga);
}

static void on_change(struct ga_watch *w, uint32_t events)
{
	char names[4096];

	(void)events;
	while (read(w->fd, names, sizeof(names)) > 0)
		;
	check(ga_of(w, struct ga_provision, watch));
}

static _Noreturn void runner_main(const struct ga *ga)
{
	char path[300];
	int fd;

	ga_child_alone(&ga->files, 3);
	run_all(ga->run_dir, ga->settings);
	file_path(path, sizeof(path), ga->run_dir, "done");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	_exit(fd < 0);
}

static void start_runner(struct ga_provision *p)
{
	pid_t pid = fork();

	if (pid == 0)
		runner_main(p->ga);
	if (pid < 0) {
		log_error("provisioning: fork: %s", strerror(errno));
		return;
	}
	p->runners++;
	p->runner.pid = pid;
	ga_child_add(&p->ga->loop, &p->runner);
}

static void on_runner(struct ga_child *c, int status)
{
	struct ga_provision *p = ga_of(c, struct ga_provision, runner);

	check(p);
	if (p->done)
		return;
	log_error("the process that runs provision scripts ended early (status %d)", status);
	if (p->runners < RUNNERS_MAX)
		start_runner(p); /* the interrupted script counts as failed, the others follow */
}

struct ga_provision *ga_provision_start(struct ga *ga, void (*on_done)(struct ga *ga), struct err *e)
{
	struct ga_provision *p = calloc(1, sizeof(*p));
	char dir[300];

	if (!p) {
		err_set(e, ERR_SYS, "out of memory");
		return NULL;
	}
	*p = (struct ga_provision){ .ga = ga, .on_done = on_done, .watch = { -1, on_change },
				    .runner = { .fn = on_runner } };
	snprintf(dir, sizeof(dir), "%s/provision", ga->run_dir);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		log_error("%s: %s", dir, strerror(errno));
	p->watch.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (p->watch.fd < 0 || inotify_add_watch(p->watch.fd, dir, IN_MOVED_TO | IN_CLOSE_WRITE) < 0 ||
	    ga_loop_add(&ga->loop, &p->watch, EPOLLIN) < 0)
		log_error("%s cannot be watched: %s", dir, strerror(errno));
	/* A cloud guest's boot script does not wait for us: it may be through, or get there while the watch begins. */
	if (done_on_file(p)) {
		p->done = true;
		ga_loop_close(&ga->loop, &p->watch);
		on_done(ga);
		return p;
	}
	/* In a cloud guest its boot script is the runner. */
	if (!setup_is_cloud(ga->settings))
		start_runner(p);
	return p;
}

void ga_provision_free(struct ga_provision *p)
{
	if (!p)
		return;
	ga_loop_close(&p->ga->loop, &p->watch);
	ga_child_del(&p->ga->loop, &p->runner);
	free(p);
}
