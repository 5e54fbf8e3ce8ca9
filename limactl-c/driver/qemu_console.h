/* qemu_console.h - the guest's serial console, kept in serial.log.
 *
 * QEMU cannot bound a log it writes itself, so the console is a socket that we read: the file has a ceiling, whatever
 * the guest writes, and while nobody reads QEMU drops it.
 */
#ifndef LIMA_QEMU_CONSOLE_H
#define LIMA_QEMU_CONSOLE_H

#include <stdbool.h>

#include "lib/err.h"

enum {
	CONSOLE_LOG_MAX = 1 << 20, /* bytes of serial.log; the part before it is kept as serial.log.1 */
	CONSOLE_LINE_MAX = 256,    /* bytes that are looked at of a line */
};

struct qemu_console;

/* Connects to sock. fresh: a new boot, what an earlier one wrote becomes serial.log.1. */
struct qemu_console *qemu_console_open(const char *sock, const char *log, bool fresh, struct err *e);
void qemu_console_close(struct qemu_console *c); /* NULL is allowed */
int qemu_console_fd(const struct qemu_console *c);
bool qemu_console_read(struct qemu_console *c); /* takes what is there; false when the console has ended */

/* What the guest's kernel said when it panicked ("Kernel panic - not syncing: …"), the last since the one before was
 * taken, printable; false when it said none. */
bool qemu_console_panic(struct qemu_console *c, char out[CONSOLE_LINE_MAX]);

#endif
