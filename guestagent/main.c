/* lima-guestagent - the one program of ours in the guest; the first word says which of its parts to be. */
#include <stdio.h>
#include <string.h>

#include "guestagent/daemon.h"
#include "guestagent/dhcp.h"
#include "guestagent/files.h"
#include "guestagent/provision.h"
#include "guestagent/setup.h"
#include "lib/settings.h"

static int version_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("lima-guestagent " VERSION);
	return 0;
}

/* Run by /lima/init: that it runs at all tells as much as what it says. */
static int check_main(int argc, char **argv)
{
	static struct settings settings;
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e;

	if (argc == 2 && settings_load(&settings, argv[1], &text, &e) == 0)
		return 0;
	fprintf(stderr, "%s\n", argc == 2 ? e.msg : "usage: check FILE");
	return 1;
}

static const struct {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} programs[] = {
	{ "check", "say whether a file of settings can be read", check_main },
	{ "daemon", "serve the host agent", daemon_main },
	{ "files", "send or receive files for the host", files_main },
	{ "setup", "make the guest usable, at boot", setup_main },
	{ "provision", "carry out what provision[] has of a mode", provision_main },
	{ "dhcp", "take what udhcpc was told", dhcp_main },
	{ "service", "become syslogd, containerd, dockerd or crond", service_main },
	{ "shutdown", "stop the machine in order", shutdown_main },
	{ "--version", "print the version", version_main },
};
enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < PROGRAMS; i++)
		if (strcmp(programs[i].name, argv[1]) == 0)
			return programs[i].run(argc - 1, argv + 1);
	fprintf(stderr, "usage: %s PROGRAM\n", argc ? argv[0] : "lima-guestagent");
	for (size_t i = 0; i < PROGRAMS; i++)
		fprintf(stderr, "  %-10s %s\n", programs[i].name, programs[i].help);
	return 2;
}
