#include "guestagent/resolved.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/systemd.h"
#include "guestagent/user.h"
#include "lib/log.h"

int resolved_use(const struct setup *su, const char *card, const uint8_t addr[4], struct err *e)
{
	char systemctl[SU_PATH_MAX], resolvectl[SU_PATH_MAX], server[sizeof("255.255.255.255")];
	const char *const is_active[] = { su_path(su, "/usr/bin/systemctl", systemctl), "is-active", "--quiet",
					  "systemd-resolved.service", NULL };
	/* The domain comes before the server: without one it would be the network's beside others. */
	const char *const settings[][3] = { { "llmnr", "no" }, { "domain", "~." }, { "dns", server } };
	struct err inactive;

	if (!systemd_is(su) || su_run(is_active, &inactive) < 0)
		return 0;
	su_path(su, "/usr/bin/resolvectl", resolvectl);
	snprintf(server, sizeof(server), "%u.%u.%u.%u", addr[0], addr[1], addr[2], addr[3]);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const char *const argv[] = { resolvectl, settings[i][0], card, settings[i][1], NULL };

		if (su_run(argv, e) < 0)
			return -1;
	}
	return 0;
}

void resolved_tell(struct ga *ga, const char *card, const uint8_t addr[4])
{
	const struct setup su = { ga->settings, "" };
	struct err e;
	pid_t pid;

	/* Machine-wide matters are ours in a guest only. */
	if (!ga->carrier.port || !systemd_is(&su))
		return;
	pid = fork();
	if (pid == 0) {
		ga_child_alone(&ga->files, 3);
		setenv("PATH", SETUP_PATH, 1);
		if (resolved_use(&su, card, addr, &e) < 0)
			log_warn("systemd-resolved asks the network's name server: %s", e.msg);
		_exit(0);
	}
	if (pid < 0)
		log_warn("systemd-resolved asks the network's name server: there is no process to tell it of ours");
}
