#include "limactl-c/hostagent/harvester.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/run.h"
#include "limactl-c/store/harvest.h"

/* As distributions name them, with and without the version. What the loader reads besides is looked at for changes only,
 * when the guest agent has made those that it may have to make (guestagent/settle.h). */
static const char look[] =
	"[ ! -e /run/lima/settle.lock ] || flock /run/lima/settle.lock true\n"
	"v=$(uname -r)\n"
	"first() { for f; do [ -f \"$f\" ] && [ -r \"$f\" ] && echo \"$f\" && return; done; exit 66; }\n"
	"kernel=$(first /boot/vmlinuz-$v /boot/Image-$v /usr/lib/modules/$v/vmlinuz /boot/vmlinuz-${v##*-}"
	" /boot/vmlinuz-linux) || exit\n"
	"initrd=$(first /boot/initrd.img-$v /boot/initramfs-$v.img /boot/initrd-$v /boot/initramfs-${v##*-}"
	" /boot/initramfs-linux.img) || exit\n"
	"cat /proc/cmdline && echo \"$kernel\" && echo \"$initrd\" || exit\n"
	"stat -L -c '%n %s %Y' /boot/vmlinu* /boot/Image* /boot/init* /boot/grub*/grub.cfg /boot/loader/entries/*"
	" /boot/extlinux*/*.conf 2>/dev/null | sha256sum | cut -c 1-64\n";
enum { NONE_KNOWN = 66 }; /* exit code of look */

static const char read_file[] = "exec cat <\"$1\"";
static const char digests[] = "exec sha256sum \"$1\" \"$2\"";

enum step { LOOK, KERNEL, INITRD, DIGESTS };

struct harvester {
	struct guest *guest;
	const struct plan *plan;
	enum step step;
	struct harvest_answer answer;
	struct run run;
};

static bool wanted(const struct harvester *h)
{
	return h->plan->harvest;
}

/* Its own loader is left out at this boot. */
static bool direct(const struct harvester *h)
{
	return wanted(h) && h->plan->boot == PLAN_BOOT_DIRECT;
}

static void command(struct harvester *h, enum step step, size_t max, const char *script, const char *a, const char *b)
{
	h->step = step;
	h->run.out.max = max;
	run_sh(h->guest, &h->run, script, a, b);
}

static void close_file(struct harvester *h)
{
	if (h->run.out_fd >= 0)
		close(steal_fd(&h->run.out_fd));
}

/* Ends it; why: what people should know, NULL: nothing. */
static void give_up(struct harvester *h, const char *why)
{
	if (why)
		log_info("the guest's kernel is not taken out of it: %s", why);
	close_file(h);
	if (h->step != LOOK)
		harvest_abandon(h->plan->dir);
}

/* --- the steps; each 0, or -1 with the reason --- */

static int fetch(struct harvester *h, enum step step, struct err *e)
{
	auto_free char *path = harvest_new_file(h->plan->dir, step == KERNEL);

	h->run.out_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (h->run.out_fd < 0)
		return fs_write_error(path, e);
	command(h, step, step == KERNEL ? HARVEST_KERNEL_MAX : HARVEST_INITRD_MAX, read_file,
		step == KERNEL ? h->answer.kernel : h->answer.initrd, NULL);
	return 0;
}

/* Whether there is anything to do with what the guest has. */
static bool is_new(const struct harvester *h)
{
	auto_harvest had = { 0 };
	struct err none = { 0 };
	bool same = harvest_load(h->plan->dir, &had, &none) == 0 && !strcmp(had.boot, h->answer.boot);

	if (!direct(h))
		return !same; /* one that has failed is not taken again */
	if (same)
		return false;
	log_info("the guest's /boot has changed: its own loader starts it the next time");
	harvest_mark(h->plan->dir, HARVEST_STALE, true);
	return false;
}

static int looked(struct harvester *h, struct err *e)
{
	const struct run *r = &h->run;

	if (r->status == NONE_KNOWN)
		return err_set(e, ERR_NOTFOUND, "none is found in its /boot");
	if (r->status)
		return run_failed(r, NULL, "it does not say which it is", e);
	if (harvest_parse(r->out.data ? r->out.data : "", r->out.len, &h->answer, e) < 0)
		return -1;
	if (!is_new(h))
		return 0;
	if (harvest_begin(h->plan->dir, e) < 0)
		return -1;
	return fetch(h, KERNEL, e);
}

static int fetched(struct harvester *h, struct err *e)
{
	auto_free char *path = harvest_new_file(h->plan->dir, h->step == KERNEL);
	const struct run *r = &h->run;

	if (r->status)
		return run_failed(r, path, "it could not be read", e);
	if (fsync(r->out_fd) < 0)
		return fs_write_error(path, e);
	close_file(h);
	if (h->step == KERNEL)
		return fetch(h, INITRD, e);
	command(h, DIGESTS, HARVEST_ANSWER_MAX, digests, h->answer.kernel, h->answer.initrd);
	return 0;
}

static int digested(struct harvester *h, struct err *e)
{
	const struct run *r = &h->run;
	char digest[2][SHA256_HEX + 1];

	if (r->status)
		return run_failed(r, NULL, "its digest is not known", e);
	if (harvest_parse_digests(r->out.data ? r->out.data : "", r->out.len, digest, e) < 0 ||
	    harvest_commit(h->plan->dir, &h->answer, digest, e) < 0)
		return -1;
	log_info("the guest's kernel is known (%s): the next start needs no loader", h->answer.kernel);
	return 0;
}

static void on_done(struct run *r)
{
	static int (*const steps[])(struct harvester *h, struct err *e) = {
		[LOOK] = looked, [KERNEL] = fetched, [INITRD] = fetched, [DIGESTS] = digested,
	};
	struct harvester *h = r->ctx;
	struct err e = { 0 };
	int rc = steps[h->step](h, &e);

	if (rc < 0)
		give_up(h, e.msg);
	if (!r->busy)
		buf_free(&r->out);
}

/* --- the whole --- */

struct harvester *harvester_new(struct guest *g, const struct plan *plan)
{
	struct harvester *h = xcalloc(1, sizeof(*h));

	*h = (struct harvester){ .guest = g, .plan = plan, .run = { .out_fd = -1, .done = on_done, .ctx = h } };
	return h;
}

void harvester_boots(struct harvester *h)
{
	if (direct(h))
		harvest_mark(h->plan->dir, HARVEST_TRIED, true);
}

void harvester_answered(struct harvester *h)
{
	if (direct(h))
		harvest_mark(h->plan->dir, HARVEST_TRIED, false);
}

void harvester_start(struct harvester *h)
{
	if (wanted(h) && !h->run.busy)
		command(h, LOOK, HARVEST_ANSWER_MAX, look, NULL, NULL);
}

bool harvester_is_busy(const struct harvester *h)
{
	return h->run.busy;
}

void harvester_stop(struct harvester *h)
{
	if (!h->run.busy)
		return;
	run_cancel(&h->run);
	give_up(h, NULL);
}

void harvester_free(struct harvester *h)
{
	if (!h)
		return;
	harvester_stop(h);
	run_fini(&h->run);
	free(h);
}
