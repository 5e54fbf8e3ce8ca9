#include "limactl-c/hostagent/file_events.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"

#define NOT_TAKEN "the guest does not take them"

enum { READ_MAX = 16 * 1024 }; /* a read; the stream's buffer grows to hold it */

struct file_events {
	struct stream st; /* first: a stream is cast to it */
	struct loop *loop;
	struct guest *guest;
	struct spawner *spawner;
	const struct plan *plan;
	struct troubles *troubles;
	int fd; /* to the watcher; -1: there is none */
	struct watch *watch;
};

static struct file_events *events_of(struct stream *st)
{
	return (struct file_events *)st;
}

static void set_trouble(struct file_events *f, const char *why)
{
	auto_free char *text = xasprintf("mountInotify: changes on the host are not told the guest: %s", why);

	troubles_set(f->troubles, "mountInotify", text);
}

/* It ends with its socket. */
static void end_watcher(struct file_events *f)
{
	watch_free(f->watch);
	f->watch = NULL;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void failed(struct file_events *f, const char *why)
{
	set_trouble(f, why);
	end_watcher(f);
	guest_abort(&f->st, MUX_RESET_ABORT);
}

static void on_watcher(void *ctx, unsigned events)
{
	struct file_events *f = ctx;
	size_t n = READ_MAX;
	uint8_t *p = mux_tx_reserve(f->st.mux, &n);
	ssize_t k;

	(void)events;
	if (!p || !n) {
		watch_set(f->watch, 0); /* writable() tells when there is room */
		return;
	}
	do
		k = recv(f->fd, p, n, 0);
	while (k < 0 && errno == EINTR);
	mux_tx_commit(f->st.mux, k > 0 ? (size_t)k : 0);
	if (k == 0 || (k < 0 && errno != EAGAIN))
		failed(f, "the program that watches the folders ended (see ha.stderr.log)");
	else
		watch_set(f->watch, WATCH_READ);
}

/* MOUNT=FOLDER for each that is writable: in others nobody in the guest could be woken. Returns how many. */
static size_t folders_of(const struct plan *plan, char *arg[PLAN_MOUNT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < plan->mounts; i++)
		if (plan->mount[i].writable)
			arg[n++] = xasprintf("%zu=%s", i, plan->mount[i].host_path);
	return n;
}

static int start_watcher(struct file_events *f, struct err *e)
{
	auto_free char *program = prefix_libexec("watcher", e);
	char *folder[PLAN_MOUNT_MAX];
	const char *argv[PLAN_MOUNT_MAX + 2] = { program };
	struct spawn s = { .argv = argv };
	pid_t pid;
	size_t n;

	if (!program)
		return -1;
	n = folders_of(f->plan, folder);
	for (size_t i = 0; i < n; i++)
		argv[1 + i] = folder[i];
	f->fd = spawner_connect(f->spawner, &s, &pid, e);
	for (size_t i = 0; i < n; i++)
		free(folder[i]);
	if (f->fd < 0)
		return -1;
	f->watch = watch_new(f->loop, f->fd, on_watcher, f);
	if (!f->watch)
		return err_set(e, ERR_SYS, "its program cannot be watched");
	watch_set(f->watch, WATCH_READ);
	return 0;
}

/* --- the guest --- */

static void on_opened(struct stream *st)
{
	struct file_events *f = events_of(st);
	struct err e = { 0 };

	if (start_watcher(f, &e) == 0)
		troubles_over(f->troubles, "mountInotify");
	else
		failed(f, e.msg);
}

/* It has nothing to say but that it takes no more. */
static void on_readable(struct stream *st)
{
	mux_drain(st->mux);
	if (mux_at_end(st->mux))
		failed(events_of(st), NOT_TAKEN);
}

static void on_writable(struct stream *st)
{
	struct file_events *f = events_of(st);

	if (f->watch)
		watch_set(f->watch, WATCH_READ);
}

static void open_stream(struct file_events *f);

/* What was on the way is lost with the guest agent that would have taken it. */
static void on_reset(struct stream *st, enum mux_reset_code code)
{
	struct file_events *f = events_of(st);

	end_watcher(f);
	if (code == MUX_RESET_LOST && guest_is_up(f->guest))
		open_stream(f);
	else if (code != MUX_RESET_LOST)
		set_trouble(f, NOT_TAKEN);
}

static void on_closed(struct stream *st)
{
	end_watcher(events_of(st));
}

static const struct stream_ops ops = {
	.opened = on_opened,
	.readable = on_readable,
	.writable = on_writable,
	.reset = on_reset,
	.closed = on_closed,
};

static void open_stream(struct file_events *f)
{
	const struct ap_open o = { .kind = AP_OPEN_EVENTS };
	uint8_t request[16];
	ssize_t n = ap_open_pack(&o, request, sizeof(request));

	if (n < 0)
		abort(); /* it is of one fixed size */
	f->st = (struct stream){ .ops = &ops };
	guest_open(f->guest, &f->st, request, (size_t)n);
}

static bool has_writable(const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts; i++)
		if (plan->mount[i].writable)
			return true;
	return false;
}

void file_events_agent(struct file_events *f)
{
	if (f->plan->file_events && has_writable(f->plan) && !f->st.mux && !f->st.request)
		open_stream(f);
}

struct file_events *file_events_new(struct loop *l, struct guest *g, struct spawner *spawner, const struct plan *plan,
				    struct troubles *t)
{
	struct file_events *f = xcalloc(1, sizeof(*f));

	*f = (struct file_events){ .loop = l, .guest = g, .spawner = spawner, .plan = plan, .troubles = t, .fd = -1 };
	return f;
}

void file_events_stop(struct file_events *f)
{
	end_watcher(f);
	guest_abort(&f->st, MUX_RESET_ABORT);
}

void file_events_free(struct file_events *f)
{
	if (!f)
		return;
	end_watcher(f);
	guest_abort(&f->st, MUX_RESET_ABORT);
	free(f);
}
