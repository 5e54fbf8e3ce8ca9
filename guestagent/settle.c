#include "guestagent/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "guestagent/tuning.h"
#include "guestagent/user.h"
#include "lib/cleanup.h"
#include "lib/log.h"

#define LOCK RUN_DIR "/settle.lock"

static off_t warnings(const struct setup *su)
{
	char path[SU_PATH_MAX];
	struct stat st;

	return stat(su_path(su, RUN_DIR "/setup.warnings", path), &st) == 0 ? st.st_size : 0;
}

static _Noreturn void child_main(const struct settle *s, int lock)
{
	/* The lock is held by nobody but us. */
	if (dup3(lock, 3, O_CLOEXEC) < 0 && errno != EINVAL)
		_exit(1);
	ga_child_alone(&s->ga->files, 4);
	setpriority(PRIO_PROCESS, 0, 19);
	setenv("PATH", SETUP_PATH, 1);
	tuning_settled(&s->su);
	_exit(0);
}

static void on_end(struct ga_child *c, int status)
{
	struct settle *s = ga_of(c, struct settle, child);

	if (status)
		log_error("the process that tunes the guest ended early (status %d)", status);
	if (warnings(&s->su) > s->warned)
		ga_send_warning(s->ga, (size_t)s->warned);
}

void settle_start(struct settle *s, struct ga *ga, const char *root)
{
	auto_close int lock = -1;
	char path[SU_PATH_MAX];
	pid_t pid;

	*s = (struct settle){ .ga = ga, .su = { ga->settings, root }, .child.fn = on_end };
	if (!setup_is_cloud(ga->settings))
		return;
	s->warned = warnings(&s->su);
	lock = open(su_path(&s->su, LOCK, path), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return; /* the child of a daemon before us is at it */
	pid = lock < 0 ? -1 : fork();
	if (pid == 0)
		child_main(s, lock);
	if (pid < 0) {
		log_error("the guest is not tuned: %s: %s", path, strerror(errno));
		return;
	}
	s->child.pid = pid;
	ga_child_add(&ga->loop, &s->child);
}

void settle_stop(struct settle *s)
{
	if (s->ga)
		ga_child_del(&s->ga->loop, &s->child);
}
