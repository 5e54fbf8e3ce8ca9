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
#include "limactl-c/yaml/parse.h"

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

/* That a port could not be had is for everybody to see; what else became of the ports is in the whole. */
static void take_ports(struct look *l, const struct jx *ports, struct yn_pool *whole)
{
	auto_free char *text = jx_count(ports) ? jx_dump(ports) : NULL;
	struct err ignored = { 0 };

	for (size_t i = 0; i < jx_count(ports); i++) {
		const struct jx *v = jx_at(ports, i);
		auto_free char *why = xasprintf("%s %s is not forwarded to %s: %s", jx_string_or(v, "protocol", ""),
						jx_string_or(v, "guestAddr", ""), jx_string_or(v, "hostAddr", ""),
						jx_string_or(v, "error", ""));

		if (!strcmp(jx_string_or(v, "state", ""), "failed"))
			add_error(l, why);
	}
	if (whole && text)
		l->forwards = (struct ynode *)yn_parse_one(whole, "status", yn_printf(whole, "%s", text), strlen(text),
							   &ignored);
}

static void take_ssh(struct look *l, const struct jx *ssh)
{
	const char *error = jx_string_or(ssh, "error", NULL);
	auto_free char *why = xasprintf("no ssh on %s: %s", jx_string_or(ssh, "address", ""), error ? error : "");

	l->ssh_keys = (int)jx_int_or(ssh, "hostKeys", 0);
	if (error)
		add_error(l, why);
}

static void take_state(struct look *l, const char *state)
{
	static const struct {
		const char *state, *word;
	} words[] = { { "paused", "Paused" }, { "saved", "Suspended" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].state, state))
			l->asleep = words[i].word;
}

static void ask_host_agent(struct look *l, struct yn_pool *whole)
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
	take_state(l, jx_string_or(o, "state", ""));
	errors = jx_member(o, "errors");
	for (size_t i = 0; i < jx_count(errors); i++)
		if (jx_as_string(jx_at(errors, i)))
			add_error(l, jx_as_string(jx_at(errors, i)));
	take_ports(l, jx_member(o, "ports"), whole);
	take_ssh(l, jx_member(o, "ssh"));
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
		if (s->cfg.ssh.local_port)
			l->plan.ssh_port = (uint16_t)s->cfg.ssh.local_port;
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
	auto_free char *path = NULL, *state = NULL;
	struct err none = { 0 };
	bool current;

	*l = (struct look){ 0 };
	if (inst_open(name, &l->inst, e) < 0)
		return -1;
	path = path_in(l->inst.dir, PATH_PLAN);
	l->status = inst_status(&l->inst);
	l->is_protected = inst_is_protected(&l->inst);
	if (whole)
		l->lima_version = read_small(&l->inst, PATH_VERSION);
	current = plan_is_current(&l->inst);
	if (plan_load(&l->plan, path, &none) < 0)
		current = false;
	if (l->status == INST_BROKEN)
		add_error(l, "there is no lima.yaml that can be read");
	else if (!current || whole)
		read_config(l, whole);
	state = path_in(l->inst.dir, PATH_STATE);
	if (l->status == INST_STOPPED && fs_exists(state))
		l->asleep = "Suspended";
	if (l->status == INST_ORPHAN)
		add_error(l, "the machine runs without its host agent; start takes it over");
	if (l->status == INST_RUNNING) {
		auto_free char *pid = read_small(&l->inst, PATH_HA_PID);

		l->host_agent = (pid_t)atol(pid);
		ask_host_agent(l, whole);
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

const char *look_status(const struct look *l)
{
	return l->asleep ? l->asleep : inst_status_word(l->status);
}

const char *look_vm_type(const struct look *l)
{
	return l->vm_type ? l->vm_type : l->plan.name ? plan_driver_word(l->plan.driver) : "";
}
