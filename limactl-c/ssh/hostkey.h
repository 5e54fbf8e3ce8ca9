/* hostkey.h - what the guest's SSH server is known by: the instance's known_hosts, and keys as lines of it. */
#ifndef LIMA_SSH_HOSTKEY_H
#define LIMA_SSH_HOSTKEY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/agentproto.h"
#include "lib/err.h"

/* The keys that the file names for that host; none when it is not there. Lines of other hosts and of other forms are left
 * out; more than AP_HOST_KEYS_MAX are an error. */
int hostkey_load(const char *path, const char *host, struct ap_host_keys *out, struct err *e);
int hostkey_parse(const char *text, const char *host, struct ap_host_keys *out, struct err *e); /* the same of its text */

/* A key as SSH sends it, from the server, as "ssh-ed25519 AAAA…". -1: it is none. */
int hostkey_text(const char *blob, size_t len, char text[AP_HOST_KEY_MAX]);

bool hostkey_is_known(const struct ap_host_keys *known, const char *text);

/* The kinds of keys to ask a server for, those that are known or, when none is, all; for libssh2. malloc'd. */
char *hostkey_methods(const struct ap_host_keys *known);

#endif
