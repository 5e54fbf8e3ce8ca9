#include "guestagent/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/exec.h"
#include "guestagent/power.h"
#include "guestagent/provision.h"
#include "guestagent/service.h"
#include "guestagent/session.h"
#include "guestagent/settle.h"
#include "guestagent/setup.h"
#include "guestagent/trim.h"
#include "guestagent/trouble.h"
#include "lib/clock.h"
#include "lib/log.h"

enum { FILES_WANTED = MUX_STREAMS_MAX + 4 * GA_JOBS_MAX + 64 };

struct options {
	const char *carrier, *settings, *run_dir;
};

struct daemon {
	struct ga ga; /* first: on_provisioned() gets it */
	struct settings settings;
	struct buf settings_text;
	struct ga_watch power;
	struct trim *trim;
	struct ga_watch trim_watch;
	struct ga_timer trim_timer;
	struct settle settle;
};

/* --- cache-trim and power button --- */

static void arm_trim(struct daemon *d)
{
	int ms = trim_timeout(d->trim, clock_ms());

	if (ms >= 0)
		ga_timer_set(&d->ga.loop, &d->trim_timer, ms);
	else
		ga_timer_stop(&d->ga.loop, &d->trim_timer);
}

static void on_trim(struct ga_watch *w, uint32_t events)
{
	struct daemon *d = ga_of(w, struct daemon, trim_watch);

	(void)events;
	trim_ready(d->trim);
	arm_trim(d);
}

static void on_trim_timer(struct ga_timer *t)
{
	struct daemon *d = ga_of(t, struct daemon, trim_timer);

	trim_expired(d->trim, clock_ms());
	arm_trim(d);
}

static void on_used(struct ga *ga)
{
	struct daemon *d = ga_of(ga, struct daemon, ga);

	trim_used(d->trim);
	if (!d->trim_timer.armed)
		arm_trim(d);
}

static void on_provisioned(struct ga *ga)
{
	struct daemon *d = ga_of(ga, struct daemon, ga);

	trim_boot_done(d->trim);
	arm_trim(d);
	/* Machine-wide matters are ours in a guest only. */
	if (ga->carrier.port)
		settle_start(&d->settle, ga, "");
}

static void on_power(struct ga_watch *w, uint32_t events)
{
	struct err e;

	(void)events;
	if (power_ready(w->fd) && power_off(&e) < 0)
		log_error("power button: %s", e.msg);
}

static void on_power_message(struct ga *ga)
{
	struct err e;

	(void)ga;
	if (power_off(&e) < 0)
		log_error("power off: %s", e.msg);
}

static void watch_machine(struct daemon *d)
{
	struct err e;

	/* Machine-wide matters are ours in a guest only. */
	if (!d->ga.carrier.port)
		return;
	d->power = (struct ga_watch){ power_open(&e), on_power };
	if (d->power.fd < 0)
		d->ga.power_off = on_power_message; /* what the host says with its press of the button has to do */
	else if (ga_loop_add(&d->ga.loop, &d->power, EPOLLIN) < 0)
		log_error("power button: %s", strerror(errno));
	d->trim = trim_new(&d->settings);
	d->ga.used = on_used;
	d->trim_timer.fn = on_trim_timer;
	d->trim_watch = (struct ga_watch){ trim_fd(d->trim), on_trim };
	if (d->trim_watch.fd >= 0 && ga_loop_add(&d->ga.loop, &d->trim_watch, EPOLLIN) < 0)
		log_error("cache-trim: %s", strerror(errno));
}

/* --- start and stop --- */

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "carrier", required_argument, NULL, 'c' },
		{ "settings", required_argument, NULL, 's' },
		{ "run", required_argument, NULL, 'r' },
		{ 0 },
	};
	int c;

	*o = (struct options){ "virtio:io.limactl-c.agent.0", RUN_DIR "/settings", RUN_DIR };
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'c')
			o->carrier = optarg;
		else if (c == 's')
			o->settings = optarg;
		else if (c == 'r')
			o->run_dir = optarg;
		else
			return -1;
	}
	return optind == argc ? 0 : -1;
}

static int load_settings(struct daemon *d, const char *path, struct err *e)
{
	if (settings_load(&d->settings, path, &d->settings_text, e) == 0)
		return 0;
	if (e->errnum != ENOENT)
		return -1;
	log_warn("%s is not there; defaults are used", path);
	return 0;
}

/* Every stream needs descriptors, a command does not: it gets back what we had. */
static void raise_limits(struct ga *ga)
{
	struct rlimit all = { FILES_WANTED, FILES_WANTED };

	if (getrlimit(RLIMIT_NOFILE, &ga->files) < 0)
		return;
	if (ga->files.rlim_max >= FILES_WANTED || setrlimit(RLIMIT_NOFILE, &all) < 0) {
		all = ga->files;
		all.rlim_cur = all.rlim_max;
		setrlimit(RLIMIT_NOFILE, &all);
	}
}

/* So that no descriptor of ours can be 0, 1 or 2. */
static void open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

static int start(struct daemon *d, const struct options *o, struct err *e)
{
	struct err no_ports;

	d->power.fd = d->trim_watch.fd = d->ga.carrier.watch.fd = -1;
	d->ga.settings = &d->settings;
	d->ga.run_dir = o->run_dir;
	if (strlen(o->run_dir) > 200)
		return err_set(e, ERR_USAGE, "the run folder's path is too long");
	if (load_settings(d, o->settings, e) < 0 || ga_loop_init(&d->ga.loop, e) < 0)
		return -1;
	raise_limits(&d->ga);
	d->ga.ports = ports_new(&no_ports);
	if (!d->ga.ports)
		log_error("ports: %s", no_ports.msg);
	if (ga_session_start(&d->ga, o->carrier, e) < 0)
		return -1;
	watch_machine(d);
	d->ga.troubles = ga_troubles_start(&d->ga);
	d->ga.provision = ga_provision_start(&d->ga, on_provisioned, e);
	return d->ga.provision ? 0 : -1;
}

static void stop(struct daemon *d)
{
	ga_session_stop(&d->ga);
	ga_provision_free(d->ga.provision);
	ga_troubles_free(d->ga.troubles);
	settle_stop(&d->settle);
	ga_loop_del(&d->ga.loop, &d->trim_watch);
	trim_free(d->trim);
	ga_loop_close(&d->ga.loop, &d->power);
	ports_free(d->ga.ports);
	ga_loop_free(&d->ga.loop);
	buf_free(&d->settings_text);
	free(d);
}

int daemon_main(int argc, char **argv)
{
	struct daemon *d;
	struct options o;
	struct err e;

	open_standard();
	log_init("lima-guestagent", STDERR_FILENO, LOG_TEXT, LOG_INFO_);
	if (parse(&o, argc, argv) < 0) {
		fprintf(stderr, "usage: daemon [--carrier virtio:NAME|unix:PATH|listen:FD[,MEMORY]] [--settings FILE] [--run DIR]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (strncmp(o.carrier, "virtio:", 7) == 0)
		service_hold_back("daemon");
	d = calloc(1, sizeof(*d));
	if (!d || start(d, &o, &e) < 0) {
		log_error("%s", d ? e.msg : "out of memory");
		free(d);
		return 1;
	}
	ga_loop_run(&d->ga.loop);
	stop(d);
	return 0;
}
