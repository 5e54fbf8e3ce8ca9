/* autostart.h - starting instances when the user logs in, or at boot: an entry of the system's own, a systemd user unit or a launchd
 * property list. It carries the environment that instances are found and made in, for neither system has it.
 */
#ifndef LIMA_CLI_AUTOSTART_H
#define LIMA_CLI_AUTOSTART_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/store/inst.h"

enum autostart_system { AUTOSTART_SYSTEMD, AUTOSTART_LAUNCHD, AUTOSTART_SYSTEMS };
#define AUTOSTART_SYSTEM_WORDS "systemd|launchd"

struct autostart {
	enum autostart_system system;
	const char *program; /* absolute path of limactl-c */
	const char *home;    /* LIMA_HOME */
	const char *name;    /* of the instance */
	const char *user;    /* launchd, at boot: who it runs as; NULL: who logs in */
	const char *const *env; /* NAME=VALUE, NULL-terminated; what of it an instance needs is carried */
};

enum { AUTOSTART_TEXT_MAX = 256 << 10 };

enum autostart_system autostart_host(void); /* this host's */

/* The entry's text. ERR_INVALID: a path or a value cannot be written there. */
int autostart_text(const struct autostart *a, struct buf *out, struct err *e);

/* Whether an entry is for an instance in a's LIMA_HOME. */
bool autostart_is_of(const struct autostart *a, const char *entry);

/* Entries of this host, in the user's folders. */
int autostart_enable(const char *name, struct err *e);  /* ERR_EXISTS: an instance of that name in another LIMA_HOME has one */
/* 1: it was there, 0: it was not; an entry of another LIMA_HOME is none. */
int autostart_disable(const char *name, struct err *e);
int autostart_is_enabled(const char *name, struct err *e); /* likewise */

/* For this program and LIMA_HOME; program and home, malloc'd, are the caller's to free, whatever is returned. */
int autostart_describe(const char *name, struct autostart *a, char **program, char **home, struct err *e);

#endif
