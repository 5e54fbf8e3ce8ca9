#include "guestagent/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "lib/cleanup.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

enum { TTY_GROUP = 5 }; /* "tty" of every distribution; write(1) and mesg(1) expect it */

int ga_pty_open(int *master, int *slave, uid_t uid, struct err *e)
{
	auto_close int m = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), s = -1;
	struct termios t;

	if (m < 0)
		return err_errno(e, "open a terminal");
	if (unlockpt(m) < 0 || (s = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
		return err_errno(e, "open the terminal's other end");
	/* Only root may give it away; a daemon of another user keeps it, which is right too. */
	if (geteuid() == 0 && (fchown(s, uid, TTY_GROUP) < 0 || fchmod(s, 0620) < 0))
		return err_errno(e, "give the terminal to its user");
	if (tcgetattr(s, &t) == 0) {
		t.c_iflag |= IUTF8;
		tcsetattr(s, TCSANOW, &t);
	}
	*master = steal_fd(&m);
	*slave = steal_fd(&s);
	return 0;
}

void ga_pty_resize(int master, uint16_t rows, uint16_t cols)
{
	struct winsize w = { .ws_row = rows, .ws_col = cols };

	ioctl(master, TIOCSWINSZ, &w);
}

void ga_pty_end_input(int master)
{
	struct termios t;

	if (tcgetattr(master, &t) < 0 || !(t.c_lflag & ICANON))
		return;
	/* Nobody reads the terminal when this finds it full: then the end of input is nobody's concern either. */
	if (write(master, &t.c_cc[VEOF], 1) < 0)
		return;
}

pid_t ga_pty_foreground(int master)
{
	pid_t group;

	return ioctl(master, TIOCGPGRP, &group) < 0 ? -1 : group;
}
