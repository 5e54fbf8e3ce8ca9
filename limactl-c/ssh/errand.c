#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/ssh/standin.h"

struct errand {
	struct work w; /* first */
	struct chan chan;
	char *line;
	bool started;
	void (*over)(struct standin *si, int status);
};

static void drop(struct work *w)
{
	struct errand *er = (struct errand *)w;

	pool_close(&er->chan);
	work_remove(w);
	free(er->line);
	free(er);
}

static void end(struct errand *er, int status)
{
	struct standin *si = er->w.si;
	void (*over)(struct standin *si, int status) = er->over;

	drop(&er->w);
	if (over)
		over(si, status);
}

/* False: it is not at its end. */
static bool has_ended(struct errand *er)
{
	LIBSSH2_CHANNEL *ssh = er->chan.ssh;
	char none[4096];

	for (int id = 0; id < 2; id++)
		while (libssh2_channel_read_ex(ssh, id, none, sizeof(none)) > 0)
			;
	return libssh2_channel_eof(ssh) == 1 && libssh2_channel_wait_closed(ssh) != LIBSSH2_ERROR_EAGAIN;
}

static void pump(struct work *w)
{
	struct errand *er = (struct errand *)w;
	enum chan_state state = pool_state(&w->si->pool, &er->chan);
	int rc;

	if (state == CHAN_REFUSED || state == CHAN_LOST) {
		end(er, -1);
		return;
	}
	if (state != CHAN_OPEN)
		return;
	if (!er->started) {
		rc = libssh2_channel_process_startup(er->chan.ssh, "exec", 4, er->line, (unsigned)strlen(er->line));
		if (rc == LIBSSH2_ERROR_EAGAIN)
			return;
		if (rc) {
			end(er, -1);
			return;
		}
		er->started = true;
	}
	if (has_ended(er))
		end(er, libssh2_channel_get_exit_status(er->chan.ssh));
}

static const struct work_ops ops = { .pump = pump, .drop = drop };

void errand_start(struct standin *si, const struct buf *line, void (*over)(struct standin *si, int status))
{
	struct errand *er = xcalloc(1, sizeof(*er));

	er->line = xstrdup(line->data);
	er->over = over;
	work_add(&er->w, si, NULL, &ops);
	pool_open(&si->pool, &er->chan, "session", NULL, 0);
}
