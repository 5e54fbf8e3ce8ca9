#include "guestagent/trouble.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/service.h"
#include "guestagent/setup.h"
#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"

#define FOLDER "/trouble"

void trouble_note(const struct setup *su, const char *what, const char *fmt, ...)
{
	char path[SU_PATH_MAX], why[sizeof(((struct ap_trouble *)NULL)->why)], line[sizeof(why) + 1];
	struct err e;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	su_one_line(why);
	snprintf(line, sizeof(line), "%s\n", why);
	snprintf(path, sizeof(path), RUN_DIR FOLDER "/%s", what);
	if (su_mkdirs(su, RUN_DIR FOLDER, 0755, &e) < 0 || su_write(su, path, line, 0644, &e) < 0)
		log_error("%s", e.msg);
}

void trouble_over(const struct setup *su, const char *what)
{
	char path[SU_PATH_MAX], full[SU_PATH_MAX];

	snprintf(path, sizeof(path), RUN_DIR FOLDER "/%s", what);
	if (unlink(su_path(su, path, full)) < 0 && errno != ENOENT)
		log_error("%s: %s", full, strerror(errno));
}

/* --- the daemon's side --- */

struct told {
	struct ap_trouble v;
	bool there; /* seen in the folder */
};

struct found {
	struct ap_trouble v;
	struct timespec since;
};

struct ga_troubles {
	struct ga *ga;
	char folder[300];
	struct ga_watch watch;
	struct ga_timer timer;
	struct told told[TROUBLES_MAX];
	size_t count;
};

void ga_trouble_send(struct ga *ga, const struct ap_trouble *v)
{
	uint8_t body[sizeof(*v) + 8];
	ssize_t n;

	if (!mux_peer_epoch(ga->mux))
		return;
	n = ap_trouble_pack(v, body, sizeof(body));
	if (n < 0 || mux_send(ga->mux, AP_MSG_TROUBLE, body, (size_t)n) < 0)
		log_error("%s: %s: this could not be sent", v->what, v->why);
}

static bool load(const struct ga_troubles *t, const char *name, struct found *f)
{
	auto_buf text = BUF_INIT(4096);
	struct ap_trouble *v = &f->v;
	char path[600];
	struct stat st;
	struct err e;

	*v = (struct ap_trouble){ 0 };
	if (name[0] == '.' || strlen(name) >= sizeof(v->what) || strchr(name, '~'))
		return false; /* one that is being written */
	snprintf(path, sizeof(path), "%s/%s", t->folder, name);
	if (stat(path, &st) < 0 || io_read_file(path, &text, &e) < 0 || !text.len)
		return false;
	f->since = st.st_mtim;
	snprintf(v->what, sizeof(v->what), "%.63s", name);
	snprintf(v->why, sizeof(v->why), "%.*s", (int)strcspn(text.data, "\n"), text.data);
	return v->why[0];
}

static void see(struct ga_troubles *t, const struct ap_trouble *v)
{
	size_t i = 0;

	while (i < t->count && strcmp(t->told[i].v.what, v->what))
		i++;
	if (i == TROUBLES_MAX)
		return;
	if (i < t->count && !strcmp(t->told[i].v.why, v->why)) {
		t->told[i].there = true;
		return;
	}
	t->told[i] = (struct told){ *v, true };
	t->count += i == t->count;
	ga_trouble_send(t->ga, v);
}

static void forget(struct ga_troubles *t, size_t i)
{
	t->told[i].v.why[0] = '\0';
	ga_trouble_send(t->ga, &t->told[i].v);
	t->told[i] = t->told[--t->count];
}

/* Programs that keep running are in trouble no more; the others are looked at again. */
static void check_services(struct ga_troubles *t)
{
	int next = -1;

	for (size_t i = 0; i < t->count; i++) {
		int s = service_settles_in(t->told[i].v.what);
		char path[600];

		snprintf(path, sizeof(path), "%s/%s", t->folder, t->told[i].v.what);
		if (s == 0 && unlink(path) < 0)
			log_error("%s: %s", path, strerror(errno));
		if (s > 0 && (next < 0 || s < next))
			next = s;
	}
	if (next >= 0)
		ga_timer_set(&t->ga->loop, &t->timer, next * 1000);
	else
		ga_timer_stop(&t->ga->loop, &t->timer);
}

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct found *)a)->since, *y = &((const struct found *)b)->since;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* The oldest first: it may be the cause of the others. */
static void scan(struct ga_troubles *t)
{
	static struct found found[4 * TROUBLES_MAX];
	auto_closedir DIR *dir = opendir(t->folder);
	struct dirent *d;
	size_t n = 0;

	while (dir && n < sizeof(found) / sizeof(found[0]) && (d = readdir(dir)))
		n += load(t, d->d_name, &found[n]);
	qsort(found, n, sizeof(found[0]), by_age);
	for (size_t i = 0; i < t->count; i++)
		t->told[i].there = false;
	for (size_t i = 0; i < n; i++)
		see(t, &found[i].v);
	for (size_t i = t->count; i-- > 0;)
		if (!t->told[i].there)
			forget(t, i);
	check_services(t);
}

static void on_change(struct ga_watch *w, uint32_t events)
{
	char names[4096];

	(void)events;
	while (read(w->fd, names, sizeof(names)) > 0)
		;
	scan(ga_of(w, struct ga_troubles, watch));
}

static void on_timer(struct ga_timer *timer)
{
	check_services(ga_of(timer, struct ga_troubles, timer));
}

void ga_troubles_send(struct ga_troubles *t)
{
	if (!t)
		return;
	t->count = 0;
	scan(t);
}

struct ga_troubles *ga_troubles_start(struct ga *ga)
{
	struct ga_troubles *t = calloc(1, sizeof(*t));

	if (!t) {
		log_error("troubles: out of memory");
		return NULL;
	}
	*t = (struct ga_troubles){ .ga = ga, .watch = { -1, on_change }, .timer = { .fn = on_timer } };
	snprintf(t->folder, sizeof(t->folder), "%s" FOLDER, ga->run_dir);
	if (mkdir(t->folder, 0755) < 0 && errno != EEXIST)
		log_error("%s: %s", t->folder, strerror(errno));
	t->watch.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (t->watch.fd < 0 || inotify_add_watch(t->watch.fd, t->folder, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE) < 0 ||
	    ga_loop_add(&ga->loop, &t->watch, EPOLLIN) < 0)
		log_error("%s cannot be watched: %s", t->folder, strerror(errno));
	return t;
}

void ga_troubles_free(struct ga_troubles *t)
{
	if (!t)
		return;
	ga_loop_close(&t->ga->loop, &t->watch);
	ga_timer_stop(&t->ga->loop, &t->timer);
	free(t);
}
