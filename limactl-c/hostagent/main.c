/* hostagent - the resident process of one running instance. Run by `limactl-c start`:
 *   hostagent [--ready-fd N] DIR
 * Event lines go to standard output and, until the instance runs or has failed, to descriptor N. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/driver.h"
#include "limactl-c/hostagent/agent.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

enum { HEAP_BLOCK_MAX = 64 * 1024, HEAP_FREE_MAX = 128 * 1024 }; /* bytes */

struct args {
	const char *dir;
	int ready_fd;
};

static int parse(int argc, char **argv, struct args *a, struct err *e)
{
	static const struct option options[] = { { "ready-fd", required_argument, NULL, 'r' }, { 0 } };
	char *end;
	int c;

	*a = (struct args){ .ready_fd = -1 };
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'r')
			return err_set(e, ERR_USAGE, "usage: hostagent [--ready-fd N] DIR");
		a->ready_fd = (int)strtol(optarg, &end, 10);
		if (*end || a->ready_fd < 3)
			return err_set(e, ERR_USAGE, "--ready-fd: \"%s\" is no descriptor", optarg);
	}
	if (argc - optind != 1)
		return err_set(e, ERR_USAGE, "usage: hostagent [--ready-fd N] DIR");
	a->dir = argv[optind];
	return 0;
}

static void raise_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) < 0)
		log_warn("the limit of open files stays as it is");
}

/* Streams' buffers of that size, and what is free at the end of the heap, go back to the system. Left alone glibc raises both
 * bounds with each larger block it frees, and keeps megabytes after a burst. */
static void bound_heap(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK_MAX);
	mallopt(M_TRIM_THRESHOLD, HEAP_FREE_MAX);
#endif
}

static int write_pid(const char *dir, struct err *e)
{
	auto_free char *path = path_in(dir, PATH_HA_PID);
	char text[24];

	snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	return fs_write_atomic(path, text, strlen(text), 0644, e);
}

static int run(const struct args *a, struct spawner *spawner, struct err *e)
{
	auto_free char *path = path_in(a->dir, PATH_PLAN);
	auto_close int lock = -1;
	CLEANUP(plan_free) struct plan plan = { 0 };
	const struct vm_driver *driver;
	struct inst inst;
	struct ha *ha;
	int status;

	if (plan_load(&plan, path, e) < 0)
		return -1;
	driver = driver_find(plan.driver);
	if (!driver)
		return err_set(e, ERR_INVALID, "this build has no driver for the instance's vmType");
	inst = (struct inst){ .name = plan.name, .dir = plan.dir };
	lock = inst_lock(&inst, false, false, e);
	if (lock < 0 || write_pid(plan.dir, e) < 0)
		return -1;
	ha = ha_new(&plan, driver, spawner, steal_fd(&lock), a->ready_fd);
	status = ha_run(ha);
	ha_free(ha);
	return status;
}

int main(int argc, char **argv)
{
	struct spawner *spawner = NULL;
	struct err e = { 0 };
	struct args a;
	int status = -1;

	bound_heap();
	io_keep_std();
	log_init("hostagent", STDERR_FILENO, LOG_JSON, LOG_INFO_);
	if (parse(argc, argv, &a, &e) == 0) {
		if (a.ready_fd >= 0)
			io_set_cloexec(a.ready_fd, true);
		/* First of all: it is as small as this process is now. */
		spawner = spawner_new(&e);
		raise_file_limit();
	}
	if (spawner) {
		status = run(&a, spawner, &e);
		spawner_free(spawner);
	}
	if (status < 0)
		log_error("%s", e.msg);
	return status == 0 ? 0 : 1;
}
