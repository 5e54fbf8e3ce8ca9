#include "limactl-c/cli/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/store/paths.h"

enum { ANSWER_MS = 500, SMALL_FILE = 4096 };

static void add_error(struct look *l, const char *text)
{
	if (l->errors < LOOK_ERRORS_MAX)
		l->error[l->errors++] = xstrdup(text);
}

static void broken(struct look *l, const char *why)
{
	if (l->status == INST_STOPPED)
		l->status = INST_BROKEN;
	add_error(l, why);
}

static void ask_host_agent(struct look *l)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct err e = { 0 };
	struct jx *o = NULL;
	const struct jx *errors;

	if (hac_request(l->inst.dir, "GET", "/v1/status", NULL, ANSWER_MS, &a, &e) == 0)
		o = jx_parse(a.body.data ? a.body.data : "", a.body.len, "status", &e);
	if (!o && e.kind == ERR_NOTFOUND)
		add_error(l, "the host agent is starting or ending");
	else if (!o)
		add_error(l, e.msg);
	l->machine = (pid_t)jx_int_or(o, "vmPid", 0);
	errors = jx_member(o, "errors");
	for (size_t i = 0; i < jx_count(errors); i++)
		if (jx_as_string(jx_at(errors, i)))
			add_error(l, jx_as_string(jx_at(errors, i)));
	jx_free(o);
	buf_free(&a.body);
}

/* Small enough files of the folder; "" when there is none. */
static char *read_small(const struct inst *i, enum path_name name)
{
	auto_free char *path = path_in(i->dir, name);
	auto_buf b = BUF_INIT(SMALL_FILE);
	struct err ignored = { 0 };

	if (io_read_file(path, &b, &ignored) < 0 || !b.data)
		return xstrdup("");
	b.data[strcspn(b.data, "\n")] = '\0';
	return xstrdup(b.data);
}

/* lima.yaml edited after the plan was made, or never planned: only then is YAML read for the table. */
static bool plan_is_current(const struct inst *i)
{
	auto_free char *plan = path_in(i->dir, PATH_PLAN), *yaml = path_in(i->dir, PATH_YAML);
	struct stat p, y;

	if (stat(plan, &p) < 0 || stat(yaml, &y) < 0)
		return false;
	return p.st_mtim.tv_sec != y.st_mtim.tv_sec ? p.st_mtim.tv_sec > y.st_mtim.tv_sec
						    : p.st_mtim.tv_nsec >= y.st_mtim.tv_nsec;
}

static void replace(char **field, const char *now)
{
	free(*field);
	*field = xstrdup(now ? now : "");
}

/* What stands still is as its configuration says, which may be newer than the plan. */
static void take_config(struct look *l, struct setup *s, struct yn_pool *whole)
{
	if (l->status == INST_STOPPED) {
		replace(&l->plan.arch, s->cfg.arch);
		replace(&l->plan.message, s->cfg.message);
		replace(&l->vm_type, s->host.fake ? plan_driver_word(PLAN_FAKE) : s->cfg.vm_type);
		/* A guest without an SSH server has no port. */
		l->plan.ssh_port = !strcmp(s->cfg.guest.init, "lean") ? 0 : (uint16_t)s->cfg.ssh.local_port;
		l->plan.cpus = s->cfg.cpus;
		l->plan.memory = s->cfg.memory;
		l->plan.disk_size = s->cfg.disk;
	}
	if (whole)
		l->config = cfg_tree(&s->cfg, whole);
}

static void read_config(struct look *l, struct yn_pool *whole)
{
	auto_setup s = SETUP_INIT;
	struct err e = { 0 };

	if (setup_read_inst(&s, &l->inst, &e) < 0 || setup_check_quietly(&s, &e) < 0)
		broken(l, e.msg);
	else
		take_config(l, &s, whole);
}

int look_at(const char *name, struct yn_pool *whole, struct look *l, struct err *e)
{
	auto_free char *path = NULL, *protect = NULL;
	struct err none = { 0 };
	bool current;

	*l = (struct look){ 0 };
	if (inst_open(name, &l->inst, e) < 0)
		return -1;
	path = path_in(l->inst.dir, PATH_PLAN);
	protect = path_in(l->inst.dir, PATH_PROTECTED);
	l->status = inst_status(&l->inst);
	l->is_protected = fs_exists(protect);
	if (whole)
		l->lima_version = read_small(&l->inst, PATH_VERSION);
	current = plan_is_current(&l->inst);
	if (plan_load(&l->plan, path, &none) < 0)
		current = false;
	if (l->status == INST_BROKEN)
		add_error(l, "there is no lima.yaml that can be read");
	else if (!current || whole)
		read_config(l, whole);
	if (l->status == INST_ORPHAN)
		add_error(l, "the machine runs without its host agent; start takes it over");
	if (l->status == INST_RUNNING) {
		auto_free char *pid = read_small(&l->inst, PATH_HA_PID);

		l->host_agent = (pid_t)atol(pid);
		ask_host_agent(l);
	}
	/* What is deleted while it is looked at is not broken. */
	if (l->errors && !fs_exists(l->inst.dir)) {
		look_free(l);
		return err_set(e, ERR_NOTFOUND, "instance \"%s\" does not exist any more", name);
	}
	return 0;
}

void look_free(struct look *l)
{
	inst_fini(&l->inst);
	plan_free(&l->plan);
	free(l->lima_version);
	free(l->vm_type);
	for (size_t i = 0; i < l->errors; i++)
		free(l->error[i]);
}

const char *look_vm_type(const struct look *l)
{
	return l->vm_type ? l->vm_type : l->plan.name ? plan_driver_word(l->plan.driver) : "";
}
