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
#include <time.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "lib/cleanup.h"

/* Docker's cgroup parent; setup makes it. A container's group is removed from it when the container has ended. */
#define CONTAINERS "/sys/fs/cgroup/docker"

enum {
	SETTLE_MS = 10 * 1000,        /* what was just used may be used again at once */
	INTERVAL_MS = 10 * 60 * 1000, /* at most one run in this time */
};

struct trim {
	bool caches;      /* tuning.cacheTrim */
	bool boot_fstrim; /* tuning.fstrimBoot */
	int inotify;      /* -1: no containers are watched */
	uint64_t last;    /* when a run began, 0 = none did */
	uint64_t due;     /* of the next run, 0 = none is wanted */
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct trim *trim_new(const struct settings *s)
{
	struct trim *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->caches = settings_true(s, "tuning.cacheTrim");
	t->boot_fstrim = settings_true(s, "tuning.fstrimBoot");
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

uint64_t trim_next(uint64_t last, uint64_t now_ms)
{
	uint64_t at = now_ms + SETTLE_MS;

	return last && at < last + INTERVAL_MS ? last + INTERVAL_MS : at;
}

static void want(struct trim *t)
{
	if (!t->due)
		t->due = trim_next(t->last, now());
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
	if (!t || (!t->caches && !t->boot_fstrim) || access(RUN_DIR "/trim", F_OK) == 0)
		return;
	want(t);
}

int trim_timeout(const struct trim *t, uint64_t now_ms)
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

static void drop_page_cache(void)
{
	auto_close int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) < 0)
		fprintf(stderr, "lima-guestagent: cache-trim: %s\n", strerror(errno));
}

/* In a child. Leaves a line that says what was done, for whoever wants to see that it is. */
static void run(bool caches)
{
	uint64_t bytes = 0;
	FILE *f;

	if (caches)
		drop_page_cache();
	trim_filesystem("/", &bytes);
	f = fopen(RUN_DIR "/trim", "we");
	if (!f)
		return;
	fprintf(f, "%llu dropped=%d trimmed=%llu\n", (unsigned long long)now(), caches, (unsigned long long)bytes);
	fclose(f);
}

void trim_expired(struct trim *t, uint64_t now_ms)
{
	sigset_t none;

	if (!t || !t->due || t->due > now_ms)
		return;
	t->due = 0;
	t->last = now_ms;
	if (fork() == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		run(t->caches);
		_exit(0);
	}
}
