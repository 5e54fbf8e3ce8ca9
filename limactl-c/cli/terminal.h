/* terminal.h - the terminal on standard input while a command in the guest has it: raw, and as it was before on every way
 * out, a signal that ends us included (SIGKILL excepted, which nobody hears of). One of it: the process has one.
 */
#ifndef LIMA_CLI_TERMINAL_H
#define LIMA_CLI_TERMINAL_H

#include <stdint.h>

/* Makes it raw. Again after we were stopped and go on: the shell has set it to its own liking meanwhile. Nothing when
 * standard input is no terminal. */
void terminal_take(void);
/* As it was at terminal_take(). Nothing when it was not taken, or is another job's by now. */
void terminal_give(void);
/* Gives it, stops this process as SIGTSTP does by itself, and when it goes on takes it again if it had it. */
void terminal_suspend(void);

/* Its size, looked for on all standard streams; 24 x 80 when there is none. */
void terminal_size(uint16_t *rows, uint16_t *cols);

#endif
