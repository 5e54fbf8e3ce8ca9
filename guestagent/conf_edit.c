#include "guestagent/conf_edit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MARK_REPLACED "#lima+"
#define MARK_DROPPED "#lima-"

enum conf_what conf_by_prefix(const struct setup *su, const void *arg, const char *line, char new[CONF_LINE_MAX])
{
	const struct conf_prefix *p = arg;
	size_t indent = strspn(line, " \t");

	(void)su;
	if (strncmp(line + indent, p->prefix, strlen(p->prefix)) != 0)
		return CONF_KEEP;
	if (snprintf(new, CONF_LINE_MAX, "%.*s%s", (int)indent, line, p->text) >= CONF_LINE_MAX)
		return CONF_KEEP;
	return CONF_REPLACE;
}

/* Cuts the next line off *text; NULL at the end. */
static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (!*line)
		return NULL;
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

/* The text as it was before any edit of ours. */
static int restore(char *text, struct buf *out)
{
	int bad = buf_adds(out, "");

	for (char *line; (line = next_line(&text));) {
		bool replaced = strncmp(line, MARK_REPLACED, strlen(MARK_REPLACED)) == 0;
		const char *old = line + strlen(MARK_REPLACED);

		if (!replaced && strncmp(line, MARK_DROPPED, strlen(MARK_DROPPED)) != 0) {
			bad |= buf_addf(out, "%s\n", line);
			continue;
		}
		/* A mark with nothing behind it stands before a line that was added. */
		if (*old == ' ')
			bad |= buf_addf(out, "%s\n", old + 1);
		if (replaced)
			next_line(&text);
	}
	return bad;
}

static int apply(const struct setup *su, const struct conf_rule *rule, char *text, struct buf *out)
{
	bool there = !rule->add;
	char new[CONF_LINE_MAX];
	int bad = buf_adds(out, "");

	for (char *line; (line = next_line(&text));) {
		enum conf_what what = CONF_KEEP;

		new[0] = '\0';
		if (rule->line && strlen(line) < CONF_LINE_MAX)
			what = rule->line(su, rule->arg, line, new);
		if (what == CONF_REPLACE && strcmp(line, new) == 0)
			what = CONF_KEEP;
		if (what == CONF_DROP)
			bad |= buf_addf(out, MARK_DROPPED " %s\n", line);
		else if (what == CONF_REPLACE)
			bad |= buf_addf(out, MARK_REPLACED " %s\n%s\n", line, new);
		else
			bad |= buf_addf(out, "%s\n", line);
		there |= what == CONF_REPLACE || (rule->add && strcmp(line, rule->add) == 0);
	}
	if (!there)
		bad |= buf_addf(out, MARK_REPLACED "\n%s\n", rule->add);
	return bad;
}

int conf_edit(const struct setup *su, const char *path, const struct conf_rule *rule, bool on, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX), plain = BUF_INIT(SU_FILE_MAX), new = BUF_INIT(SU_FILE_MAX);
	char full[SU_PATH_MAX];
	struct stat st;

	if (stat(su_path(su, path, full), &st) < 0)
		return 0;
	if (su_read(su, path, &old, e) < 0)
		return -1;
	if (!on && !strstr(old.data, MARK_REPLACED) && !strstr(old.data, MARK_DROPPED))
		return 0;
	/* A file with a zero byte would lose what follows. */
	if (strlen(old.data) != old.len)
		return err_set(e, ERR_INVALID, "%s is no text", path);
	if (restore(old.data, &plain) || (on && apply(su, rule, plain.data, &new)))
		return err_set(e, ERR_INVALID, "%s is too large", path);
	return su_write(su, path, on ? new.data : plain.data, st.st_mode & 07777, e);
}
