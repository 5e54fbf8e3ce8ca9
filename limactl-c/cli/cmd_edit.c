#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/edit_editor.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/store/lock.h"

#define REJECTED "lima.REJECTED.yaml"

struct edit_cmd_opts {
	struct edit edit;
	struct setup_rules rules;
	bool start;
};

static bool has_terminal(const struct call *call)
{
	return call->tty == OPT_UNSET ? isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) : call->tty == OPT_YES;
}

static int by_hand(struct setup *s, const struct call *call, const char *what, struct err *e)
{
	auto_free char *about = xasprintf("%s as it is stored.", what);
	auto_buf text = BUF_INIT(SETUP_TEXT_MAX);

	if (!has_terminal(call))
		return err_set(e, ERR_USAGE, "edit: there is no terminal for an editor; say what to change by options like "
			       "--cpus or --set");
	if (edit_in_editor(about, &s->text, &text, e) < 0)
		return -1;
	/* Nothing but blanks: thought better of. */
	if (!text.len || strspn(text.data, " \t\r\n") == text.len)
		return 0;
	return setup_take(s, text.data, text.len, e);
}

/* 1: s->text is another than before, by the options or by hand; 0: it is not. */
static int change(struct setup *s, const struct buf *before, const struct call *call, bool is_new, const char *what,
		  struct err *e)
{
	const struct edit_cmd_opts *o = call->opts;
	int rc = edit_given(&o->edit) ? setup_edit(s, &o->edit, is_new, e) : by_hand(s, call, what, e);

	if (rc < 0)
		return -1;
	if (!buf_same(before, &s->text))
		return 1;
	say_info("%s stays as it is: nothing was changed", what);
	return 0;
}

static bool keep(const char *dir, const struct setup *s, const char *what, struct err *e)
{
	auto_free char *path = xasprintf("%s/" REJECTED, dir);

	if (fs_write_atomic(path, s->text.data, s->text.len, 0600, e) < 0)
		return false;
	say_info("The rejected text is kept in %s; %s stays as it was", path, what);
	return true;
}

/* What was typed is not lost, here or, where nothing can be written, elsewhere. */
static void reject(const struct setup *s, const char *what)
{
	auto_free char *here = getcwd(NULL, 0);
	const char *tmp = getenv("TMPDIR");
	struct err kept = { 0 };

	if (!(here && keep(here, s, what, &kept)) && !keep(tmp && *tmp ? tmp : "/tmp", s, what, &kept))
		say_error("The rejected text could not be kept: %s", kept.msg);
}

/* Puts the text in place of before; an editor may have been open for long. */
static int store(const char *path, const struct setup *s, const struct buf *before, mode_t mode, struct err *e)
{
	auto_buf now = BUF_INIT(SETUP_TEXT_MAX);

	if (io_read_file(path, &now, e) < 0)
		return -1;
	if (!buf_same(&now, before))
		return err_set(e, ERR_STATE, "%s was changed by somebody else meanwhile", path);
	return fs_write_atomic(path, s->text.data, s->text.len, mode, e);
}

/* Nobody starts it or changes it by a command meanwhile. */
static int change_instance(const struct inst *i, const struct call *call, const char *what, struct err *e)
{
	const struct edit_cmd_opts *o = call->opts;
	auto_hold hold = INST_HOLD_INIT;
	auto_buf before = BUF_INIT(SETUP_TEXT_MAX);
	auto_setup s = SETUP_INIT;
	int rc;

	s.rules = o->rules;
	/* An editor is not waited for. */
	if ((edit_given(&o->edit) && inst_hold(i, &hold, e) < 0) || setup_read_inst(&s, i, e) < 0)
		return -1;
	buf_add(&before, s.text.len ? s.text.data : "", s.text.len);
	rc = change(&s, &before, call, false, what, e);
	if (rc <= 0)
		return rc;
	if (make_check(i, &s, e) < 0 || (!edit_given(&o->edit) && inst_hold(i, &hold, e) < 0) ||
	    store(s.label, &s, &before, 0644, e) < 0) {
		reject(&s, what);
		return -1;
	}
	say_info("Changed %s", what);
	return 0;
}

static int edit_instance(const struct inst *i, const struct call *call, struct err *e)
{
	const struct edit_cmd_opts *o = call->opts;
	auto_free char *what = xasprintf("instance \"%s\"", i->name);

	if (inst_runs(i))
		return err_set(e, ERR_STATE, "%s is running: stop it first", what);
	if (change_instance(i, call, what, e) < 0)
		return -1;
	if (!o->start)
		return 0;
	return make_ready(i, NULL, &o->rules, e) < 0 ? -1 : launch(i, 0, false, e);
}

/* The text with its bases must do; the file keeps naming them. */
static int check_file(const struct setup *s, struct err *e)
{
	auto_setup whole = SETUP_INIT;

	whole.label = xstrdup(s->label);
	whole.locator = xstrdup(s->locator);
	whole.rules = s->rules;
	if (setup_take(&whole, s->text.data, s->text.len, e) < 0 || setup_embed(&whole, e) < 0)
		return -1;
	return setup_check(&whole, e);
}

/* Of several who write it at once, all but the first see that. */
static int store_file(const char *path, const struct setup *s, const struct buf *before, mode_t mode, struct err *e)
{
	auto_close int lock = open(path, O_RDONLY | O_CLOEXEC);

	/* Some file systems have no locks; two must meet within microseconds then. */
	if (lock >= 0)
		lock_wait(lock, LOCK_EX);
	return store(path, s, before, mode, e);
}

static int edit_file(const char *path, const struct call *call, struct err *e)
{
	const struct edit_cmd_opts *o = call->opts;
	auto_free char *what = xasprintf("\"%s\"", path), *real = NULL;
	auto_buf before = BUF_INIT(SETUP_TEXT_MAX);
	auto_setup s = SETUP_INIT;
	struct stat st;
	int rc;

	s.rules = o->rules;
	if (o->start)
		return err_set(e, ERR_USAGE, "--start is for instances; `limactl-c start %s` makes one of the file", path);
	if (locator_kind(path) != LOCATOR_FILE)
		return err_set(e, ERR_USAGE, "edit: %s is no file; `limactl-c template copy %s FILE` makes one of it", path,
			       path);
	/* A link stays one. */
	real = realpath(path, NULL);
	if (!real || stat(real, &st) < 0)
		return err_errno(e, "%s", path);
	if (setup_read(&s, path, e) < 0)
		return -1;
	buf_add(&before, s.text.len ? s.text.data : "", s.text.len);
	rc = change(&s, &before, call, true, what, e);
	if (rc <= 0)
		return rc;
	if (check_file(&s, e) < 0 || store_file(real, &s, &before, st.st_mode & 0777, e) < 0) {
		reject(&s, what);
		return -1;
	}
	say_info("Changed %s", what);
	return 0;
}

static int run(const struct call *call, struct err *e)
{
	const char *arg = call->args ? call->arg[0] : "default";
	struct err no_name = { 0 };
	struct inst i;
	int rc;

	if (inst_check_name(arg, &no_name) < 0)
		return edit_file(arg, call, e);
	if (inst_open(arg, &i, e) < 0)
		return e->kind == ERR_NOTFOUND && fs_exists(arg) ?
			       err_set(e, ERR_NOTFOUND, "instance \"%s\" does not exist; for the file of that name say ./%s", arg,
				       arg) :
			       -1;
	rc = edit_instance(&i, call, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	{ "start", 0, OPT_FLAG, offsetof(struct edit_cmd_opts, start), .help = "start the instance afterwards" },
	{ 0 },
};

const struct cmd cmd_edit = {
	.name = "edit",
	.args = "[INSTANCE|FILE]",
	.summary = "Change a stopped instance or a template, by options or in an editor",
	.opt = opts,
	.shared = SETUP_SHARED(edit_cmd_opts),
	.opts_size = sizeof(struct edit_cmd_opts),
	.most = 1,
	.run = run,
};
