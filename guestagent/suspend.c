#include "guestagent/suspend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guestagent/setup_steps.h"
#include "guestagent/trim.h"
#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"

enum {
	SHARES_MAX = 32,
	BUSY_TRIES = 10, /* 50 ms apart: who was told to let a folder go needs a moment */
	BUSY_MS = 50,
};

/* One child at a time; what is asked for meanwhile comes after it. */
struct ga_suspend {
	struct ga *ga;
	struct ga_child child; /* pid 0: none runs */
	int why;               /* its words, with asked */
	bool asked;            /* it gets ready; else it mounts again */
	bool again;            /* mount, when it has ended */
};

/* --- in the child --- */

static const char *point_of(const struct setup *su, size_t i)
{
	const char *point = su_item(su, "mount", i, "point", NULL);

	return point && strcmp(su_item(su, "mount", i, "type", "9p"), "9p") == 0 ? point : NULL;
}

static bool is_mounted(const char *point)
{
	char above[SU_PATH_MAX + 4];
	struct stat here, there;

	snprintf(above, sizeof(above), "%s/..", point);
	return stat(point, &here) == 0 && stat(above, &there) == 0 && here.st_dev != there.st_dev;
}

static void mount_again(const struct setup *su)
{
	for (size_t i = 0; i < SHARES_MAX; i++) {
		const char *point = point_of(su, i);
		struct err e = { 0 };

		if (point && !is_mounted(point) && setup_share(su, i, &e) < 0)
			log_error("%s is not mounted again: %s", point, e.msg);
	}
}

static int let_go(const char *point)
{
	int tries = 0;

	while (umount2(point, UMOUNT_NOFOLLOW) < 0) {
		if (errno == EINVAL || errno == ENOENT)
			return 0; /* it was none */
		if (errno != EBUSY || ++tries == BUSY_TRIES)
			return -1;
		poll(NULL, 0, BUSY_MS);
	}
	return 0;
}

/* Inner ones first. One in use leaves all where they were. */
static int unmount_all(const struct setup *su, char *why, size_t size)
{
	for (size_t i = SHARES_MAX; i-- > 0;) {
		const char *point = point_of(su, i);

		if (!point || let_go(point) == 0)
			continue;
		snprintf(why, size, "%s, a folder of the host, %s", point, errno == EBUSY ? "is in use" : strerror(errno));
		mount_again(su);
		return -1;
	}
	return 0;
}

static void get_ready(const struct setup *su, int out)
{
	struct ap_suspend v = { 0 };
	uint64_t bytes;

	/* Should the saved memory be lost, the disk has it all. */
	sync();
	if (unmount_all(su, v.why, sizeof(v.why)) == 0) {
		trim_page_cache();
		trim_disks(&bytes);
	}
	io_write_full(out, v.why, strlen(v.why));
}

/* --- in the daemon --- */

static void on_ended(struct ga_child *c, int status);

static void run(struct ga_suspend *s, bool asked)
{
	const struct setup su = { .settings = s->ga->settings, .root = "" };
	struct err e;
	int fd[2];
	sigset_t none;

	if (io_pipe(fd, &e) < 0) {
		log_error("%s", e.msg);
		return;
	}
	s->child = (struct ga_child){ .pid = fork(), .fn = on_ended };
	if (s->child.pid == 0) {
		/* Nothing of the daemon's may be held: the channel's port can be open once only. */
		dup2(fd[1], 3);
		syscall(SYS_close_range, 4, ~0U, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (asked)
			get_ready(&su, 3);
		else
			mount_again(&su);
		_exit(0);
	}
	close(fd[1]);
	s->why = fd[0];
	s->asked = asked;
	if (s->child.pid > 0)
		ga_child_add(&s->ga->loop, &s->child);
	else
		on_ended(&s->child, -1);
}

static void answer(struct ga *ga, const struct ap_suspend *v)
{
	uint8_t body[sizeof(*v) + 2];
	ssize_t n = ap_suspend_pack(v, body, sizeof(body));

	if (n < 0 || mux_send(ga->mux, AP_MSG_SUSPEND, body, (size_t)n) < 0)
		log_error("that the machine may be saved could not be said");
}

static void on_ended(struct ga_child *c, int status)
{
	struct ga_suspend *s = ga_of(c, struct ga_suspend, child);
	struct ap_suspend v = { 0 };
	ssize_t n = read(s->why, v.why, sizeof(v.why) - 1);

	close(s->why);
	s->child.pid = 0;
	if (s->asked && status)
		snprintf(v.why, sizeof(v.why), "the guest's preparations failed");
	else if (n >= 0)
		v.why[n] = '\0';
	if (s->asked)
		answer(s->ga, &v);
	if (s->again) {
		s->again = false;
		run(s, false);
	}
}

static struct ga_suspend *of(struct ga *ga)
{
	if (!ga->suspend && (ga->suspend = calloc(1, sizeof(*ga->suspend))))
		ga->suspend->ga = ga;
	return ga->suspend;
}

int ga_suspend_asked(struct ga *ga, const uint8_t *body, size_t len)
{
	static const struct ap_suspend ready, busy = { "the guest is busy with the last time" };

	(void)body;
	if (len)
		return -1;
	/* Machine-wide matters are ours in a guest only. */
	if (!ga->carrier.port || !of(ga))
		answer(ga, &ready);
	else if (ga->suspend->child.pid > 0)
		answer(ga, &busy);
	else
		run(ga->suspend, true);
	return 0;
}

/* The kernel notices some restored memories by itself (vmgenid), and not on all machines. */
static void reseed(const struct ap_woken *v)
{
	struct {
		struct rand_pool_info head;
		uint8_t seed[AP_SEED_SIZE];
	} pool = { .head = { .entropy_count = 8 * AP_SEED_SIZE, .buf_size = AP_SEED_SIZE } };
	auto_close int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);

	memcpy(pool.seed, v->seed, sizeof(pool.seed));
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		log_error("random numbers could not be seeded anew: %s", strerror(errno));
}

int ga_suspend_over(struct ga *ga, const uint8_t *body, size_t len)
{
	struct ap_woken v;

	if (ap_woken_unpack(&v, body, len) < 0)
		return -1;
	if (!ga->carrier.port)
		return 0;
	reseed(&v);
	if (!su_item(&(struct setup){ .settings = ga->settings }, "mount", 0, "point", NULL) || !of(ga))
		return 0;
	if (ga->suspend->child.pid > 0)
		ga->suspend->again = true;
	else
		run(ga->suspend, false);
	return 0;
}

void ga_suspend_stop(struct ga *ga)
{
	if (ga->suspend && ga->suspend->child.pid > 0) {
		ga_child_del(&ga->loop, &ga->suspend->child);
		close(ga->suspend->why);
	}
	free(ga->suspend);
	ga->suspend = NULL;
}
