/* show-ssh: how to reach an instance by ssh, in the forms that Lima prints. */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/look.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/sshfile.h"
#include "limactl-c/store/paths.h"

enum { TEXT_MAX = 256 * 1024 };

struct show_opts {
	const char *format;
};

/* One word of a POSIX shell, in quotes where it needs them: ssh wants to see those of its values. */
static int add_word(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
	int bad = 0;

	if (*word && !word[strspn(word, plain)])
		return buf_adds(b, word);
	bad = buf_adds(b, "'");
	for (; *word; word++)
		bad |= *word == '\'' ? buf_adds(b, "'\\''") : buf_add(b, word, 1);
	return bad | buf_adds(b, "'");
}

static int add_option(struct buf *b, const char *before, const char *line, size_t n, const char *after)
{
	auto_free char *option = xstrndup(line, n);
	char *blank = strchr(option, ' ');

	if (blank)
		*blank = '=';
	/* "-o" says that a shell will read it. */
	return buf_adds(b, before) | (*before ? add_word(b, option) : buf_adds(b, option)) | buf_adds(b, after);
}

static int add_options(const struct plan *p, struct buf *b, const char *before, const char *after)
{
	auto_free char *all = sshfile_options(p);
	int bad = 0;

	for (const char *at = all, *end; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		bad |= add_option(b, before, at, (size_t)(end - at), after);
	}
	return bad;
}

static int as_cmd(const struct plan *p, struct buf *b)
{
	return buf_adds(b, "ssh") | add_options(p, b, " -o ", "") | buf_addf(b, " %s\n", p->hostname);
}

static int as_args(const struct plan *p, struct buf *b)
{
	int bad = add_options(p, b, " -o ", "");

	buf_drop_front(b, 1);
	return bad | buf_adds(b, "\n");
}

static int as_options(const struct plan *p, struct buf *b)
{
	return add_options(p, b, "", "\n");
}

static const struct {
	const char *word;
	int (*fn)(const struct plan *p, struct buf *b);
} formats[] = {
	{ "cmd", as_cmd },
	{ "args", as_args },
	{ "options", as_options },
	{ "config", sshfile_text },
};
#define FORMAT_WORDS "cmd|args|options|config"

/* What ssh will not say by itself. */
static void warn(const struct look *l)
{
	const char *name = l->inst.name;

	if (l->status != INST_RUNNING)
		say_warn("instance \"%s\" does not run: `limactl-c start %s` starts it", name, name);
	else if (!l->ssh_keys)
		say_warn("the guest of \"%s\" has told no host key, so ssh refuses it: no SSH server is installed there. "
			 "`limactl-c shell %s` needs none", name, name);
}

static int show(const struct look *l, const char *format, struct err *e)
{
	auto_free char *file = path_in(l->inst.dir, PATH_SSH_CONFIG);
	auto_buf text = BUF_INIT(TEXT_MAX);
	int bad = 0;

	if (!l->plan.ssh_port)
		return err_set(e, ERR_STATE, "instance \"%s\" has no ssh port until it is started once: `limactl-c start %s`",
			       l->inst.name, l->inst.name);
	warn(l);
	say_info("Shorter: ssh -F %s %s", file, l->plan.hostname);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(format, formats[i].word))
			bad = formats[i].fn(&l->plan, &text);
	if (bad || !text.data)
		return err_set(e, ERR_INVALID, "there is too much to show");
	fputs(text.data, stdout);
	return 0;
}

static int run(const struct call *call, struct err *e)
{
	const struct show_opts *o = call->opts;
	struct look l;
	int rc;

	if (look_at(call->arg[0], NULL, &l, e) < 0)
		return -1;
	rc = show(&l, o->format ? o->format : "cmd", e);
	look_free(&l);
	return rc;
}

static const struct opt opts[] = {
	{ "format", 'f', OPT_WORD, offsetof(struct show_opts, format), "FORMAT",
	  .help = "cmd, args, options, config (default cmd)", .words = FORMAT_WORDS },
	{ 0 },
};

const struct cmd cmd_show_ssh = {
	.name = "show-ssh",
	.args = "INSTANCE",
	.summary = "Show how ssh reaches an instance (better: ssh -F DIR/ssh.config)",
	.opt = opts,
	.opts_size = sizeof(struct show_opts),
	.least = 1,
	.most = 1,
	.run = run,
};
