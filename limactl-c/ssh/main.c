/* ssh - drives a guest without our agent by way of its SSH server. Run by the host agent:
 *   ssh DIR
 * with the channel's carrier, a socket, as descriptor 3; and by itself for each copy of files:
 *   ssh copy DIR KEY send|receive FLAGS PATH...
 * with a socket for the copy's records as descriptor 3. KEY is what the server was known by when the guest was met. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/plan.h"
#include "limactl-c/ssh/copy.h"
#include "limactl-c/ssh/hostkey.h"
#include "limactl-c/ssh/standin.h"
#include "limactl-c/store/paths.h"

enum { CARRIER = 3 };

static int load(const char *dir, struct plan *p, struct server *s, struct err *e)
{
	auto_free char *path = path_in(dir, PATH_PLAN);

	if (plan_load(p, path, e) < 0)
		return -1;
	*s = (struct server){ .port = p->ssh_port, .user = plan_setting(p, "user.name"), .key = p->ssh_key };
	return s->user && s->key ? 0 : err_set(e, ERR_INVALID, "%s is of a guest with an agent", path);
}

static int stand_in(const char *dir, struct err *e)
{
	CLEANUP(plan_free) struct plan p = { 0 };
	struct server server;
	struct standin si = { .server = &server, .fd = CARRIER, .dir = dir };
	auto_free char *known = path_in(dir, PATH_KNOWN_HOSTS);

	if (load(dir, &p, &server, e) < 0 || hostkey_load(known, p.hostname, &server.known, e) < 0)
		return -1;
	si.name = p.hostname;
	si.seeded = p.seed;
	return standin_run(&si, e);
}

static int copy(char **argv, struct err *e)
{
	CLEANUP(plan_free) struct plan p = { 0 };
	struct server server;

	if (load(argv[0], &p, &server, e) < 0)
		return -1;
	if (!ap_host_key_ok(argv[1]) || strlen(argv[1]) >= AP_HOST_KEY_MAX)
		return err_set(e, ERR_USAGE, "\"%s\" is no host key", argv[1]);
	snprintf(server.known.key[server.known.count++], AP_HOST_KEY_MAX, "%s", argv[1]);
	return copying_run(&server, CARRIER, argv + 2, e);
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	bool copies = argc > 4 && !strcmp(argv[1], COPY_WORD);
	int rc = -1;

	io_keep_std();
	io_set_cloexec(CARRIER, true);
	signal(SIGPIPE, SIG_IGN);
	log_init("ssh", STDERR_FILENO, LOG_JSON, LOG_INFO_);
	if (!copies && argc != 2)
		err_set(&e, ERR_USAGE, "usage: ssh DIR");
	else if (libssh2_init(0))
		err_set(&e, ERR_SYS, "libssh2 cannot be used");
	else
		rc = copies ? copy(argv + 2, &e) : stand_in(argv[1], &e);
	/* Who copies reads it. */
	if (rc < 0 && copies)
		fprintf(stderr, "%s\n", e.msg);
	else if (rc < 0)
		log_error("%s", e.msg);
	return rc < 0;
}
