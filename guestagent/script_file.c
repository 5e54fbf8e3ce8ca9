/* Entries that put a file into the guest: data as it is, yq with the host's help. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/place.h"
#include "guestagent/script.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"

enum { ANSWER_WAIT_MS = 120 * 1000 };

static const char *setting(const struct script *sc, const char *key)
{
	char name[64];

	snprintf(name, sizeof(name), "provision.%02d.%s", sc->index, key);
	return settings_get(sc->settings, name, "");
}

int script_put_data(const struct script *sc, struct err *e)
{
	auto_close int from = -1;
	char path[300];
	struct place p;
	struct stat st;

	if (place_find(&p, sc->settings, sc->index, e) < 0)
		return 1;
	if (strcmp(setting(sc, "overwrite"), "false") == 0 && lstat(p.path, &st) == 0)
		return 0;
	script_path(sc, "", path, sizeof(path));
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0) {
		err_errno(e, "%s", path);
		return 1;
	}
	return place_parents(&p, true, e) < 0 || place_write(&p, from, e) < 0;
}

/* --- yq --- */

/* Leaves a copy of the file in NN.in for the host; no file, no copy. */
static int offer(const struct script *sc, const struct place *p, struct err *e)
{
	auto_buf text = BUF_INIT(EDIT_MAX);
	auto_close int fd = -1;
	char path[300];
	struct stat st;

	script_path(sc, ".in", path, sizeof(path));
	unlink(path);
	if (stat(p->path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", p->path);
	if (place_writable(p, e) < 0 || io_read_file(p->path, &text, e) < 0)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_full(fd, text.data ? text.data : "", text.len) < 0)
		return err_errno(e, "%s", path);
	return 0;
}

/* Waits for the host's NN.out or NN.err; which of them came, as an open descriptor in *out, or a sentence in *e. */
static int await(const struct script *sc, int watch, int *out, struct err *e)
{
	int64_t end = clock_ms() + ANSWER_WAIT_MS, now;
	auto_buf why = BUF_INIT(900);
	char path[300], names[4096];
	struct err ignored;

	for (;;) {
		struct pollfd p = { .fd = watch, .events = POLLIN };

		script_path(sc, ".out", path, sizeof(path));
		*out = open(path, O_RDONLY | O_CLOEXEC);
		if (*out >= 0)
			return 0;
		script_path(sc, ".err", path, sizeof(path));
		if (io_read_file(path, &why, &ignored) == 0)
			return err_set(e, ERR_INVALID, "%s", why.data ? why.data : "the host could not edit it");
		now = clock_ms();
		if (now >= end)
			return err_set(e, ERR_TIMEOUT, "the host did not answer within %d s", ANSWER_WAIT_MS / 1000);
		if (poll(&p, 1, (int)(end - now)) > 0 && read(watch, names, sizeof(names)) < 0 && errno != EINTR)
			return err_errno(e, "inotify");
	}
}

static void forget(const struct script *sc)
{
	static const char *const suffixes[] = { ".in", ".out", ".err" };
	char path[300];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		script_path(sc, suffixes[i], path, sizeof(path));
		unlink(path);
	}
}

static int ask(const struct script *sc, int *out, struct err *e)
{
	struct ap_provision v = { .index = (uint16_t)sc->index, .state = AP_PROVISION_ASKS };
	auto_close int watch = inotify_init1(IN_CLOEXEC);
	char dir[300];

	snprintf(dir, sizeof(dir), "%s/provision", sc->run_dir);
	if (watch < 0 || inotify_add_watch(watch, dir, IN_MOVED_TO) < 0)
		return err_errno(e, "%s cannot be watched", dir);
	script_save(sc->run_dir, &v);
	return await(sc, watch, out, e);
}

int script_edit(const struct script *sc, struct err *e)
{
	auto_close int out = -1;
	struct place p;
	int bad;

	forget(sc);
	bad = place_find(&p, sc->settings, sc->index, e) < 0 || place_parents(&p, false, e) < 0 ||
	      offer(sc, &p, e) < 0 || ask(sc, &out, e) < 0 || place_write(&p, out, e) < 0;
	forget(sc);
	return bad;
}
