#include "limactl-c/cli/make.h"

#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/seedfile.h"
#include "limactl-c/cli/shares.h"
#include "limactl-c/cli/sshfile.h"
#include "limactl-c/store/paths.h"

static bool same_text(const struct inst *i, const struct buf *text)
{
	auto_free char *path = path_in(i->dir, PATH_YAML);
	auto_buf have = BUF_INIT(SETUP_TEXT_MAX);
	struct err ignored = { 0 };

	return io_read_file(path, &have, &ignored) == 0 && buf_same(&have, text);
}

static int write_plan(const struct setup *s, struct err *e)
{
	auto_free char *path = path_in(s->plan.dir, PATH_PLAN);

	if (shares_prepare(&s->plan, e) < 0 || images_prepare(&s->plan, e) < 0 ||
	    seedfile_write(&s->cfg, &s->host, &s->plan, e) < 0 || sshfile_write(&s->plan, e) < 0)
		return -1;
	return plan_save(&s->plan, path, e);
}

/* 1: there is one, and it may be used; 0: there is none. */
static int look_for_existing(const struct setup *s, bool existing_ok, struct inst *out, struct err *e)
{
	const char *name = s->inst_name;

	if (inst_open(name, out, e) < 0) {
		if (e->kind != ERR_NOTFOUND)
			return -1;
		*e = (struct err){ 0 };
		return 0;
	}
	if (existing_ok && same_text(out, &s->text))
		return 1;
	err_set(e, ERR_EXISTS,
		"instance \"%s\" exists already (%s)%s; use `limactl-c start %s`, another --name, or delete it first", name,
		out->dir, existing_ok ? " and was made from another template or with other options" : "", name);
	inst_fini(out);
	return -1;
}

/* The text as the instance will have it. */
static int prepare(struct setup *s, const struct make *m, struct err *e)
{
	auto_free char *home = paths_home(e), *dir = NULL;
	const char *name;

	s->rules = m->rules;
	if (!home || setup_read(s, m->locator, e) < 0)
		return -1;
	name = m->name ? m->name : s->name;
	if (!name)
		return err_set(e, ERR_USAGE, "the instance needs a name: give --name");
	if (inst_check_name(name, e) < 0)
		return -1;
	dir = xasprintf("%s/%s", home, name);
	setup_belongs(s, name, dir);
	/* What flags work on may be in a base; a base may come by a flag. */
	if (setup_embed(s, e) < 0 || setup_edit(s, m->edit, true, e) < 0)
		return -1;
	return m->edit->set.count ? setup_embed(s, e) : 0;
}

int make_instance(const struct make *m, struct inst *out, bool *existed, struct err *e)
{
	auto_setup s = SETUP_INIT;
	struct err undo = { 0 };
	int found;

	*existed = false;
	if (prepare(&s, m, e) < 0)
		return -1;
	s.starts_later = !m->existing_ok; /* made by create, it is not started now */
	found = look_for_existing(&s, m->existing_ok, out, e);
	if (found) {
		*existed = found > 0;
		return found > 0 ? 0 : -1;
	}
	if (paths_check_dir(s.inst_dir, e) < 0 || setup_check(&s, e) < 0 ||
	    setup_plan(&s, NULL, e) < 0)
		return -1;
	if (s.host.uid == 0)
		say_info("Running as root, which is not needed: any user can run instances");
	say_info("Creating the instance \"%s\"", s.inst_name);
	if (inst_create(s.inst_name, s.text.data ? s.text.data : "", s.text.len, out, e) < 0)
		return -1;
	if (write_plan(&s, e) == 0)
		return 0;
	inst_delete(out, &undo);
	inst_fini(out);
	return -1;
}

/* --- instances that are there --- */

static void load_former(const struct inst *i, struct plan *former)
{
	auto_free char *path = path_in(i->dir, PATH_PLAN);
	struct err none = { 0 };

	plan_load(former, path, &none);
}

static int check_disk(const struct plan *former, const struct setup *s, struct err *e)
{
	auto_free char *was = text_size(former->disk_size), *now = text_size(s->cfg.disk);

	if (s->cfg.disk >= former->disk_size)
		return 0;
	return err_set(e, ERR_INVALID, "%s: disk: cannot be made smaller: it has %s, %s are asked for", s->label, was, now);
}

int make_check(const struct inst *i, struct setup *s, struct err *e)
{
	CLEANUP(plan_free) struct plan former = { 0 };

	load_former(i, &former);
	return setup_check(s, e) < 0 || setup_possible(s, e) < 0 ? -1 : check_disk(&former, s, e);
}

static int read_edited(struct setup *s, const struct inst *i, const struct edit *edit, const struct setup_rules *rules,
		       struct err *e)
{
	if (rules)
		s->rules = *rules;
	return setup_read_inst(s, i, e) < 0 || (edit && setup_edit(s, edit, false, e) < 0) ? -1 : 0;
}

int make_check_edit(const struct inst *i, const struct edit *edit, const struct setup_rules *rules, struct err *e)
{
	auto_setup s = SETUP_INIT;

	s.quiet = true;
	return read_edited(&s, i, edit, rules, e) < 0 ? -1 : make_check(i, &s, e);
}

int make_ready(const struct inst *i, const struct edit *edit, const struct setup_rules *rules, struct err *e)
{
	CLEANUP(plan_free) struct plan former = { 0 };
	auto_hold hold = INST_HOLD_INIT;
	auto_setup s = SETUP_INIT;
	bool changes = edit && edit_given(edit);

	/* Two changes at once would leave one of them. */
	if (changes && inst_hold(i, &hold, e) < 0)
		return -1;
	load_former(i, &former);
	if (read_edited(&s, i, edit, rules, e) < 0 || setup_check(&s, e) < 0 ||
	    check_disk(&former, &s, e) < 0 || setup_plan(&s, former.name ? &former : NULL, e) < 0 ||
	    images_grow(&s.plan, &former, e) < 0)
		return -1;
	/* Who changes nothing does not hold it: what the file says by now is somebody else's change. */
	if (changes && !same_text(i, &s.text) && fs_write_atomic(s.label, s.text.data, s.text.len, 0644, e) < 0)
		return -1;
	return write_plan(&s, e);
}

int make_load(const struct inst *i, struct plan *out, struct err *e)
{
	auto_free char *path = path_in(i->dir, PATH_PLAN);

	if (plan_load(out, path, e) < 0)
		return -1;
	if (!strcmp(out->dir, i->dir))
		return 0;
	plan_free(out);
	return make_ready(i, NULL, NULL, e) < 0 ? -1 : plan_load(out, path, e);
}
