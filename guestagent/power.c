#include "guestagent/power.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/input.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "guestagent/setup.h"

enum {
	DEVICES = 32,
	LONG_BITS = sizeof(long) * CHAR_BIT,
	SYSTEMD_POWER_OFF = 34 + 4, /* its SIGRTMIN+4; our libc's SIGRTMIN is one more, which would be "reboot" */
};

static bool has_key(const unsigned long *bits, int key)
{
	return bits[key / LONG_BITS] >> (key % LONG_BITS) & 1;
}

/* A keyboard may have a power key too, but it is not what the machine's button presses. */
static bool is_button(int fd)
{
	unsigned long bits[KEY_MAX / LONG_BITS + 1] = { 0 };

	return ioctl(fd, EVIOCGBIT(EV_KEY, sizeof(bits)), bits) >= 0 && has_key(bits, KEY_POWER) &&
	       !has_key(bits, KEY_A);
}

int power_open(struct err *e)
{
	for (int i = 0; i < DEVICES; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/dev/input/event%d", i);
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_button(fd))
			return fd;
		close(fd);
	}
	return err_set(e, ERR_NOTFOUND, "this machine has no power button");
}

bool power_ready(int fd)
{
	struct input_event ev[16];
	bool pressed = false;
	ssize_t n;

	while ((n = read(fd, ev, sizeof(ev))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(ev[0]); i++)
			pressed |= ev[i].type == EV_KEY && ev[i].code == KEY_POWER && ev[i].value == 1;
	return pressed;
}

int power_off(struct err *e)
{
	/* Tells `agent shutdown` that it need not leave the rest to init, which would sleep two seconds over it. */
	bool systemd = access("/run/systemd/system", F_OK) == 0;
	int fd = open(RUN_DIR "/power-off", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	/* The signals of systemd and of busybox init for "power off". */
	return kill(1, systemd ? SYSTEMD_POWER_OFF : SIGUSR2) < 0 ? err_errno(e, "cannot signal init") : 0;
}
