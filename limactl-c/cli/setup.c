#include "limactl-c/cli/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/findings.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/source.h"
#include "limactl-c/cli/sshfile.h"
#include "limactl-c/config/embed.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/store/cache_use.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/paths.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"

const struct opt setup_rules_opts[] = {
	{ "lenient", 0, OPT_FLAG, offsetof(struct setup_rules, lenient), .help = "unknown keys are warnings, not errors" },
	{ "strict", 0, OPT_FLAG, offsetof(struct setup_rules, strict),
	  .help = "{{…}} that cannot be filled is an error, not a warning" },
	{ 0 },
};

void setup_fini(struct setup *s)
{
	free(s->label);
	free(s->locator);
	free(s->name);
	free(s->inst_name);
	free(s->inst_dir);
	buf_free(&s->text);
	findings_fini(&s->findings);
	plan_host_free(&s->host);
	cfg_free(&s->cfg);
	yn_pool_free(s->pool);
	plan_free(&s->plan);
	found_free(&s->found);
	for (size_t i = 0; i < PLAN_EXTRA_MAX; i++)
		disk_fini(&s->disk[i]);
	if (s->cache_use >= 0)
		close(s->cache_use);
}

void setup_belongs(struct setup *s, const char *name, const char *dir)
{
	free(s->inst_name);
	free(s->inst_dir);
	s->inst_name = xstrdup(name);
	s->inst_dir = xstrdup(dir);
}

int setup_read(struct setup *s, const char *locator, struct err *e)
{
	s->label = xstrdup(strcmp(locator, "-") ? locator : "standard input");
	s->locator = xstrdup(locator);
	s->name = locator_instance_name(locator);
	return locator_read(locator, NULL, &source_reader, &s->text, e);
}

int setup_read_inst(struct setup *s, const struct inst *i, struct err *e)
{
	s->label = path_in(i->dir, PATH_YAML);
	s->locator = xstrdup(s->label);
	setup_belongs(s, i->name, i->dir);
	return io_read_file(s->label, &s->text, e);
}

static int put_text(struct setup *s, const char *text, size_t len, struct err *e)
{
	buf_drop_front(&s->text, s->text.len);
	return buf_add(&s->text, text, len) < 0 ?
		       err_set(e, ERR_INVALID, "%s is larger than %d bytes", s->label, SETUP_TEXT_MAX) :
		       0;
}

int setup_take(struct setup *s, const char *text, size_t len, struct err *e)
{
	s->root = s->tree = NULL;
	findings_fini(&s->findings);
	return put_text(s, text, len, e);
}

static const char *text_of(const struct buf *b)
{
	return b->data ? b->data : "";
}

/* Reads s->text into s->tree, unless it is there. -1 when it is no mapping; other mistakes wait in s->findings. */
static int parse(struct setup *s, struct err *e)
{
	struct findings *f = &s->findings;

	if (s->tree)
		return 0;
	if (!s->pool)
		s->pool = yn_pool_new();
	s->root = yn_parse(s->pool, s->label, text_of(&s->text), s->text.len, f);
	if (s->root && s->root->kind == YN_MAP) {
		s->tree = s->root;
		return 0;
	}
	if (s->root)
		finding_error(f, yn_place(s->root), NULL, "a mapping of keys to values is needed, not %s",
			      yn_kind_word(s->root->kind));
	findings_result(f, s->label, e);
	findings_say(f);
	return -1;
}

/* From now on the tree says this, and the text too, unless it has mistakes: it will not be used then. */
static int patch(struct setup *s, const struct ynode *now, struct err *e)
{
	auto_buf text = BUF_INIT(SETUP_TEXT_MAX);
	bool same = yn_same(s->tree, now);

	s->tree = now;
	if (same || s->findings.errors)
		return 0;
	if (yn_patch(s->root, now, &text, e) < 0)
		return err_wrap(e, "%s", s->label);
	return put_text(s, text_of(&text), text.len, e);
}

/* A file of $LIMA_HOME/_config, malloc'd; NULL: there is none. */
static char *config_file(const char *name)
{
	struct err none;
	auto_free char *home = paths_home(&none);
	auto_free char *path = home ? xasprintf("%s/_config/%s", home, name) : NULL;

	return path && fs_exists(path) ? steal(&path) : NULL;
}

int setup_embed(struct setup *s, struct err *e)
{
	auto_free char *first = s->embedded ? NULL : config_file("base.yaml");
	const struct embed how = { .reader = &source_reader, .first = first, .all = true };
	const struct ynode *now;
	size_t errors;

	if (parse(s, e) < 0)
		return -1;
	errors = s->findings.errors;
	now = embed_template(s->pool, s->tree, s->locator, &how, &s->findings);
	s->partial |= s->findings.errors > errors;
	s->embedded = true;
	return patch(s, now, e);
}

int setup_edit(struct setup *s, const struct edit *edit, bool is_new, struct err *e)
{
	struct ynode *now;

	if (!edit_given(edit))
		return 0;
	if (parse(s, e) < 0)
		return -1;
	/* What could not be read may be what the flags are about. */
	if (s->findings.errors)
		return setup_check(s, e);
	now = yn_copy(s->pool, s->tree);
	return edit_apply(s->pool, edit, is_new, &now, e) < 0 ? -1 : patch(s, now, e);
}

/* --- checks --- */

/* A text of $LIMA_HOME/_config that every instance is merged with. */
struct layer {
	char *path;
	struct buf text;
};

static void layer_fini(struct layer *l)
{
	free(l->path);
	buf_free(&l->text);
}

static int layer_read(struct layer *l, const char *name, struct cfg_text *out, struct err *e)
{
	l->path = config_file(name);
	if (!l->path)
		return 0;
	if (io_read_file(l->path, &l->text, e) < 0)
		return -1;
	*out = (struct cfg_text){ l->path, text_of(&l->text), l->text.len };
	return 0;
}

/* What a flag gave stands in no file. */
static void name_text(const struct setup *s, struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		if (!f->item[i].at.file)
			f->item[i].at.file = xstrdup(s->label);
	}
}

/* What is found is added to f. */
static int check(struct setup *s, struct findings *f, struct err *e)
{
	CLEANUP(layer_fini) struct layer defaults = { .text = BUF_INIT(SETUP_TEXT_MAX) };
	CLEANUP(layer_fini) struct layer override = { .text = BUF_INIT(SETUP_TEXT_MAX) };
	struct cfg_host host;
	struct cfg_input in = {
		.instance = { s->label, text_of(&s->text), s->text.len },
		.tree = s->tree,
		.host = &host,
		.name = s->inst_name,
		.dir = s->inst_dir,
		.partial = s->partial,
		.lenient = s->rules.lenient,
		.strict = s->rules.strict,
	};

	plan_host_free(&s->host);
	cfg_free(&s->cfg);
	if (layer_read(&defaults, "default.yaml", &in.defaults, e) < 0 ||
	    layer_read(&override, "override.yaml", &in.override, e) < 0 || plan_host_probe(&s->host, e) < 0)
		return -1;
	host = plan_host_facts(&s->host);
	in.lima_home = s->host.lima_home;
	cfg_read(&in, &s->cfg, f);
	name_text(s, f);
	return findings_result(f, s->label, e);
}

static void tell(const struct setup *s, struct findings *f)
{
	if (!s->quiet || f->errors)
		findings_say(f);
	findings_fini(f);
}

int setup_check(struct setup *s, struct err *e)
{
	int rc = check(s, &s->findings, e);

	tell(s, &s->findings);
	return rc;
}

int setup_possible(struct setup *s, struct err *e)
{
	struct findings f = { 0 };
	int rc = plan_supported(&s->cfg, s->label, &f) ? 0 : findings_result(&f, s->label, e);

	name_text(s, &f);
	tell(s, &f);
	return rc < 0 ? -1 : plan_possible(&s->cfg, &s->host, e);
}

int setup_check_quietly(struct setup *s, struct err *e)
{
	struct findings *f = &s->findings;
	size_t i = 0;
	int rc;

	s->rules.lenient = true;
	rc = check(s, f, e);
	findings_sort(f);
	while (i < f->count && f->item[i].warning)
		i++;
	if (rc < 0 && i < f->count) {
		auto_free char *line = finding_line(&f->item[i]);

		err_set(e, ERR_INVALID, "%s", line);
	}
	findings_fini(f);
	return rc;
}

/* The extra disks, their paths and formats for the plan. Who uses them is asked when they are locked. */
static int find_disks(struct setup *s, struct plan_extra *extra, struct err *e)
{
	for (size_t i = 0; i < s->cfg.additional_disks && i < PLAN_EXTRA_MAX; i++) {
		struct disk *d = &s->disk[i];

		disk_fini(d);
		if (disk_open(s->cfg.additional_disk[i].name, d, e) < 0) {
			err_wrap(e, "additionalDisks[%zu]", i);
			if (!s->starts_later || e->kind != ERR_NOTFOUND)
				return -1;
			say_warn("%s", e->msg);
		}
		extra[i] = (struct plan_extra){ d->path, d->format };
	}
	return 0;
}

int setup_plan(struct setup *s, const struct plan *former, struct err *e)
{
	auto_free char *machine_id = inst_machine_id(s->inst_dir);
	struct plan_extra extra[PLAN_EXTRA_MAX] = { 0 };
	struct plan_images images;

	if (setup_possible(s, e) < 0 || plan_host_for_guest(&s->host, s->cfg.arch, e) < 0 ||
	    find_disks(s, extra, e) < 0)
		return -1;
	if (s->cfg.mounts && !strcmp(s->cfg.mount_type, "virtiofs"))
		plan_host_find_virtiofsd(&s->host, "");
	found_free(&s->found);
	if (!s->host.fake && s->cache_use < 0)
		s->cache_use = cache_use();
	if (!s->host.fake && found_make(&s->found, &s->cfg, former, e) < 0)
		return -1;
	if (sshfile_probe(&s->cfg, former, s->inst_dir, !s->starts_later, &s->host, e) < 0)
		return -1;
	images = found_images(&s->found);
	images.machine_id = machine_id;
	images.extra = extra;
	images.extras = s->cfg.additional_disks < PLAN_EXTRA_MAX ? s->cfg.additional_disks : PLAN_EXTRA_MAX;
	return plan_make(&s->cfg, &s->host, &images, s->inst_name, s->inst_dir, &s->plan, e);
}

static int read_one(const char *name, void (*each)(void *arg, const struct inst *i, const struct cfg *c), void *arg,
		    struct err *e)
{
	auto_setup s = SETUP_INIT;
	struct inst inst;
	int rc;

	if (inst_open(name, &inst, e) < 0)
		return e->kind == ERR_NOTFOUND ? 0 : -1; /* deleted meanwhile */
	rc = setup_read_inst(&s, &inst, e) < 0 || setup_check_quietly(&s, e) < 0 ? -1 : 0;
	if (rc == 0)
		each(arg, &inst, &s.cfg);
	else if (!fs_exists(inst.dir))
		rc = 0;
	else
		err_wrap(e, "instance \"%s\"", name);
	inst_fini(&inst);
	return rc;
}

int setup_each_inst(void (*each)(void *arg, const struct inst *i, const struct cfg *c), void *arg, struct err *e)
{
	size_t count = 0;
	char **names;
	int rc = inst_list(&names, &count, e);

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = read_one(names[i], each, arg, e);
	folder_list_free(names, count);
	return rc;
}
