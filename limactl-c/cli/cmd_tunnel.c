#include <stdio.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/store/inst.h"

enum { ANSWER_MS = 5000 };

struct tunnel_opts {
	const char *type, *port;
};

static void say_how(int port)
{
#ifdef __APPLE__
	printf("System Settings > Network > the network in use > Details > Proxies > SOCKS proxy:\n"
	       "- Server: 127.0.0.1\n"
	       "- Port: %d\n", port);
#else
	printf("Set ALL_PROXY=socks5h://127.0.0.1:%d, or tell it to one program: curl --socks5-hostname 127.0.0.1:%d\n", port,
	       port);
#endif
	printf("Names are looked up in the guest, and connections leave from there, until the instance stops.\n");
}

static int open_tunnel(const struct inst *i, const struct tunnel_opts *o, struct err *e)
{
	auto_free char *body = xasprintf("{\"port\":%d}", o->port ? atoi(o->port) : 0);
	struct hac_answer a = HAC_ANSWER_INIT;
	auto_jx *answer = NULL;
	int64_t port;
	int rc = hac_request(i->dir, "POST", "/v1/tunnel", body, ANSWER_MS, &a, e);

	if (rc < 0)
		hac_not_running(i, e);
	else if ((answer = jx_parse(a.body.data, a.body.len, "the host agent's answer", e)) == NULL ||
		 jx_int(answer, "port", 1, 65535, &port, e) < 0)
		rc = -1;
	else
		say_how((int)port);
	buf_free(&a.body);
	return rc;
}

static int run(const struct call *call, struct err *e)
{
	const struct tunnel_opts *o = call->opts;
	struct inst i;
	int rc;

	if (inst_open(call->arg[0], &i, e) < 0)
		return -1;
	rc = open_tunnel(&i, o, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	{ "type", 0, OPT_WORD, offsetof(struct tunnel_opts, type), "TYPE", .help = "socks, which is the only one",
	  .words = "socks" },
	{ "socks-port", 0, OPT_PORT, offsetof(struct tunnel_opts, port), "PORT",
	  .help = "of 127.0.0.1 (default: one that is free)" },
	{ 0 },
};

const struct cmd cmd_tunnel = {
	.name = "tunnel",
	.args = "INSTANCE",
	.summary = "Let programs of this host connect from inside an instance, by SOCKS",
	.opt = opts,
	.opts_size = sizeof(struct tunnel_opts),
	.least = 1,
	.most = 1,
	.run = run,
};
