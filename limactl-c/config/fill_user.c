/* fill_user.c - the guest's user, by default who runs this. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/fill.h"
#include "limactl-c/config/where.h"

enum { UID_DEFAULT = 1000 };

/* Old systems keep names in other encodings: what is not UTF-8 is left out. */
static char *utf8_only(const char *text)
{
	char *out = xmalloc(strlen(text) + 1), *p = out;

	while (*text) {
		size_t n = text_utf8_length(text);

		memcpy(p, text, n);
		p += n;
		text += n ? n : 1;
	}
	*p = '\0';
	return out;
}

/* Where homes lie, and which shell is there, in each kind of guest. */
static const struct guest_os {
	const char *os, *home, *shell;
	bool sudo;
} guests[] = {
	{ "Linux", "/home/{{.User}}.guest", "/bin/bash", true },
	{ "FreeBSD", "/home/{{.User}}.guest", "/bin/sh", true },
	{ "Darwin", "/Users/{{.User}}.guest", "/bin/zsh", false },
	{ "Windows", "/home/{{.User}}.guest", "cmd.exe", true },
};

static const struct guest_os *guest_of(const char *os)
{
	for (size_t i = 1; i < sizeof(guests) / sizeof(*guests); i++) {
		if (!strcmp(guests[i].os, os))
			return &guests[i];
	}
	return &guests[0];
}

void fill_user(struct cfg *c, const struct cfg_host *h)
{
	const struct guest_os *guest = guest_of(c->os);
	bool lean = !strcmp(c->guest.init, "lean"), root;
	bool taken = h->user && user_name_ok(h->user) && strcmp(h->user, "admin");

	fill_if_none(&c->user.name, taken ? h->user : "lima");
	root = !strcmp(c->user.name, "root");
	/* Only root itself has number 0: any other name made by root gets the first number of a person. */
	if (!where_given(c, "user.uid"))
		c->user.uid = root ? 0 : h->uid ? h->uid : UID_DEFAULT;
	if (!c->user.comment)
		c->user.comment = utf8_only(h->comment ? h->comment : "");
	fill_if_none(&c->user.home, root ? "/root" : guest->home);
	fill_if_none(&c->user.shell, lean ? "/bin/sh" : guest->shell);
	if (!where_given(c, "user.passwordlessSudo"))
		c->user.passwordless_sudo = guest->sudo;
}
