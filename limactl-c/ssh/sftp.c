#include "limactl-c/ssh/sftp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>


enum {
	SILENT_MS = 120000, /* a server that says nothing for so long while it is asked is given up */
	LINK_SIZE = 4097,
};

/* --- waiting --- */

bool sftp_is_lost(const struct sftp *s)
{
	return !s->conn || s->conn->state == CONNECTION_LOST;
}

static int wait_once(struct sftp *s, struct err *e)
{
	struct pollfd fds[2] = { { .fd = s->host, .events = POLLRDHUP } };
	int k;

	connection_flush(s->conn);
	fds[1] = connection_poll(s->conn);
	if (s->conn->state != CONNECTION_LOST) {
		k = poll(fds, 2, SILENT_MS);
		if (k < 0 && errno != EINTR)
			return err_errno(e, "poll");
		if (k == 0)
			return err_set(e, ERR_TIMEOUT, "the guest's SSH server does not answer");
		if (fds[0].revents) {
			s->host = -1; /* said once: there may be something to tidy up */
			return err_set(e, ERR_STATE, "the host has left");
		}
		connection_step(s->conn);
	}
	if (s->conn->state == CONNECTION_LOST)
		return err_set(e, ERR_STATE, "%s", s->conn->why.msg);
	return 0;
}

/* What the server said of a request that failed. */
static int failed(struct sftp *s, struct err *e)
{
	static const struct {
		unsigned long status;
		int errnum;
	} known[] = {
		{ LIBSSH2_FX_NO_SUCH_FILE, ENOENT },     { LIBSSH2_FX_NO_SUCH_PATH, ENOENT },
		{ LIBSSH2_FX_PERMISSION_DENIED, EACCES }, { LIBSSH2_FX_WRITE_PROTECT, EROFS },
		{ LIBSSH2_FX_FILE_ALREADY_EXISTS, EEXIST }, { LIBSSH2_FX_NO_SPACE_ON_FILESYSTEM, ENOSPC },
		{ LIBSSH2_FX_QUOTA_EXCEEDED, EDQUOT },    { LIBSSH2_FX_NOT_A_DIRECTORY, ENOTDIR },
		{ LIBSSH2_FX_LINK_LOOP, ELOOP },
	};
	unsigned long status = libssh2_sftp_last_error(s->ssh);

	if (libssh2_session_last_errno(s->conn->ssh) != LIBSSH2_ERROR_SFTP_PROTOCOL)
		return err_set(e, ERR_STATE, "the guest's SSH server does not keep to the protocol of files");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].status != status)
			continue;
		err_set(e, ERR_SYS, "%s", strerror(known[i].errnum));
		e->errnum = known[i].errnum;
		return -1;
	}
	return err_set(e, ERR_SYS, "the guest's SSH server could not do it (%lu)", status);
}

/* Calls until there is an answer: rc is what it returned. */
#define UNTIL_ANSWERED(s, rc, call, e) \
	while (((rc) = (call)) == LIBSSH2_ERROR_EAGAIN) \
		if (wait_once((s), (e)) < 0) \
			return -1

/* --- the whole --- */

int sftp_begin(struct sftp *s, struct server *server, int host, struct err *e)
{
	*s = (struct sftp){ .conn = connection_new(server), .host = host };
	while (s->conn->state != CONNECTION_READY)
		if (wait_once(s, e) < 0)
			return -1;
	while (!(s->ssh = libssh2_sftp_init(s->conn->ssh))) {
		if (libssh2_session_last_errno(s->conn->ssh) != LIBSSH2_ERROR_EAGAIN)
			return err_set(e, ERR_STATE, "the guest's SSH server has no SFTP");
		if (wait_once(s, e) < 0)
			return -1;
	}
	return 0;
}

void sftp_end(struct sftp *s)
{
	connection_free(s->conn);
	s->conn = NULL;
}

/* --- names --- */

int sftp_attributes(struct sftp *s, const char *path, int what, LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_stat_ex(s->ssh, path, (unsigned)strlen(path), what, a), e);
	return rc ? failed(s, e) : 0;
}

int sftp_read_link(struct sftp *s, const char *path, int what, char *text, size_t size, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_symlink_ex(s->ssh, path, (unsigned)strlen(path), text, (unsigned)size - 1, what), e);
	if (rc < 0)
		return err_set(e, ERR_SYS, "it cannot be read as a link");
	if (!rc || (size_t)rc >= size || memchr(text, '\0', (size_t)rc))
		return err_set(e, ERR_INVALID, "it says what no link can say");
	text[rc] = '\0';
	return 0;
}

int sftp_make_link(struct sftp *s, const char *says, const char *path, struct err *e)
{
	char now[LINK_SIZE];
	int rc;

	/* OpenSSH takes the two in this order, others follow it. Of the answer libssh2 1.10 reads the number of the request as
	 * the status, so that has to be looked for. */
	UNTIL_ANSWERED(s, rc, libssh2_sftp_symlink_ex(s->ssh, says, (unsigned)strlen(says), (char *)(uintptr_t)path,
						      (unsigned)strlen(path), LIBSSH2_SFTP_SYMLINK), e);
	if (sftp_read_link(s, path, LIBSSH2_SFTP_READLINK, now, sizeof(now), e) == 0 && !strcmp(now, says))
		return 0;
	return err_set(e, ERR_SYS, "the guest's SSH server could not make the link");
}

int sftp_make_folder(struct sftp *s, const char *path, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_mkdir_ex(s->ssh, path, (unsigned)strlen(path), 0700), e);
	return rc ? failed(s, e) : 0;
}

int sftp_remove(struct sftp *s, const char *path, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_unlink_ex(s->ssh, path, (unsigned)strlen(path)), e);
	return rc ? failed(s, e) : 0;
}

static int rename_now(struct sftp *s, const char *from, const char *to, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_rename_ex(s->ssh, from, (unsigned)strlen(from), to, (unsigned)strlen(to),
						     LIBSSH2_SFTP_RENAME_OVERWRITE | LIBSSH2_SFTP_RENAME_ATOMIC), e);
	return rc ? failed(s, e) : 0;
}

/* The third version of SFTP, which all speak, renames to no name that is there. */
int sftp_replace(struct sftp *s, const char *from, const char *to, struct err *e)
{
	LIBSSH2_SFTP_ATTRIBUTES a;
	struct err none;

	if (rename_now(s, from, to, e) == 0)
		return 0;
	if (sftp_is_lost(s) || sftp_attributes(s, to, LIBSSH2_SFTP_LSTAT, &a, &none) < 0)
		return -1;
	if (LIBSSH2_SFTP_S_ISDIR(a.permissions))
		return err_set(e, ERR_STATE, "there is a folder in its place");
	return sftp_remove(s, to, e) < 0 ? -1 : rename_now(s, from, to, e);
}

/* --- what is open --- */

LIBSSH2_SFTP_HANDLE *sftp_open(struct sftp *s, const char *path, unsigned long flags, struct err *e)
{
	LIBSSH2_SFTP_HANDLE *h;

	while (!(h = libssh2_sftp_open_ex(s->ssh, path, (unsigned)strlen(path), flags, 0600,
					  flags ? LIBSSH2_SFTP_OPENFILE : LIBSSH2_SFTP_OPENDIR))) {
		if (libssh2_session_last_errno(s->conn->ssh) != LIBSSH2_ERROR_EAGAIN) {
			failed(s, e);
			return NULL;
		}
		if (wait_once(s, e) < 0)
			return NULL;
	}
	return h;
}

void sftp_close(struct sftp *s, LIBSSH2_SFTP_HANDLE *h)
{
	struct err none;

	while (!sftp_is_lost(s) && libssh2_sftp_close_handle(h) == LIBSSH2_ERROR_EAGAIN)
		if (wait_once(s, &none) < 0)
			return;
}

ssize_t sftp_read(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, void *p, size_t n, struct err *e)
{
	ssize_t rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_read(h, p, n), e);
	return rc < 0 ? failed(s, e) : rc;
}

int sftp_write(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, const void *p, size_t n, struct err *e)
{
	const char *at = p;

	while (n) {
		ssize_t rc;

		UNTIL_ANSWERED(s, rc, libssh2_sftp_write(h, at, n), e);
		if (rc < 0)
			return failed(s, e);
		at += rc;
		n -= (size_t)rc;
	}
	return 0;
}

int sftp_handle_attributes(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, bool set, LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_fstat_ex(h, a, set), e);
	return rc ? failed(s, e) : 0;
}

ssize_t sftp_next(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, char *name, size_t size, LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e)
{
	int rc;

	UNTIL_ANSWERED(s, rc, libssh2_sftp_readdir_ex(h, name, size, NULL, 0, a), e);
	if (rc == LIBSSH2_ERROR_BUFFER_TOO_SMALL)
		return err_set(e, ERR_INVALID, "it has a name that is too long");
	return rc < 0 ? failed(s, e) : rc;
}
