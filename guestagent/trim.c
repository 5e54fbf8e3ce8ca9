#include "guestagent/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"

/* Docker's cgroup parent; setup makes it. A container's group is removed from it when the container has ended. */
#define CONTAINERS "/sys/fs/cgroup/docker"

/* "<milliseconds of uptime> …" of the last run. Removing it lets the next container's end count at once. */
#define LAST RUN_DIR "/trim.last"

enum {
	SETTLE_MS = 10 * 1000,        /* what was just used may be used again at once */
	INTERVAL_MS = 10 * 60 * 1000, /* at most one run in this time */
	DOCKERD_S = 300,              /* longest wait for dockerd's first answer */
};

struct trim {
	bool caches;      /* tuning.cacheTrim */
	bool boot_fstrim; /* tuning.fstrimBoot */
	bool docker;      /* boot has finished when dockerd answers */
	bool boot;        /* the run due is the one after boot */
	int inotify;      /* -1: no containers are watched */
	int64_t due;      /* of the next run, 0 = none is wanted */
};

struct trim *trim_new(const struct settings *s)
{
	struct trim *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->caches = settings_true(s, "tuning.cacheTrim");
	t->boot_fstrim = settings_true(s, "tuning.fstrimBoot");
	t->docker = settings_true(s, "docker");
	t->inotify = -1;
	if (!t->caches)
		return t;
	t->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (t->inotify >= 0 && inotify_add_watch(t->inotify, CONTAINERS, IN_DELETE | IN_ONLYDIR) < 0) {
		close(t->inotify);
		t->inotify = -1;
	}
	return t;
}

void trim_free(struct trim *t)
{
	if (!t)
		return;
	if (t->inotify >= 0)
		close(t->inotify);
	free(t);
}

int trim_fd(const struct trim *t)
{
	return t ? t->inotify : -1;
}

int64_t trim_next(int64_t last, int64_t now_ms)
{
	int64_t at = now_ms + SETTLE_MS;

	return last && at < last + INTERVAL_MS ? last + INTERVAL_MS : at;
}

/* When a run ended, 0 = none did. On file, so that it outlives the daemon and people can see it. */
static int64_t last_run(void)
{
	long long ms = 0;
	FILE *f = fopen(LAST, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lld", &ms) != 1)
		ms = 0;
	fclose(f);
	return ms;
}

static void want(struct trim *t)
{
	int64_t at = trim_next(last_run(), clock_ms());

	if (!t->due || at < t->due)
		t->due = at;
}

void trim_ready(struct trim *t)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;

	if (!t || t->inotify < 0)
		return;
	while (read(t->inotify, events, sizeof(events)) > 0)
		any = true;
	if (any)
		want(t);
}

void trim_boot_done(struct trim *t)
{
	/* The daemon may be a second one: boot has finished once. */
	if (!t || (!t->caches && !t->boot_fstrim) || access(LAST, F_OK) == 0)
		return;
	t->boot = true;
	t->due = clock_ms();
}

int trim_timeout(const struct trim *t, int64_t now_ms)
{
	if (!t || !t->due)
		return -1;
	return t->due <= now_ms ? 0 : (int)(t->due - now_ms);
}

int trim_filesystem(const char *path, uint64_t *bytes)
{
	struct fstrim_range range = { .len = UINT64_MAX };
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, FITRIM, &range) < 0)
		return -1;
	*bytes = range.len;
	return 0;
}

void trim_page_cache(void)
{
	auto_close int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) < 0)
		fprintf(stderr, "lima-guestagent: cache-trim: %s\n", strerror(errno));
}

/* Blocks until dockerd answers: its socket listens from the start and holds our question until then. */
static void await_dockerd(void)
{
	static const char question[] = "GET /_ping HTTP/1.0\r\n\r\n";
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };
	struct timeval limit = { .tv_sec = DOCKERD_S };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[256];

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return;
	for (int tries = 0; connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0; tries++) {
		if (tries == DOCKERD_S)
			return;
		sleep(1);
	}
	if (io_write_full(fd, question, strlen(question)) == 0)
		while (read(fd, answer, sizeof(answer)) > 0)
			;
}

/* In a child. */
static void run(const struct trim *t)
{
	uint64_t bytes = 0;
	FILE *f;

	if (t->boot && t->docker)
		await_dockerd();
	if (t->boot)
		sleep(SETTLE_MS / 1000);
	if (t->caches)
		trim_page_cache();
	if (t->caches || t->boot_fstrim)
		trim_filesystem("/", &bytes);
	f = fopen(LAST, "we");
	if (f) {
		fprintf(f, "%lld\n", (long long)clock_ms());
		fclose(f);
	}
	openlog("lima-guestagent", 0, LOG_DAEMON);
	syslog(LOG_INFO, "%sfstrim: %llu bytes are free on /", t->caches ? "page cache dropped; " : "",
	       (unsigned long long)bytes);
}

void trim_expired(struct trim *t, int64_t now_ms)
{
	sigset_t none;

	if (!t || !t->due || t->due > now_ms)
		return;
	t->due = 0;
	if (fork() == 0) {
		/* Nothing of the daemon's may be held: the channel's port can be open once only. */
		syscall(SYS_close_range, 3, ~0U, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		run(t);
		_exit(0);
	}
	t->boot = false;
}
