#include "guestagent/sshfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/mount_table.h"
#include "guestagent/provision.h"
#include "guestagent/relay.h"
#include "guestagent/trouble.h"
#include "guestagent/user.h"
#include "lib/cleanup.h"
#include "lib/log.h"

#define TYPE "fuse.sshfs"
#define NO_PROGRAM "this guest has no sshfs: install its package sshfs (Fedora: fuse-sshfs), or use another `mountType`"

enum { NAME_MAX_BYTES = 32 };

struct ga_sshfs {
	struct ga *ga;
	struct ga_sshfs *next;
	struct ga_child child;
	struct ga_watch mounts; /* until it is mounted */
	uint16_t index;
	char path[AP_PATH_MAX];
	int said; /* what sshfs wrote, a file in memory */
	bool mounted;
};

/* --- troubles --- */

static void tell(struct ga *ga, const char *path, const char *why)
{
	struct ap_trouble v = { 0 };
	size_t n = strlen(path), most = sizeof(v.what) - sizeof("mount ");

	snprintf(v.what, sizeof(v.what), "mount %.57s", path + (n > most ? n - most : 0));
	snprintf(v.why, sizeof(v.why), "%.500s", why);
	ga_trouble_send(ga, &v);
}

/* The last line sshfs wrote; what else it may be told by is its status. */
static void reason(const struct ga_sshfs *s, int status, char why[400])
{
	char text[4096];
	ssize_t n = pread(s->said, text, sizeof(text) - 1, 0);
	char *line;

	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (*line)
		snprintf(why, 400, "sshfs: %.380s", line);
	else if (WIFSIGNALED(status))
		snprintf(why, 400, "sshfs was killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, 400, "sshfs ended with exit code %d", WEXITSTATUS(status));
}

/* --- what is mounted --- */

/* The paths of sshfs's mounts whose source is source, or, when that is NULL, whose path is point; the last one is left in
 * path. Only the table is read: nothing mounted is touched. */
static bool find_mount(const char *source, const char *point, char path[AP_PATH_MAX])
{
	auto_mount_table t = mount_table_open(MOUNT_TABLE);
	struct mount_entry m;
	bool found = false;

	while (mount_table_next(&t, &m)) {
		if (strcmp(m.type, TYPE) || strlen(m.path) >= AP_PATH_MAX ||
		    strcmp(source ? m.source : m.path, source ? source : point))
			continue;
		snprintf(path, AP_PATH_MAX, "%s", m.path);
		found = true;
	}
	return found;
}

/* What sshfs calls its mount: by its process. */
static void name_of(pid_t pid, char name[NAME_MAX_BYTES])
{
	snprintf(name, NAME_MAX_BYTES, "sshfs-%d", (int)pid);
}

static void on_mounts(struct ga_watch *w, uint32_t events)
{
	struct ga_sshfs *s = ga_of(w, struct ga_sshfs, mounts);
	char name[NAME_MAX_BYTES], path[AP_PATH_MAX];
	uint8_t body[8];
	ssize_t n;

	(void)events;
	name_of(s->child.pid, name);
	if (!find_mount(name, NULL, path))
		return;
	ga_loop_close(&s->ga->loop, &s->mounts);
	s->mounted = true;
	log_info("%s is mounted", s->path);
	tell(s->ga, s->path, "");
	n = ap_mounted_pack(s->index, body, sizeof(body));
	if (n < 0 || mux_send(s->ga->mux, AP_MSG_MOUNTED, body, (size_t)n) < 0)
		log_error("the host cannot be told that %s is mounted", s->path);
}

static void forget(struct ga_sshfs *s)
{
	struct ga_sshfs **at = &s->ga->sshfs;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	ga_loop_close(&s->ga->loop, &s->mounts);
	close(s->said);
	free(s);
}

static void on_end(struct ga_child *c, int status)
{
	struct ga_sshfs *s = ga_of(c, struct ga_sshfs, child);
	char why[400];

	reason(s, status, why);
	if (s->mounted)
		log_info("%s is mounted no more: %s", s->path, why);
	else
		tell(s->ga, s->path, why);
	forget(s);
}

/* An earlier one there must be gone before the next is mounted: at its end it takes away by name what it has mounted. */
static void end_earlier(struct ga *ga, const char *path)
{
	struct ga_sshfs *s = ga->sshfs;

	while (s && strcmp(s->path, path))
		s = s->next;
	if (!s)
		return;
	kill(s->child.pid, SIGKILL);
	ga_child_del(&ga->loop, &s->child);
	while (waitpid(s->child.pid, NULL, 0) < 0 && errno == EINTR)
		;
	forget(s);
}

/* --- start --- */

static const char *find_program(void)
{
	static const char *const places[] = { "/usr/bin/sshfs", "/usr/local/bin/sshfs", "/bin/sshfs", "/usr/sbin/sshfs" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

static int make_folder(const char *path, struct err *e)
{
	char dir[AP_PATH_MAX];
	char *slash = dir;

	snprintf(dir, sizeof(dir), "%s", path);
	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "%s", dir);
		if (slash)
			*slash = '/';
	} while (slash);
	return 0;
}

static _Noreturn void fail(const char *what)
{
	dprintf(2, "%s: %s\n", what, strerror(errno));
	_exit(126);
}

/* Makes the folder, and takes away what an sshfs that is there no more has left on it. All of it may lie in another folder that
 * the agent serves, which therefore must not wait for it. */
static void prepare(const char *path)
{
	char below[AP_PATH_MAX];
	auto_free char *real = NULL;
	struct err e = { 0 };

	if (find_mount(NULL, path, below))
		umount2(path, MNT_DETACH);
	if (make_folder(path, &e) < 0) {
		dprintf(2, "%s\n", e.msg);
		_exit(126);
	}
	real = realpath(path, NULL);
	if (!real)
		fail(path);
	while (find_mount(NULL, real, below))
		if (umount2(real, MNT_DETACH) < 0)
			fail(path);
}

/* Whether the program has that word in it. From 2026 on it refuses links of the host's that are absolute or have dots in them,
 * as ones in source trees do, unless told by a word that older ones refuse. */
static bool knows(const char *program, const char *word)
{
	auto_close int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return p != MAP_FAILED && memmem(p, (size_t)st.st_size, word, strlen(word)); /* the memory ends with this process */
}

/* The child: sshfs mounts for everybody in the guest. It ends with the agent, whose next one mounts again. */
static _Noreturn void run(struct ga *ga, const char *program, const struct ap_open *o, int fd, int said)
{
	char options[160], name[NAME_MAX_BYTES];

	ga_child_signals();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(said, 2) < 0)
		_exit(126);
	ga_child_alone(&ga->files, 3);
	prepare(o->path);
	name_of(getpid(), name);
	snprintf(options, sizeof(options), "slave,allow_other,fsname=%s%s%s%s%s", name,
		 o->flags & AP_SSHFS_WRITABLE ? "" : ",ro", o->flags & AP_SSHFS_CACHE ? "" : ",cache=no",
		 o->flags & AP_SSHFS_FOLLOW ? ",follow_symlinks" : "",
		 knows(program, "no_contain_symlinks") ? ",no_contain_symlinks" : "");
	if (setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1) == 0)
		execl(program, "sshfs", ":/", o->path, "-f", "-o", options, (char *)NULL);
	fail(program);
}

static int watch(struct ga_sshfs *s, struct err *e)
{
	s->mounts = (struct ga_watch){ open(MOUNT_TABLE, O_RDONLY | O_CLOEXEC), on_mounts };
	if (s->mounts.fd < 0 || ga_loop_add(&s->ga->loop, &s->mounts, EPOLLPRI) < 0)
		return err_errno(e, MOUNT_TABLE " cannot be watched");
	return 0;
}

/* Returns our end of its connection, -1 with s untouched by any process. */
static int launch(struct ga_sshfs *s, const char *program, const struct ap_open *o, struct err *e)
{
	auto_close int ours = -1, its = -1;
	int pair[2];

	s->said = memfd_create("sshfs", MFD_CLOEXEC);
	if (s->said < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "sshfs");
	ours = pair[0];
	its = pair[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0 || watch(s, e) < 0)
		return e->kind ? -1 : err_errno(e, "sshfs");
	s->child.pid = fork();
	if (s->child.pid == 0)
		run(s->ga, program, o, its, s->said);
	if (s->child.pid < 0)
		return err_errno(e, "fork");
	return steal_fd(&ours);
}

static void refuse(struct ga *ga, struct mux_stream *m, const struct ap_open *o, const char *why)
{
	if (why)
		tell(ga, o->path, why);
	mux_reset(m, MUX_RESET_REFUSED);
}

void ga_sshfs_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	const char *program = find_program();
	struct ga_sshfs *s;
	struct err e = { 0 };
	int fd;

	end_earlier(ga, o->path);
	if (!program) {
		/* It may come with the scripts that are still to run; the host asks again after them. */
		refuse(ga, m, o, ga_provision_done(ga->provision) ? NO_PROGRAM : NULL);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		refuse(ga, m, o, "out of memory");
		return;
	}
	*s = (struct ga_sshfs){ .ga = ga, .child.fn = on_end, .mounts.fd = -1, .index = o->index, .said = -1 };
	snprintf(s->path, sizeof(s->path), "%s", o->path);
	fd = launch(s, program, o, &e);
	if (fd < 0) {
		ga_loop_close(&ga->loop, &s->mounts);
		if (s->said >= 0)
			close(s->said);
		free(s);
		refuse(ga, m, o, e.msg);
		return;
	}
	ga_child_add(&ga->loop, &s->child);
	s->next = ga->sshfs;
	ga->sshfs = s;
	ga_relay_take(ga, m, fd);
}

void ga_sshfs_stop(struct ga *ga)
{
	while (ga->sshfs) {
		ga_child_del(&ga->loop, &ga->sshfs->child);
		forget(ga->sshfs);
	}
}
