#include "guestagent/reverse.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/accept.h"
#include "guestagent/relay.h"
#include "guestagent/trouble.h"
#include "guestagent/user.h"
#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/log.h"
#include "lib/sock.h"

struct reverse_socket {
	struct ga_accept accept; /* not listening: it could not be */
	struct ga *ga;
	struct ap_reverse_socket what;
	dev_t dev; /* of its file */
	ino_t ino; /* 0: there is none */
};

struct ga_reverse {
	size_t count;
	struct reverse_socket socket[];
};

static void on_connection(struct ga_accept *a, int fd)
{
	struct reverse_socket *s = ga_of(a, struct reverse_socket, accept);

	ga_relay_accept(s->ga, fd, s->what.index);
}

/* Folders of path that are missing. */
static int make_folders(const char *path, struct err *e)
{
	char dir[AP_PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *slash = dir + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "%s", dir);
		*slash = '/';
	}
	return 0;
}

/* Whoever may write to its folder may have put something else there by now. */
static void remove_file(struct reverse_socket *s)
{
	struct stat st;

	if (s->ino && lstat(s->what.path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->what.path);
	s->ino = 0;
}

/* The file at its path, which is then looked at by this descriptor alone: a link in its place would lead us, who are root,
 * to a file that its maker has no right to. */
static int open_file(struct reverse_socket *s, struct err *e)
{
	auto_close int fd = open(s->what.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", s->what.path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_EXISTS, "%s: something else was put there meanwhile", s->what.path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return steal_fd(&fd);
}

static int give_away(const struct reverse_socket *s, int file, struct err *e)
{
	const struct ap_reverse_socket *v = &s->what;
	struct group *group = v->group[0] ? getgrnam(v->group) : NULL;
	struct ga_user user;
	char name[40];

	if (v->group[0] && !group)
		return err_set(e, ERR_INVALID, "%s: there is no group \"%s\" in the guest", v->path, v->group);
	if (ga_user_find(&user, s->ga->settings, false, e) < 0)
		return -1;
	if (geteuid() == 0 && fchownat(file, "", user.uid, group ? group->gr_gid : user.gid, AT_EMPTY_PATH) < 0)
		return err_errno(e, "%s", v->path);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	return chmod(name, v->mode) < 0 ? err_errno(e, "%s", v->path) : 0;
}

/* Nobody can connect before it has its owner: it does not listen until then. */
static int listen_on(struct reverse_socket *s, struct err *e)
{
	auto_close int fd = -1, file = -1;

	if (make_folders(s->what.path, e) < 0 || (fd = sock_bind_unix(s->what.path, e)) < 0)
		return -1;
	file = open_file(s, e);
	if (file >= 0 && give_away(s, file, e) == 0 && listen(fd, SOCK_BACKLOG) == 0 && ga_accept_start(&s->accept, fd) == 0) {
		steal_fd(&fd);
		return 0;
	}
	remove_file(s);
	return e->kind ? -1 : err_errno(e, "%s", s->what.path);
}

static void tell(const struct reverse_socket *s, const char *why)
{
	struct ap_trouble v = { 0 };
	size_t n = strlen(s->what.path), most = sizeof(v.what) - sizeof("guestSocket ");

	snprintf(v.what, sizeof(v.what), "guestSocket %.51s", s->what.path + (n > most ? n - most : 0));
	snprintf(v.why, sizeof(v.why), "%.500s", why);
	ga_trouble_send(s->ga, &v);
}

void ga_reverse_stop(struct ga *ga)
{
	struct ga_reverse *r = ga->reverse;

	for (size_t i = 0; r && i < r->count; i++) {
		if (r->socket[i].accept.watch.fd < 0)
			continue;
		ga_accept_close(&r->socket[i].accept);
		remove_file(&r->socket[i]);
	}
	free(r);
	ga->reverse = NULL;
}

int ga_reverse_message(struct ga *ga, const uint8_t *body, size_t len)
{
	struct ap_reverse *v = malloc(sizeof(*v));
	int rc = v ? ap_reverse_unpack(v, body, len) : 0;
	struct ga_reverse *r = NULL;

	ga_reverse_stop(ga);
	if (v && rc == 0)
		r = calloc(1, sizeof(*r) + v->count * sizeof(r->socket[0]));
	for (size_t i = 0; r && i < v->count; i++) {
		struct reverse_socket *s = &r->socket[r->count++];
		struct err e = { 0 };

		*s = (struct reverse_socket){ .ga = ga, .what = v->socket[i] };
		s->accept = (struct ga_accept){ .loop = &ga->loop, .watch.fd = -1, .name = s->what.path, .take = on_connection };
		if (listen_on(s, &e) < 0) {
			log_error("%s", e.msg);
			tell(s, e.msg);
		}
	}
	ga->reverse = r;
	free(v);
	if (rc == 0 && !r)
		log_error("reverse sockets: out of memory");
	return rc;
}
