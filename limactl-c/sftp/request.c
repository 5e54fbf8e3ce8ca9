#include "limactl-c/sftp/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t status_of(int errnum)
{
	static const struct {
		int errnum;
		uint32_t status;
	} known[] = {
		{ 0, SFTP_OK }, { ENOENT, SFTP_NO_SUCH_FILE }, { EACCES, SFTP_DENIED }, { EPERM, SFTP_DENIED },
		{ EROFS, SFTP_DENIED }, { EXDEV, SFTP_DENIED }, { EBADMSG, SFTP_BAD_MESSAGE }, { ENOSYS, SFTP_UNSUPPORTED },
		{ EOPNOTSUPP, SFTP_UNSUPPORTED }, { ENODATA, SFTP_EOF },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].errnum == errnum)
			return known[i].status;
	return SFTP_FAILURE;
}

void sftp_answer_status(struct request *q, int errnum)
{
	size_t at = sftp_begin_packet(q->out, SFTP_STATUS, q->id);

	sftp_put32(q->out, status_of(errnum));
	sftp_put_text(q->out, errnum ? strerror(errnum) : "");
	sftp_put_text(q->out, "");
	sftp_end_packet(q->out, at);
}

int sftp_answer_attrs(struct request *q, const struct stat *st)
{
	size_t at = sftp_begin_packet(q->out, SFTP_ATTRS, q->id);

	sftp_put_attrs(q->out, st);
	sftp_end_packet(q->out, at);
	return ANSWERED;
}

static int answer_handle(struct request *q, uint32_t which)
{
	size_t at = sftp_begin_packet(q->out, SFTP_HANDLE, q->id);

	sftp_put32(q->out, sizeof(which));
	sftp_put32(q->out, which);
	sftp_end_packet(q->out, at);
	return ANSWERED;
}

/* For calls that return -1 with errno set. */
int sftp_result(int rc)
{
	return rc < 0 ? errno : 0;
}

/* --- handles --- */

int sftp_new_handle(struct request *q, struct handle is)
{
	for (uint32_t i = 0; i < HANDLES_MAX; i++) {
		if (q->s->handle[i].fd >= 0)
			continue;
		q->s->handle[i] = is;
		return answer_handle(q, i);
	}
	sftp_close_handle(&is);
	return EMFILE;
}

/* NULL: there is none, or the packet is bad. */
struct handle *sftp_get_handle(struct request *q, bool folder)
{
	size_t n;
	const uint8_t *p = sftp_get_bytes(&q->in, &n);
	struct sftp_in in = { .p = p, .left = n };
	uint32_t i = sftp_get32(&in);

	if (q->in.bad || in.bad || in.left || i >= HANDLES_MAX || q->s->handle[i].fd < 0 || !q->s->handle[i].dir == folder)
		return NULL;
	return &q->s->handle[i];
}

void sftp_close_handle(struct handle *h)
{
	if (h->dir)
		closedir(h->dir);
	else if (h->fd >= 0)
		close(h->fd);
	free(h->path);
	*h = (struct handle){ .fd = -1 };
}
