#include "limactl-c/sftp/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/sftp/request.h"

struct sftp *sftp_new(int root, bool readonly, bool follow)
{
	struct sftp *s = xcalloc(1, sizeof(*s));

	s->tree = (struct tree){ root, follow };
	s->readonly = readonly;
	for (size_t i = 0; i < HANDLES_MAX; i++)
		s->handle[i].fd = -1;
	return s;
}

void sftp_free(struct sftp *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < HANDLES_MAX; i++)
		sftp_close_handle(&s->handle[i]);
	close(s->tree.root);
	free(s);
}

struct operation {
	uint8_t type;
	const char *extension, *version; /* of SFTP_EXTENDED */
	bool writes;           /* refused of a folder that is read-only */
	int (*fn)(struct request *q);
};

static const struct operation operations[] = {
	{ SFTP_OPEN, NULL, NULL, false, sftp_do_open }, /* looks itself */
	{ SFTP_CLOSE, NULL, NULL, false, sftp_do_close },
	{ SFTP_READ, NULL, NULL, false, sftp_do_read },
	{ SFTP_WRITE, NULL, NULL, true, sftp_do_write },
	{ SFTP_LSTAT, NULL, NULL, false, sftp_do_lstat },
	{ SFTP_FSTAT, NULL, NULL, false, sftp_do_fstat },
	{ SFTP_SETSTAT, NULL, NULL, true, sftp_do_setstat },
	{ SFTP_FSETSTAT, NULL, NULL, true, sftp_do_fsetstat },
	{ SFTP_OPENDIR, NULL, NULL, false, sftp_do_opendir },
	{ SFTP_READDIR, NULL, NULL, false, sftp_do_readdir },
	{ SFTP_REMOVE, NULL, NULL, true, sftp_do_remove },
	{ SFTP_MKDIR, NULL, NULL, true, sftp_do_mkdir },
	{ SFTP_RMDIR, NULL, NULL, true, sftp_do_rmdir },
	{ SFTP_STAT, NULL, NULL, false, sftp_do_stat },
	{ SFTP_RENAME, NULL, NULL, true, sftp_do_rename },
	{ SFTP_READLINK, NULL, NULL, false, sftp_do_readlink },
	{ SFTP_SYMLINK, NULL, NULL, true, sftp_do_symlink },
	{ SFTP_EXTENDED, "posix-rename@openssh.com", "1", true, sftp_do_posix_rename },
	{ SFTP_EXTENDED, "statvfs@openssh.com", "2", false, sftp_do_statvfs },
	{ SFTP_EXTENDED, "hardlink@openssh.com", "1", true, sftp_do_hardlink },
	{ SFTP_EXTENDED, "fsync@openssh.com", "1", true, sftp_do_fsync },
};

enum { OPERATIONS = sizeof(operations) / sizeof(*operations) };

/* VERSION stands where others have an id. */
static void greet(struct buf *out)
{
	size_t at = sftp_begin_packet(out, SFTP_VERSION, 3);

	for (size_t i = 0; i < OPERATIONS; i++) {
		if (!operations[i].extension)
			continue;
		sftp_put_text(out, operations[i].extension);
		sftp_put_text(out, operations[i].version);
	}
	sftp_end_packet(out, at);
}

int sftp_packet(struct sftp *s, const uint8_t *p, size_t n, struct buf *out)
{
	struct request q = { .s = s, .in = { .p = p, .left = n }, .out = out };
	uint8_t type = sftp_get8(&q.in);
	char extension[SFTP_PATH_MAX] = "";
	int errnum = ENOSYS;

	q.id = sftp_get32(&q.in); /* or the client's version */
	if (q.in.bad)
		return -1;
	if (type == SFTP_INIT) {
		greet(out);
		return 0;
	}
	if (type == SFTP_EXTENDED)
		sftp_get_text(&q.in, extension);
	for (size_t i = 0; i < OPERATIONS; i++) {
		const struct operation *o = &operations[i];

		if (o->type == type && (!o->extension || !strcmp(o->extension, extension)))
			errnum = o->writes && s->readonly ? EROFS : o->fn(&q);
	}
	if (errnum != ANSWERED)
		sftp_answer_status(&q, errnum);
	return 0;
}
