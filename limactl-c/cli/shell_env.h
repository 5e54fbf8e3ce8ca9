/* shell_env.h - which variables of ours a command in the guest gets: shell --preserve-env.
 *
 * LIMA_SHELLENV_ALLOW and LIMA_SHELLENV_BLOCK are lists with commas of names, '*' standing for any characters. With the first
 * only its names go; else all but those of the second, which replaces Lima's own list, or with a leading '+' adds to it.
 */
#ifndef LIMA_CLI_SHELL_ENV_H
#define LIMA_CLI_SHELL_ENV_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* Lima's list, NULL-terminated. */
extern const char *const shell_env_blocked[];

/* Puts those of env (NULL-terminated, NAME=VALUE) that go into out, at most max. Returns how many, -1 with *e. */
ssize_t shell_env_pick(char *const *env, const char *allow, const char *block, const char **out, size_t max, struct err *e);

#endif
