/* validate_user.c - rules of user. */
#include <string.h>
#include <strings.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
enum { USER_NAME_MAX = 32 };

bool user_name_ok(const char *name)
{
	return *name && strlen(name) <= USER_NAME_MAX && strchr(LOWER "_", *name) &&
	       strspn(name, LOWER DIGITS "_-") == strlen(name);
}

static void check_name(struct check *k)
{
	const char *name = k->c->user.name;

	if (!user_name_ok(name))
		check_bad(k, xstrdup("user.name"),
			  "must be lower-case letters, digits, _ and -, at most %d, not begin "
			  "with a digit or -; got \"%.40s\"",
			  USER_NAME_MAX, name);
	if (!strcmp(name, "root") != !k->c->user.uid)
		check_bad(k, xstrdup("user.uid"), "must be 0 for root and for nobody else; \"%.40s\" has %u", name,
			  k->c->user.uid);
}

static void check_shell(struct check *k)
{
	static const char *const windows[] = { "cmd.exe", "powershell.exe", "pwsh.exe" };
	const char *shell = k->c->user.shell, *name = shell;

	if (strcmp(k->c->os, "Windows")) {
		if (*shell != '/')
			check_bad(k, xstrdup("user.shell"), "must be an absolute path; got \"%.100s\"", shell);
		else if (strpbrk(shell, ":\n\r"))
			check_bad(k, xstrdup("user.shell"), "must not hold colons or line ends");
		return;
	}
	for (const char *p = shell; *p; p++) {
		if (*p == '/' || *p == '\\')
			name = p + 1;
	}
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		if (!strcasecmp(name, windows[i]))
			return;
	}
	check_bad(k, xstrdup("user.shell"),
		  "must be one of [cmd.exe powershell.exe pwsh.exe] for Windows; got \"%.100s\"", shell);
}

static void check_sudo(struct check *k)
{
	const struct cfg *c = k->c;

	if (!strcmp(c->os, "Darwin") && c->user.passwordless_sudo)
		check_bad(k, xstrdup("user.passwordlessSudo"), "must be false for a macOS guest");
	if (!strcmp(c->vm_type, "wsl2") && !c->user.passwordless_sudo)
		check_bad(k, xstrdup("user.passwordlessSudo"), "must be true with vmType wsl2");
}

void check_user(struct check *k)
{
	check_name(k);
	check_shell(k);
	check_sudo(k);
}
