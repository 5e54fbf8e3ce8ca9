#include "limactl-c/driver/fake_end.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"

bool fake_is_stopped(pid_t pid)
{
	char path[40], line[256];
	auto_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "State:", 6))
			return strchr(line, 'T') != NULL;
	return false;
}

static bool read_net(const char *pid, char *net, size_t size)
{
	char path[300];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	n = readlink(path, net, size - 1);
	net[n > 0 ? n : 0] = '\0';
	return n > 0;
}

void fake_net_of(pid_t pid, char *net, size_t size)
{
	char text[20], own[64];

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (!read_net(text, net, size) || !read_net("self", own, sizeof(own)) || !strcmp(net, own))
		net[0] = '\0';
}

/* Once more when something was found: it may just have been starting another. */
void fake_end_guest(const char *net)
{
	bool found = *net != '\0';

	for (int round = 0; found && round < 10; round++) {
		auto_closedir DIR *d = opendir("/proc");
		struct dirent *entry;
		char other[64];

		found = false;
		while (d && (entry = readdir(d))) {
			if (atoi(entry->d_name) <= 1 || !read_net(entry->d_name, other, sizeof(other)) ||
			    strcmp(net, other) != 0)
				continue;
			found = true;
			kill(atoi(entry->d_name), SIGKILL);
		}
	}
}
