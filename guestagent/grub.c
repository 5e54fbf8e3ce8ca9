#include "guestagent/grub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/grub_entries.h"
#include "lib/cleanup.h"
#include "lib/cmdline.h"

#define DEFAULTS "/etc/default/grub"
#define FOLDER "/etc/default/grub.d"
#define DROP_IN FOLDER "/zz-lima.cfg" /* the last one read */
#define HEAD "# Written by lima-guestagent as the template says; changes are lost.\n"
#define RECORD_DIR "/var/lib/lima-guestagent"
#define RECORD RECORD_DIR "/grub"
#define UNFINISHED "unfinished\n"

struct grub {
	const char *mkconfig, *cfg;
	bool folder;  /* reads FOLDER */
	bool entries; /* kernels' arguments are not in cfg but in files of their own */
};

/* As distributions place them: Debian, Ubuntu and Alpine; Arch; Fedora and SUSE. */
static const struct grub kinds[] = {
	{ "/usr/sbin/grub-mkconfig", "/boot/grub/grub.cfg", false, false },
	{ "/usr/bin/grub-mkconfig", "/boot/grub/grub.cfg", false, false },
	{ "/usr/sbin/grub2-mkconfig", "/boot/grub2/grub.cfg", false, false },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool find(const struct setup *su, struct grub *g)
{
	for (size_t i = 0; i < KINDS; i++) {
		if (!su_exists(su, kinds[i].mkconfig) || !su_exists(su, kinds[i].cfg))
			continue;
		*g = kinds[i];
		g->folder = su_has(su, g->mkconfig, "/default/grub.d");
		g->entries = su_has(su, g->cfg, "blscfg") && grub_entries_are(su);
		return g->folder || su_exists(su, DEFAULTS);
	}
	return false;
}

bool grub_is(const struct setup *su)
{
	struct grub g;

	return find(su, &g);
}

/* --- what is added: lines for the shell that GRUB's program is --- */

bool grub_is_plain(const char *word, size_t n)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,:=/+@%~";

	return strspn(word, plain) >= n;
}

size_t grub_word(const char **at)
{
	size_t n;

	while ((n = cmdline_word(at)) && !grub_is_plain(*at, n))
		*at += n;
	return n;
}

static int add_args(const struct setup *su, struct buf *b)
{
	const char *at = settings_get(su->settings, "loader.args", "");
	size_t n, key;
	int bad = buf_adds(b, "lima_said=\" $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT \" lima_args=\n");

	for (; (n = grub_word(&at)); at += n) {
		key = cmdline_key(at, n);
		bad |= buf_addf(b, "case $lima_said in *' %.*s '* | *' %.*s'[=,]*) ;; *) lima_args=\"$lima_args %.*s\" ;; esac\n",
				(int)key, at, (int)key, at, (int)n, at);
	}
	at = settings_get(su->settings, "loader.lastArgs", "");
	for (; (n = grub_word(&at)); at += n)
		bad |= buf_addf(b, "lima_args=\"$lima_args %.*s\"\n", (int)n, at);
	return bad | buf_adds(b, "[ -z \"$lima_args\" ] || GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
				 CMDLINE_BEGIN "$lima_args " CMDLINE_END "\"\n");
}

static void warn_of_odd_words(const struct setup *su)
{
	const char *at = settings_get(su->settings, "loader.lastArgs", "");

	for (size_t n; (n = cmdline_word(&at)); at += n)
		if (!grub_is_plain(at, n))
			su_warn(su, "guest.kernelArgs: %.*s is not given to GRUB, to which some of its characters are special",
				(int)n, at);
}

static int make_text(const struct setup *su, const struct grub *g, struct buf *b, struct err *e)
{
	int bad = buf_adds(b, "");

	/* Ubuntu's waits half a minute after a start that did not end well. */
	if (su_flag(su, "tuning.skipBootMenu", false))
		bad |= buf_adds(b, "GRUB_TIMEOUT=0\nGRUB_RECORDFAIL_TIMEOUT=0\n");
	if (su_flag(su, "tuning.kernelArgs", false) && !g->entries)
		bad |= add_args(su, b);
	return bad ? err_set(e, ERR_SYS, "the kernel's arguments are too long") : 0;
}

static int put_file(const struct setup *su, const char *text, bool *changed, struct err *e)
{
	auto_buf whole = BUF_INIT(SU_FILE_MAX);
	char path[SU_PATH_MAX];

	if (!*text) {
		*changed = unlink(su_path(su, DROP_IN, path)) == 0;
		return *changed || errno == ENOENT ? 0 : err_errno(e, "cannot remove %s", DROP_IN);
	}
	if (buf_addf(&whole, HEAD "%s", text) < 0)
		return err_set(e, ERR_SYS, "no memory");
	*changed = !su_says(su, DROP_IN, whole.data);
	return su_mkdirs(su, FOLDER, 0755, e) < 0 ? -1 : su_write(su, DROP_IN, whole.data, 0644, e);
}

static int put_block(const struct setup *su, const char *text, bool *changed, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX);

	if (su_read(su, DEFAULTS, &old, e) < 0 || su_block(su, DEFAULTS, text, e) < 0)
		return -1;
	*changed = !su_says(su, DEFAULTS, old.data);
	return 0;
}

/* --- grub.cfg --- */

static int sync_path(const char *path, int flags)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | flags);

	return fd < 0 ? -1 : fsync(fd);
}

/* Gives what was made to the file it is for: GRUB's program itself empties that first, and a machine that is switched off
 * then has no loader any more. */
static int replace(const char *new, const char *old, struct err *e)
{
	char folder[PATH_MAX];
	struct stat st;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(old, '/') - old), old);
	if (stat(old, &st) < 0 || chmod(new, st.st_mode & 07777) < 0 || sync_path(new, 0) < 0 || rename(new, old) < 0)
		return err_errno(e, "cannot replace %s", old);
	sync_path(folder, O_DIRECTORY);
	return 0;
}

static int make_cfg(const struct setup *su, const struct grub *g, struct err *e)
{
	char program[SU_PATH_MAX], path[SU_PATH_MAX], cfg[PATH_MAX], new[PATH_MAX + 8], part[PATH_MAX + 16];
	const char *argv[] = { su_path(su, g->mkconfig, program), "-o", new, NULL };
	int rc;

	if (!realpath(su_path(su, g->cfg, path), cfg))
		return err_errno(e, "%s", path);
	snprintf(new, sizeof(new), "%s.lima", cfg);
	rc = su_run(argv, e) < 0 ? -1 : replace(new, cfg, e);
	if (rc < 0) {
		snprintf(part, sizeof(part), "%s.new", new); /* what it writes into first */
		unlink(part);
		unlink(new);
	}
	return rc;
}

/* The record says first that it is not done: what is broken off is done again, and where no record can be kept GRUB is not
 * made anew at each boot. */
static int make_and_record(const struct setup *su, const struct grub *g, const char *text, struct err *e)
{
	char path[SU_PATH_MAX];

	if (su_mkdirs(su, RECORD_DIR, 0755, e) < 0 || su_write(su, RECORD, UNFINISHED, 0644, e) < 0 ||
	    make_cfg(su, g, e) < 0)
		return -1;
	if (*text)
		return su_write(su, RECORD, text, 0644, e);
	return unlink(su_path(su, RECORD, path)) < 0 ? err_errno(e, "cannot remove %s", path) : 0;
}

int grub_configure(const struct setup *su, bool on, struct err *e)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	bool changed = false;
	struct grub g;

	if (on)
		warn_of_odd_words(su);
	if (!find(su, &g))
		return grub_entries_put(su, on, e);
	if (grub_entries_put(su, on && g.entries, e) < 0 || make_text(su, &g, &text, e) < 0 ||
	    (g.folder ? put_file : put_block)(su, text.data, &changed, e) < 0)
		return -1;
	return !changed && su_says(su, RECORD, text.data) ? 0 : make_and_record(su, &g, text.data, e);
}

int grub_check_menu(const struct setup *su, struct err *e)
{
	static const char set[] = "set timeout=";
	auto_buf cfg = BUF_INIT(SU_FILE_MAX);
	const char *first;
	struct grub g;

	if (!find(su, &g))
		return 0;
	if (su_read(su, g.cfg, &cfg, e) < 0)
		return -1;
	/* Those behind it are for starts that failed. */
	first = strstr(cfg.data, set);
	if (!first || strncmp(first, "set timeout=0\n", 14) == 0)
		return 0;
	return err_set(e, ERR_STATE, "%s says %.*s", g.cfg, (int)strcspn(first, "\n"), first);
}
