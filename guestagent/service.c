/* service.c - `agent service NAME`: becomes syslogd, containerd, dockerd or crond.
 *
 * Busybox init keeps it alive and starts it again at once, so the pause after a quick death is ours. The program
 * takes our process over: nothing of the agent stays resident, and the process id noted is the program's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guestagent/service.h"
#include "guestagent/setup.h"
#include "guestagent/setup_util.h"
#include "guestagent/trouble.h"
#include "guestagent/user.h"
#include "lib/cleanup.h"
#include "lib/log.h"

enum {
	ARGS_MAX = 12,
	LOG_TRIES = 50,         /* times 10 ms: syslogd starts beside us */
	LOG_FILE_MAX = 1 << 20, /* without syslogd: a larger file is emptied at the next start */
	FIRST_FD = 3,           /* of a socket handed over (sd_listen_fds) */
};

#define DOCKER_SOCK "/run/docker.sock"
#define USER_JSON "/etc/docker/daemon.json"

static int become_syslogd(const struct setup *su, const char **argv, struct err *e);
static int become_containerd(const struct setup *su, const char **argv, struct err *e);
static int become_dockerd(const struct setup *su, const char **argv, struct err *e);
static int become_crond(const struct setup *su, const char **argv, struct err *e);

static const struct {
	const char *name;
	/* Prepares the process and fills argv. */
	int (*become)(const struct setup *su, const char **argv, struct err *e);
	bool logs; /* its output goes to syslog */
} services[] = {
	{ "syslogd", become_syslogd, false },
	{ "containerd", become_containerd, true },
	{ "dockerd", become_dockerd, true },
	{ "crond", become_crond, false }, /* it speaks to syslog itself */
};
enum { SERVICES = sizeof(services) / sizeof(services[0]) };

/* --- where its words go --- */

/* A datagram socket on /dev/log: each line written becomes a message in the ring, with no process between. */
static int open_syslog(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 0; fd >= 0; i++) {
		if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
			return fd;
		if (i == LOG_TRIES)
			break;
		usleep(10000);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_log_file(const char *name)
{
	char path[200];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/var/log/%s.log", name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_FILE_MAX && ftruncate(fd, 0) < 0)
		log_warn("%s: %s", path, strerror(errno));
	return fd;
}

static void redirect(const struct setup *su, const char *name)
{
	int fd = su_number(su, "tuning.syslogRing", 0) ? open_syslog() : -1;

	if (fd < 0)
		fd = open_log_file(name);
	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* --- the programs --- */

static int become_syslogd(const struct setup *su, const char **argv, struct err *e)
{
	static char ring[24];

	(void)e;
	snprintf(ring, sizeof(ring), "-C%llu", su_number(su, "tuning.syslogRing", 65536) / 1024);
	argv[0] = "syslogd";
	argv[1] = "-t";
	argv[2] = ring;
	argv[3] = "-n";
	return 0;
}

static void oom_score(const char *score)
{
	auto_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, score, strlen(score)) < 0)
		log_warn("oom_score_adj: %s", strerror(errno));
}

static void raise_files(void)
{
	struct rlimit files = { 1048576, 1048576 };

	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		log_warn("open files: %s", strerror(errno));
}

static int become_containerd(const struct setup *su, const char **argv, struct err *e)
{
	(void)e;
	raise_files();
	oom_score("-999");
	argv[0] = "containerd";
	if (!su_exists(su, "/etc/containerd/config.toml")) {
		argv[1] = "--config";
		argv[2] = RUN_DIR "/containerd.toml";
	}
	return 0;
}

/* docker.sock, listening before dockerd does: who connects meanwhile waits for the answer instead of being refused.
 * It becomes descriptor FIRST_FD. */
static int listen_for_docker(struct err *e)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = DOCKER_SOCK };
	struct group *group = getgrnam("docker");
	char pid[24];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return err_errno(e, "no sockets");
	unlink(DOCKER_SOCK);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || chmod(DOCKER_SOCK, 0660) < 0 ||
	    chown(DOCKER_SOCK, 0, group ? group->gr_gid : 0) < 0 || listen(fd, 128) < 0 ||
	    (fd != FIRST_FD && dup2(fd, FIRST_FD) < 0)) {
		err_errno(e, "%s", DOCKER_SOCK);
		close(fd);
		return -1;
	}
	if (fd != FIRST_FD)
		close(fd);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	return 0;
}

static int become_dockerd(const struct setup *su, const char **argv, struct err *e)
{
	auto_buf own = BUF_INIT(SU_FILE_MAX);
	bool has_own = su_exists(su, USER_JSON);
	int n = 0;

	raise_files();
	/* For the dozens of iptables calls of its start. Containers are not touched: they descend from containerd. */
	ga_child_fix_addresses(su->settings);
	if (has_own && su_read(su, USER_JSON, &own, e) < 0)
		return -1;
	argv[n++] = "dockerd";
	if (has_own) {
		argv[n++] = "--containerd";
		argv[n++] = "/run/containerd/containerd.sock";
	} else {
		argv[n++] = "--config-file";
		argv[n++] = RUN_DIR "/daemon.json";
	}
	/* dockerd refuses hosts said twice. */
	if (has_own && strstr(own.data, "\"hosts\""))
		return 0;
	argv[n++] = "-H";
	argv[n++] = "fd://";
	return listen_for_docker(e);
}

static int become_crond(const struct setup *su, const char **argv, struct err *e)
{
	(void)su;
	(void)e;
	argv[0] = "crond";
	argv[1] = "-f";
	return 0;
}

/* --- main --- */

static int run(const struct setup *su, size_t i)
{
	const char *argv[ARGS_MAX] = { NULL };
	struct ga_user root;
	struct err e = { 0 };

	if (ga_user_find(&root, su->settings, true, &e) == 0)
		ga_user_environment(&root, su->settings, RUN_DIR);
	if (services[i].logs)
		redirect(su, services[i].name);
	service_tell_trouble(su, services[i].name);
	service_hold_back(services[i].name);
	service_note_pid(services[i].name);
	if (services[i].become(su, argv, &e) < 0) {
		log_error("%s: %s", services[i].name, e.msg);
		trouble_note(su, services[i].name, "%s", e.msg);
		return 1;
	}
	execvp(argv[0], (char *const *)(void *)argv);
	err_errno(&e, "cannot run %s", argv[0]);
	log_error("%s", e.msg);
	trouble_note(su, services[i].name, "%s", e.msg);
	/* A guest without it: init would try for ever. */
	if (e.errnum == ENOENT)
		service_settled(services[i].name);
	while (e.errnum == ENOENT)
		pause();
	return 1;
}

int service_main(int argc, char **argv)
{
	static struct settings settings;
	struct setup su = { &settings, "" };
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e;

	log_init("lima-guestagent", STDERR_FILENO, LOG_TEXT, LOG_INFO_);
	for (size_t i = 0; argc == 2 && i < SERVICES; i++)
		if (strcmp(argv[1], services[i].name) == 0) {
			settings_load(&settings, RUN_DIR "/settings", &text, &e); /* without them by defaults */
			return run(&su, i);
		}
	fprintf(stderr, "usage: service syslogd|containerd|dockerd|crond\n");
	return 2;
}
