#include "limactl-c/cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* For the handler of signals that end us, too. */
static struct termios before;
static volatile sig_atomic_t taken;

static void set(const struct termios *t)
{
	/* Not "when all is written": a terminal whose other end reads no more would hold us for ever. */
	while (tcsetattr(STDIN_FILENO, TCSANOW, t) < 0 && errno == EINTR)
		;
}

static void on_end(int sig)
{
	int saved = errno;

	terminal_give();
	errno = saved;
	raise(sig); /* comes when this handler returns, with the action it had before us */
}

/* Those that stop us, or that nobody minds unless asked for. */
static bool ends_nobody(int sig)
{
	static const int harmless[] = {
		SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH, SIGKILL,
#ifdef SIGINFO
		SIGINFO,
#endif
	};

	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (harmless[i] == sig)
			return true;
	return false;
}

/* Every signal that would end us now: those that somebody handles or ignores are not among them. */
static void watch_ends(void)
{
	struct sigaction sa = { .sa_handler = on_end, .sa_flags = (int)SA_RESETHAND }, old;

	for (int sig = 1; sig < NSIG; sig++)
		if (!ends_nobody(sig) && sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(sig, &sa, NULL);
}

static void unwatch_ends(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL }, old;

	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == on_end)
			sigaction(sig, &sa, NULL);
}

void terminal_take(void)
{
	struct termios raw;

	/* What it was before is asked once: whoever was stopped without a word left it raw. */
	if (!taken && tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	taken = 1;
	watch_ends();
	raw = before;
	cfmakeraw(&raw);
	set(&raw);
}

void terminal_give(void)
{
	if (!taken)
		return;
	/* In the background the kernel would stop us for it, and the terminal is as somebody else wants it. */
	if (tcgetpgrp(STDIN_FILENO) == getpgrp())
		set(&before);
	taken = 0; /* not before: a signal may end us here */
	unwatch_ends();
}

void terminal_suspend(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL }, ours;
	bool had = taken;

	terminal_give();
	sigaction(SIGTSTP, &sa, &ours);
	/* Nothing happens where nobody could ever let us go on: the kernel knows. */
	raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
	if (had)
		terminal_take();
}

void terminal_size(uint16_t *rows, uint16_t *cols)
{
	static const int fds[] = { STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO };
	struct winsize w;

	*rows = 24;
	*cols = 80;
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (ioctl(fds[i], TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col) {
			*rows = w.ws_row;
			*cols = w.ws_col;
			return;
		}
	}
}
