#include "guestagent/grub_entries.h"

#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#include "guestagent/grub.h"
#include "lib/cleanup.h"
#include "lib/cmdline.h"

#define ENTRIES "/boot/loader/entries/*.conf"

bool grub_entries_are(const struct setup *su)
{
	char path[SU_PATH_MAX];
	glob_t g;

	if (glob(su_path(su, ENTRIES, path), 0, NULL, &g) != 0)
		return false;
	globfree(&g);
	return true;
}

/* The words of a line "options WORDS"; NULL: it is another. */
static char *options_of(char *line)
{
	static const char name[] = "options";

	line += strspn(line, " \t");
	if (strncmp(line, name, strlen(name)) != 0 || (line[strlen(name)] != ' ' && line[strlen(name)] != '\t'))
		return NULL;
	return line + strlen(name) + 1;
}

static bool options_follow(char *text)
{
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (options_of(line))
			return true;
	}
	return false;
}

/* Ours, behind what the file says itself. */
static int add_ours(const struct setup *su, const char *said, struct buf *out)
{
	auto_buf words = BUF_INIT(SU_FILE_MAX);
	const char *at = settings_get(su->settings, "loader.args", "");
	int bad = 0;

	for (size_t n; (n = grub_word(&at)); at += n)
		if (!cmdline_has_key(said, at, n))
			bad |= buf_addf(&words, "%.*s ", (int)n, at);
	at = settings_get(su->settings, "loader.lastArgs", "");
	for (size_t n; (n = grub_word(&at)); at += n)
		bad |= buf_addf(&words, "%.*s ", (int)n, at);
	return words.len ? bad | buf_addf(out, " " CMDLINE_BEGIN " %s" CMDLINE_END, words.data) : bad;
}

/* Of several such lines the kernel is told all; the last one gets our words. */
static int make_entry(const struct setup *su, bool on, char *text, struct buf *out)
{
	int bad = buf_adds(out, "");

	for (char *line = text, *next; *line; line = next) {
		char *end = strchr(line, '\n'), *words;

		next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		words = options_of(line);
		if (words)
			cmdline_drop_ours(words);
		bad |= buf_adds(out, line);
		if (words && on && !options_follow(next))
			bad |= add_ours(su, words, out);
		bad |= buf_adds(out, end ? "\n" : "");
	}
	return bad;
}

static int put_entry(const struct setup *su, bool on, const char *path, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX), new = BUF_INIT(SU_FILE_MAX);
	char full[SU_PATH_MAX];
	struct stat st;

	if (stat(su_path(su, path, full), &st) < 0)
		return err_errno(e, "%s", path);
	if (su_read(su, path, &old, e) < 0)
		return -1;
	/* A file with a zero byte would lose what follows. */
	if (strlen(old.data) != old.len || make_entry(su, on, old.data, &new))
		return err_set(e, ERR_INVALID, "%s is no text of a bootable kernel's", path);
	return su_write(su, path, new.data, st.st_mode & 07777, e);
}

int grub_entries_put(const struct setup *su, bool on, struct err *e)
{
	char path[SU_PATH_MAX];
	int rc = 0;
	glob_t g;

	if (glob(su_path(su, ENTRIES, path), 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; rc == 0 && i < g.gl_pathc; i++)
		rc = put_entry(su, on, g.gl_pathv[i] + strlen(su->root), e);
	globfree(&g);
	return rc;
}
