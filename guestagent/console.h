/* console.h - which of a machine's consoles somebody can sit at. */
#ifndef LIMA_GUESTAGENT_CONSOLE_H
#define LIMA_GUESTAGENT_CONSOLE_H

#include "guestagent/setup_util.h"

/* Whether nobody can sit at this console ("tty1", "ttyAMA0"): no such device, a serial port without hardware, or a
 * virtual terminal of a machine without a screen. */
bool console_missing(const struct setup *su, const char *name);

#endif
