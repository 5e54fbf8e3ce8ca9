#include "limactl-c/config/locator_image.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

/* Behind a word: what cannot be part of it. */
#define END "([^[:alnum:]_]|$)"
#define ENDING "(\\.(img|qcow2|raw|iso|ipsw)(\\.(gz|xz|bz2|zst|zstd))?)$"

/* Where the first group matches; false when nothing does. */
static bool match(const char *pattern, const char *text, regmatch_t *group)
{
	regmatch_t m[2];
	regex_t r;
	bool yes;

	if (regcomp(&r, pattern, REG_EXTENDED) != 0)
		abort(); /* the patterns are ours */
	yes = regexec(&r, text, 2, m, 0) == 0;
	regfree(&r);
	if (yes && group)
		*group = m[1];
	return yes;
}

bool locator_is_image(const char *locator)
{
	return match(ENDING, locator, NULL);
}

struct keyword {
	const char *word, *meaning;
};

static const struct keyword arch_words[] = {
	{ "x86_64", "x86_64" },   { "amd64", "x86_64" },   { "aarch64", "aarch64" }, { "arm64", "aarch64" },
	{ "armv7l", "armv7l" },   { "armhf", "armv7l" },   { "ppc64le", "ppc64le" }, { "ppc64el", "ppc64le" },
	{ "riscv64", "riscv64" }, { "s390x", "s390x" },
};
static const struct keyword os_words[] = {
	{ "FreeBSD", "FreeBSD" }, { "macOS", "Darwin" }, { "ipsw", "Darwin" },
};

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strcasestr(p, word)); p++) {
		if ((p == text || !is_word_char(p[-1])) && !is_word_char(p[n]))
			return true;
	}
	return false;
}

static const char *guess(const struct keyword *k, size_t count, const char *text, const char *otherwise)
{
	for (size_t i = 0; i < count; i++) {
		if (has_word(text, k[i].word))
			return k[i].meaning;
	}
	return otherwise;
}

static const char *guess_os(const char *text)
{
	return guess(os_words, sizeof(os_words) / sizeof(*os_words), text, "Linux");
}

/* NULL: the host's. macOS images were never made for another. */
static const char *guess_arch(const char *text)
{
	return guess(arch_words, sizeof(arch_words) / sizeof(*arch_words), text,
		     strcmp(guess_os(text), "Darwin") ? NULL : "aarch64");
}

static int add_quoted(struct buf *b, const char *s)
{
	int rc = buf_adds(b, "'");

	for (; rc == 0 && *s; s++)
		rc = *s == '\'' ? buf_adds(b, "''") : buf_add(b, s, 1);
	return rc == 0 ? buf_adds(b, "'") : rc;
}

int locator_image_text(const char *location, struct buf *text, struct err *e)
{
	const char *arch = guess_arch(location);
	int rc = buf_addf(text, "os: %s\n", guess_os(location));

	for (const char *p = location; *p; p++) {
		if (iscntrl((unsigned char)*p))
			return err_set(e, ERR_INVALID, "the name of an image must not have control characters");
	}
	if (rc == 0 && arch)
		rc = buf_addf(text, "arch: %s\n", arch);
	if (rc == 0)
		rc = buf_adds(text, "images:\n- location: ");
	if (rc == 0)
		rc = add_quoted(text, location);
	if (rc == 0)
		rc = arch ? buf_addf(text, "\n  arch: %s\n", arch) : buf_adds(text, "\n");
	return rc == 0 ? 0 : err_set(e, ERR_INVALID, "%.200s: the name is too long", location);
}

/* Replaces what the first group of pattern matches; true when it did. */
static bool replace(char **text, const char *pattern, const char *with)
{
	regmatch_t m;
	char *was = *text;

	if (!match(pattern, was, &m))
		return false;
	*text = xasprintf("%.*s%s%s", (int)m.rm_so, was, with, was + m.rm_eo);
	free(was);
	return true;
}

/* "rocky-8-8.10" → "rocky-8.10" */
static void drop_repeated_major(char *name)
{
	for (char *p = strchr(name, '-'); p; p = strchr(p + 1, '-')) {
		size_t n = strspn(p + 1, "0123456789");

		if (n && p[1 + n] == '-' && !strncmp(p + 1, p + 2 + n, n) && p[2 + 2 * n] == '.') {
			memmove(p, p + 1 + n, strlen(p + 1 + n) + 1);
			return;
		}
	}
}

/* The host's own architecture in a name tells nothing. */
static void drop_native_arch(char **name, const char *locator)
{
	const char *arch = guess_arch(locator);
	auto_free char *pattern = xasprintf("([-_.]%s)" END, arch ? arch : "-");
	struct utsname host;

	if (arch && uname(&host) == 0 && !strcmp(guess_arch(host.machine) ? guess_arch(host.machine) : "", arch))
		while (replace(name, pattern, ""))
			;
}

char *locator_image_name(const char *locator)
{
	/* Words most vendors put into the names of their images. */
	static const char tags[] =
		"([-_.](base|basic|cloud|cloudimg|cloudinit|current|daily|default|generic|genericcloud|kvm|latest|linux|"
		"minimal|openstack|release|restore|server|std|stream|uefi|vm))" END;
	const char *slash = strrchr(locator, '/');
	char *name = xstrdup(slash ? slash + 1 : locator);

	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	replace(&name, ENDING, "");
	replace(&name, "^(nocloud_)", "");
	while (replace(&name, tags, ""))
		;
	replace(&name, "(universalmac_)", "macos-");
	replace(&name, "(arm64-aarch64)", "arm64");
	drop_native_arch(&name, locator);
	while (replace(&name, "([-_.]20[0-9]{6}([-_.][0-9]+)?)" END, ""))
		;
	replace(&name, "^(arch)" END, "archlinux");
	drop_repeated_major(name);
	replace(&name, "^macos-[0-9.]+([-_].*)$", "");
	return name;
}
