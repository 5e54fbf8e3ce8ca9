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

#include "guestagent/mount_table.h"
#include "guestagent/setup.h"
#include "guestagent/trim_judge.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"

/* Docker's cgroup parent; setup makes it. A container's group is removed from it when the container has ended. */
#define CONTAINERS "/sys/fs/cgroup/docker"

/* "<milliseconds of uptime> …" of the last run. Removing it lets the next container's end count at once. */
#define LAST RUN_DIR "/trim.last"

enum {
	SETTLE_MS = 5 * 1000,        /* what was just used may be used again at once; a quiet machine is paused after 10 s */
	BOOT_SETTLE_S = 10,
	INTERVAL_MS = 2 * 60 * 1000, /* at most one run in this time */
	PATIENCE_MS = 20 * 1000,
	BUSY_MS = 20 * 1000,         /* until a busy guest is looked at again */
	DISKS_MAX = 32,
	SOURCE_MAX = 128,
	DOCKERD_S = 300,              /* longest wait for dockerd's first answer */
};

struct trim {
	bool caches;      /* tuning.cacheTrim */
	bool boot_fstrim; /* tuning.fstrimBoot */
	bool docker;      /* boot has finished when dockerd answers */
	bool boot;        /* the run due is the one after boot */
	int inotify;      /* -1: no containers are watched */
	int64_t due;      /* of the next run, 0 = none is wanted */
	int64_t latest;   /* until when that waits for the host's quiet: who asks every second would hold it up for ever */
	int64_t used;     /* the host's last stream came */
	uint64_t minimum; /* bytes of clean cache worth dropping */
	const char *unless; /* names of programs while which run it is kept */
};

struct trim *trim_new(const struct settings *s)
{
	struct trim *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->caches = settings_true(s, "tuning.cacheTrim");
	t->boot_fstrim = settings_true(s, "tuning.fstrimBoot");
	t->docker = settings_true(s, "docker");
	t->minimum = strtoull(settings_get(s, "tuning.cacheTrimMinimum", "0"), NULL, 10);
	t->unless = settings_get(s, "tuning.cacheTrimUnless", "");
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

	if (!t->due || at < t->due) {
		t->due = at;
		t->latest = at + PATIENCE_MS;
	}
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

void trim_used(struct trim *t)
{
	if (!t || !t->caches)
		return;
	t->used = clock_ms();
	/* Before the boot's run there is nothing to be told by one more. */
	if (!t->due && !t->boot && access(LAST, F_OK) == 0)
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

/* Of disks the guest may write; the same one may be mounted at several places. */
static bool is_disk(const struct mount_entry *m, char seen[][SOURCE_MAX], size_t count)
{
	if (strncmp(m->source, "/dev/", 5) || mount_is_read_only(m) || strlen(m->source) >= SOURCE_MAX)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(seen[i], m->source))
			return false;
	return true;
}

void trim_disks(uint64_t *bytes)
{
	char seen[DISKS_MAX][SOURCE_MAX];
	auto_mount_table t = mount_table_open(MOUNT_TABLE);
	struct mount_entry m;
	size_t count = 0;
	uint64_t one;

	*bytes = 0;
	while (count < DISKS_MAX && mount_table_next(&t, &m)) {
		if (!is_disk(&m, seen, count))
			continue;
		snprintf(seen[count++], SOURCE_MAX, "%s", m.source);
		if (trim_filesystem(m.path, &one) == 0)
			*bytes += one;
	}
}

static void tell_kernel(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) < 0)
		fprintf(stderr, "lima-guestagent: cache-trim: %s: %s\n", path, strerror(errno));
}

void trim_page_cache(void)
{
	tell_kernel("/proc/sys/vm/drop_caches");
	/* Only pieces of 2 MiB are reported free. */
	tell_kernel("/proc/sys/vm/compact_memory");
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

/* Drops the page cache if that is worth it; why it was not, or what it gave. */
static const char *drop(const struct trim *t, uint64_t *bytes)
{
	uint64_t before = trim_clean_cache_now(), after;

	if (!t->caches || before < t->minimum)
		return "little page cache, kept";
	if (trim_is_kept_warm(t->unless))
		return "page cache kept warm";
	trim_page_cache();
	after = trim_clean_cache_now();
	*bytes = before > after ? before - after : 0;
	return "page cache dropped";
}

/* In a child. */
static void run(const struct trim *t)
{
	uint64_t dropped = 0, bytes = 0;
	const char *what;
	FILE *f;

	if (t->boot && t->docker)
		await_dockerd();
	if (t->boot)
		sleep(BOOT_SETTLE_S);
	/* What was deleted is free, and what was written is clean, when the journal says so: up to a minute later by itself. */
	sync();
	what = drop(t, &dropped);
	if (t->caches || t->boot_fstrim)
		trim_disks(&bytes);
	f = fopen(LAST, "we");
	if (f) {
		fprintf(f, "%lld\n", (long long)clock_ms());
		fclose(f);
	}
	openlog("lima-guestagent", 0, LOG_DAEMON);
	syslog(LOG_INFO, "%s: %llu bytes; fstrim: %llu bytes are free on disks", what, (unsigned long long)dropped,
	       (unsigned long long)bytes);
}

/* Whether the run that is due has to wait, since the guest is used. */
static bool put_off(struct trim *t, int64_t now_ms)
{
	if (t->boot)
		return false;
	if (t->used + SETTLE_MS > now_ms && now_ms < t->latest)
		t->due = t->used + SETTLE_MS;
	else if (trim_guest_is_busy())
		t->due = now_ms + BUSY_MS;
	return t->due > now_ms;
}

void trim_expired(struct trim *t, int64_t now_ms)
{
	sigset_t none;

	if (!t || !t->due || t->due > now_ms || put_off(t, now_ms))
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
