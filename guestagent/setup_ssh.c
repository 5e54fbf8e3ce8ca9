/* setup_ssh.c - who may log in by ssh: the host's keys among those of the user, for the SSH server that somebody may install. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup_steps.h"
#include "guestagent/user.h"
#include "lib/cleanup.h"
#include "lib/io.h"

struct keys {
	const struct setup *su;
	const char *home;
};

static bool is_key(const struct setting *s)
{
	return !strncmp(s->key, "ssh.key.", 8) && *s->value;
}

static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") == n && !memcmp(p, line, n))
			return true;
	return false;
}

/* What is missing in text, as lines to put behind it. */
static int missing(const struct setup *su, const char *text, struct buf *out)
{
	size_t n = strlen(text);
	int bad = 0;

	for (size_t i = 0; i < su->settings->count; i++) {
		const struct setting *s = &su->settings->item[i];

		if (!is_key(s) || has_line(text, s->value))
			continue;
		if (!out->len && n && text[n - 1] != '\n')
			bad |= buf_adds(out, "\n");
		bad |= buf_addf(out, "%s\n", s->value);
	}
	return bad;
}

/* As the user, whose folder it is: a link there leads to nothing that is not the user's already. */
static int append(const void *arg, struct err *e)
{
	const struct keys *k = arg;
	auto_buf text = BUF_INIT(SU_FILE_MAX), lines = BUF_INIT(SU_FILE_MAX);
	char dir[SU_PATH_MAX], path[SU_PATH_MAX], name[SU_PATH_MAX];
	auto_close int fd = -1;

	snprintf(name, sizeof(name), "%s/.ssh", k->home);
	if (mkdir(su_path(k->su, name, dir), 0700) < 0 && errno != EEXIST)
		return err_errno(e, "%s", name);
	snprintf(name, sizeof(name), "%.900s/.ssh/authorized_keys", k->home);
	if (su_read(k->su, name, &text, e) < 0)
		return -1;
	if (missing(k->su, text.data, &lines))
		return err_set(e, ERR_INVALID, "%s is too large", name);
	fd = open(su_path(k->su, name, path), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || (lines.len && io_write_full(fd, lines.data, lines.len) < 0))
		return err_errno(e, "%s", name);
	return 0;
}

int setup_ssh_keys(const struct setup *su, struct err *e)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX), lines = BUF_INIT(SU_FILE_MAX);
	char name[SU_PATH_MAX];
	struct ga_user user;
	struct err none;

	if (ga_user_find(&user, su->settings, false, e) < 0)
		return -1;
	snprintf(name, sizeof(name), "%s/.ssh/authorized_keys", user.home);
	/* They are there already at every boot but the first. */
	if (su_read(su, name, &text, &none) == 0 && missing(su, text.data, &lines) == 0 && !lines.len)
		return 0;
	return ga_user_call(&user, append, &(struct keys){ su, user.home }, e);
}
