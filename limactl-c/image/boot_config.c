#include "limactl-c/image/boot_config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "limactl-c/base/mem.h"

const char *const boot_config_paths[] = {
	"boot/grub/grub.cfg",
	"boot/grub2/grub.cfg",
	"EFI/BOOT/grub.cfg",
	"boot/syslinux/syslinux.cfg",
	"boot/isolinux/isolinux.cfg",
	"isolinux/isolinux.cfg",
	"isolinux/txt.cfg",
	"syslinux/syslinux.cfg",
	"loader/entries/alpine.conf",
	NULL,
};

void boot_entry_free(struct boot_entry *b)
{
	free(b->kernel);
	free(b->args);
	for (size_t i = 0; i < b->initrds; i++)
		free(b->initrd[i]);
	*b = (struct boot_entry)BOOT_ENTRY_INIT;
}

/* The next word of a line, quotes taken off; NULL at its end, and for one that is too long. */
static char *next_word(const char **p, const char *end)
{
	char word[BOOT_WORD_MAX];
	size_t n = 0;
	char quote = 0;

	while (*p < end && strchr(" \t\r", **p))
		(*p)++;
	if (*p == end || **p == '#')
		return NULL;
	for (; *p < end && (quote || !strchr(" \t\r", **p)); (*p)++) {
		char c = **p;

		if (c == quote || (!quote && (c == '"' || c == '\''))) {
			quote = quote ? 0 : c;
			continue;
		}
		if (n + 1 == sizeof(word) || c == '\0')
			return NULL;
		word[n++] = c;
	}
	return xstrndup(word, n);
}

/* "(cd0)/boot/x", "/boot/x" → "boot/x"; NULL when it is no plain path. */
static char *volume_path(const char *word)
{
	if (*word == '(')
		word = strchr(word, ')') ? strchr(word, ')') + 1 : "";
	while (*word == '/')
		word++;
	return *word && !strchr(word, '$') && !strstr(word, "..") ? xstrdup(word) : NULL;
}

static void set_kernel(struct boot_entry *b, const char *word)
{
	char *path = volume_path(word);

	if (path && !b->kernel)
		b->kernel = path;
	else
		free(path);
}

/* "a" or, as syslinux writes several, "a,b". */
static void add_initrds(struct boot_entry *b, const char *word)
{
	while (*word) {
		size_t n = strcspn(word, ",");
		auto_free char *one = xstrndup(word, n);
		char *path = volume_path(one);

		word += n + (word[n] == ',');
		if (path && b->initrds < BOOT_INITRDS_MAX)
			b->initrd[b->initrds++] = path;
		else
			free(path);
	}
}

/* One argument of the kernel: syslinux gives the initramfs there, and the loader's own name for the kernel is none. */
static void add_arg(struct boot_entry *b, const char *word)
{
	size_t have = b->args ? strlen(b->args) : 0;

	if (!strncasecmp(word, "initrd=", 7)) {
		add_initrds(b, word + 7);
		return;
	}
	/* "---" divides what an installer keeps; a variable of the loader means nothing to us. */
	if (!strncasecmp(word, "BOOT_IMAGE=", 11) || !strcmp(word, "---") || !strcmp(word, "--") || strchr(word, '$') ||
	    have + strlen(word) + 2 > BOOT_ARGS_MAX)
		return;
	b->args = xrealloc(b->args, have + strlen(word) + 2);
	memcpy(b->args + have, " ", have ? 1 : 0);
	memcpy(b->args + have + (have != 0), word, strlen(word) + 1);
}

enum action { NOTHING, NEW_ENTRY, KERNEL, INITRD, ARGS };

static enum action action_of(const char *word)
{
	static const struct {
		const char *word;
		enum action action;
	} words[] = {
		{ "menuentry", NEW_ENTRY }, { "label", NEW_ENTRY },     { "linux", KERNEL },
		{ "linux16", KERNEL },      { "linuxefi", KERNEL },     { "kernel", KERNEL },
		{ "initrd", INITRD },       { "initrd16", INITRD },     { "initrdefi", INITRD },
		{ "append", ARGS },         { "options", ARGS },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(word, words[i].word))
			return words[i].action;
	return NOTHING;
}

static bool is_complete(const struct boot_entry *b)
{
	return b->kernel && b->initrds;
}

static void read_line(struct boot_entry *b, enum action action, const char *p, const char *end)
{
	bool first = true;
	char *word;

	while ((word = next_word(&p, end))) {
		if (action == INITRD)
			add_initrds(b, word);
		else if (action != ARGS && first)
			set_kernel(b, word);
		else
			add_arg(b, word);
		first = false;
		free(word);
	}
}

int boot_config_parse(const char *text, size_t len, struct boot_entry *out, struct err *e)
{
	const char *end = text + (len < BOOT_CONFIG_MAX ? len : BOOT_CONFIG_MAX);

	*out = (struct boot_entry)BOOT_ENTRY_INIT;
	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));
		const char *p = text, *stop = line_end ? line_end : end;
		auto_free char *word = next_word(&p, stop);
		enum action action = word ? action_of(word) : NOTHING;

		if (action == NEW_ENTRY) {
			if (is_complete(out))
				break;
			boot_entry_free(out);
		} else if (action != NOTHING) {
			read_line(out, action, p, stop);
		}
		text = stop + (line_end != NULL);
	}
	if (is_complete(out)) {
		out->args = out->args ? out->args : xstrdup("");
		return 0;
	}
	boot_entry_free(out);
	return err_set(e, ERR_INVALID, "it names no kernel with an initramfs");
}
