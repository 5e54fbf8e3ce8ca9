#include "limactl-c/cli/make.h"

#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/paths.h"

static bool same_text(const struct inst *i, const struct buf *text)
{
	auto_free char *path = path_in(i->dir, PATH_YAML);
	auto_buf have = BUF_INIT(SETUP_TEXT_MAX);
	struct err ignored = { 0 };

	return io_read_file(path, &have, &ignored) == 0 && have.len == text->len &&
	       (!text->len || !memcmp(have.data, text->data, text->len));
}

static int write_plan(const struct plan *p, struct err *e)
{
	auto_free char *path = path_in(p->dir, PATH_PLAN);

	return images_prepare(p, e) < 0 ? -1 : plan_save(p, path, e);
}

static int choose_name(const struct setup *s, const struct edit *edit, const char **name, struct err *e)
{
	*name = edit->name ? edit->name : s->name;
	if (!*name)
		return err_set(e, ERR_USAGE, "the instance needs a name: give --name");
	return inst_check_name(*name, e);
}

/* 1: there is one, and it may be used; 0: there is none. */
static int look_for_existing(const struct setup *s, const char *name, bool existing_ok, struct inst *out, struct err *e)
{
	if (inst_open(name, out, e) < 0)
		return e->kind == ERR_NOTFOUND ? 0 : -1;
	if (existing_ok && same_text(out, &s->text))
		return 1;
	err_set(e, ERR_EXISTS,
		"instance \"%s\" exists already (%s)%s; use `limactl-c start %s`, another --name, or delete it first", name,
		out->dir, existing_ok ? " and was made from another template or with other options" : "", name);
	inst_fini(out);
	return -1;
}

int make_instance(const char *locator, const struct edit *edit, bool existing_ok, struct inst *out, bool *existed,
		  struct err *e)
{
	auto_setup s = SETUP_INIT;
	auto_free char *home = NULL, *dir = NULL;
	struct err undo = { 0 };
	const char *name;
	int found;

	*existed = false;
	if (setup_read(&s, locator, e) < 0 || setup_edit(&s, edit, e) < 0 || choose_name(&s, edit, &name, e) < 0)
		return -1;
	found = look_for_existing(&s, name, existing_ok, out, e);
	if (found) {
		*existed = found > 0;
		return found > 0 ? 0 : -1;
	}
	*e = (struct err){ 0 };
	if (!(home = paths_home(e)))
		return -1;
	dir = xasprintf("%s/%s", home, name);
	if (paths_check_dir(dir, e) < 0 || setup_check(&s, e) < 0 || setup_plan(&s, name, dir, NULL, e) < 0)
		return -1;
	if (s.host.uid == 0)
		say_info("Running as root, which is not needed: any user can run instances");
	say_info("Creating the instance \"%s\"", name);
	if (inst_create(name, s.text.data ? s.text.data : "", s.text.len, out, e) < 0)
		return -1;
	if (write_plan(&s.plan, e) == 0)
		return 0;
	inst_delete(out, &undo);
	inst_fini(out);
	return -1;
}

int make_check(const struct inst *i, struct err *e)
{
	auto_setup s = SETUP_INIT;

	return setup_read_inst(&s, i, e) < 0 || setup_check_quietly(&s, e) < 0 ? err_wrap(e, "instance \"%s\"", i->name) : 0;
}

int make_ready(const struct inst *i, const struct edit *edit, struct err *e)
{
	auto_setup s = SETUP_INIT;
	auto_free char *path = path_in(i->dir, PATH_PLAN);
	struct plan former = { 0 };
	struct err none = { 0 };
	bool changed = edit && (edit->cpus || edit->memory);
	int rc;

	if (edit && edit->disk)
		return err_set(e, ERR_USAGE, "--disk: the disk of the existing instance \"%s\" cannot be resized in this "
			       "version", i->name);
	if (setup_read_inst(&s, i, e) < 0 || (changed && setup_edit(&s, edit, e) < 0) || setup_check(&s, e) < 0)
		return -1;
	plan_load(&former, path, &none);
	rc = setup_plan(&s, i->name, i->dir, former.name ? &former : NULL, e);
	plan_free(&former);
	if (rc == 0 && changed)
		rc = fs_write_atomic(s.label, s.text.data, s.text.len, 0644, e);
	return rc < 0 ? -1 : write_plan(&s.plan, e);
}
