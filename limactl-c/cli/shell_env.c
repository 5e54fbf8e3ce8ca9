#include "limactl-c/cli/shell_env.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 255 };

const char *const shell_env_blocked[] = {
	"BASH*", "DISPLAY", "DYLD_*", "EUID", "FPATH", "GID", "GROUP", "HOME", "HOSTNAME", "LD_*", "LOGNAME", "OLDPWD", "PATH",
	"PWD", "SHELL", "SHLVL", "SSH_*", "TERM", "TERMINFO", "TMPDIR", "UID", "USER", "XAUTHORITY", "XDG_*", "ZDOTDIR",
	"ZSH*", "_*", NULL,
};

/* The next pattern of a list in out, blanks around it left out; false at the end. */
static bool next_pattern(const char **list, char out[NAME_MAX_BYTES + 1])
{
	while (**list) {
		size_t n = strcspn(*list, ","), lead = strspn(*list, " \t\n,");
		const char *p = *list + (lead < n ? lead : n);
		size_t len = n - (size_t)(p - *list);

		*list += n + ((*list)[n] == ',');
		while (len && strchr(" \t\n", p[len - 1]))
			len--;
		if (len) {
			snprintf(out, NAME_MAX_BYTES + 1, "%.*s", (int)len, p);
			return true;
		}
	}
	return false;
}

static int check_list(const char *variable, const char *list, struct err *e)
{
	static const char possible[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*";
	char pattern[NAME_MAX_BYTES + 1];

	while (next_pattern(&list, pattern)) {
		size_t good = strspn(pattern, possible);

		if (pattern[good])
			return err_set(e, ERR_USAGE, "%s: pattern \"%s\" has a character that names of variables do not have: '%c'; "
				       "letters, digits, _ and * are possible", variable, pattern, pattern[good]);
	}
	return 0;
}

static bool in_list(const char *name, const char *list)
{
	char pattern[NAME_MAX_BYTES + 1];

	while (next_pattern(&list, pattern))
		if (fnmatch(pattern, name, 0) == 0)
			return true;
	return false;
}

static bool in_default(const char *name)
{
	for (size_t i = 0; shell_env_blocked[i]; i++)
		if (fnmatch(shell_env_blocked[i], name, 0) == 0)
			return true;
	return false;
}

static bool is_blocked(const char *name, const char *block)
{
	if (!*block || *block == '+')
		return in_default(name) || in_list(name, block + (*block == '+'));
	return in_list(name, block);
}

ssize_t shell_env_pick(char *const *env, const char *allow, const char *block, const char **out, size_t max, struct err *e)
{
	size_t count = 0;

	allow = allow ? allow : "";
	block = block ? block : "";
	if (check_list("LIMA_SHELLENV_ALLOW", allow, e) < 0 || check_list("LIMA_SHELLENV_BLOCK", block + (*block == '+'), e) < 0)
		return -1;
	for (; *env; env++) {
		char name[NAME_MAX_BYTES + 1];
		size_t n = strcspn(*env, "=");

		if (!n || (*env)[n] != '=' || n > NAME_MAX_BYTES)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, *env);
		if (*allow ? !in_list(name, allow) : is_blocked(name, block))
			continue;
		if (count == max)
			return err_set(e, ERR_USAGE, "more than %zu variables would go to the guest: name them in LIMA_SHELLENV_ALLOW, "
				       "or others in LIMA_SHELLENV_BLOCK", max);
		out[count++] = *env;
	}
	return (ssize_t)count;
}
