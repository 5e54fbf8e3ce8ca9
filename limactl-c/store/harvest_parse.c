/* harvest_parse.c - what a guest says of its /boot; every byte may be hostile. */
#include <stdio.h>
#include <string.h>

#include "lib/cmdline.h"
#include "limactl-c/store/harvest.h"

/* Words the loader adds for itself, which mean nothing to the kernel or name files of the loader's. */
static const char *const loaders_own[] = { "BOOT_IMAGE=", "initrd=" };

/* The next line, without its end; -1 when there is none, it does not fit, or has other than printable ASCII. */
static int next_line(const char **at, const char *end, char *out, size_t size)
{
	const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
	size_t n;

	if (!stop || (n = (size_t)(stop - *at)) >= size)
		return -1;
	for (size_t i = 0; i < n; i++)
		if ((*at)[i] < ' ' || (*at)[i] > '~')
			return -1;
	memcpy(out, *at, n);
	out[n] = '\0';
	*at = stop + 1;
	return 0;
}

static bool is_hex(const char *s)
{
	return strlen(s) == SHA256_HEX && strspn(s, "0123456789abcdef") == SHA256_HEX;
}

static bool is_loaders_own(const char *word)
{
	for (size_t i = 0; i < sizeof(loaders_own) / sizeof(*loaders_own); i++)
		if (!strncmp(word, loaders_own[i], strlen(loaders_own[i])))
			return true;
	return false;
}

/* Takes the loader's words out, and those that it says for us: the next start has its own. True when a root file system is
 * named. */
static bool clean_args(char *args)
{
	char *to = args;
	bool root = false;
	size_t n;

	cmdline_drop_ours(args);
	for (const char *s = args; (n = cmdline_word(&s)); s += n) {
		if (!is_loaders_own(s)) {
			root |= !strncmp(s, "root=", 5);
			if (to != args)
				*to++ = ' ';
			memmove(to, s, n);
			to += n;
		}
	}
	*to = '\0';
	return root;
}

int harvest_parse(const char *text, size_t len, struct harvest_answer *out, struct err *e)
{
	const char *at = text, *end = text + len;

	if (next_line(&at, end, out->args, sizeof(out->args)) < 0 ||
	    next_line(&at, end, out->kernel, sizeof(out->kernel)) < 0 ||
	    next_line(&at, end, out->initrd, sizeof(out->initrd)) < 0 ||
	    next_line(&at, end, out->boot, sizeof(out->boot)) < 0 || at != end || !is_hex(out->boot) ||
	    out->kernel[0] != '/' || out->initrd[0] != '/')
		return err_set(e, ERR_INVALID, "it says nothing of use about its kernel");
	if (!clean_args(out->args))
		return err_set(e, ERR_INVALID, "its loader names no root file system to its kernel");
	return 0;
}

int harvest_parse_digests(const char *text, size_t len, char digest[2][SHA256_HEX + 1], struct err *e)
{
	const char *at = text, *end = text + len;
	char line[SHA256_HEX + HARVEST_PATH_MAX + 8];

	for (int i = 0; i < 2; i++) {
		if (next_line(&at, end, line, sizeof(line)) < 0 || strlen(line) < SHA256_HEX)
			return err_set(e, ERR_INVALID, "it does not say the digests of its kernel and initramfs");
		line[SHA256_HEX] = '\0';
		if (!is_hex(line))
			return err_set(e, ERR_INVALID, "\"%s\" is no digest", line);
		memcpy(digest[i], line, SHA256_HEX + 1);
	}
	return 0;
}
