/* scripted_qemu.h - a program that speaks QMP on the descriptors QEMU gets, for the driver's tests.
 *
 * Its mode, the value of -cpu, says what it does wrong: "dies" at once, "garbage" and "silent" instead of a greeting,
 * "refuses" to stop, "mute" when told to stop, "stubborn" when told to quit, "no-space" for a state, "early" with the
 * event before the reply, "jobless" whose jobs fail, "deaf" to the first press of the button, "chatty" on its console.
 *
 * SIGUSR1: its guest powers itself off. SIGUSR2: the file "reset" has "guest" or "host", who resets it, on its first line;
 * the rest is said on the console before.
 */
#ifndef LIMA_TESTS_SCRIPTED_QEMU_H
#define LIMA_TESTS_SCRIPTED_QEMU_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/driver/qemu_args.h"

static int qmp_client = -1, console_client = -1, state_file = -1;
static const char *mode;
static bool stopped, incoming;

static void say(const char *text)
{
	io_write_full(qmp_client, text, strlen(text));
}

static void reply(const char *line, const char *what)
{
	const char *id = strstr(line, "\"id\":");
	char text[500];

	snprintf(text, sizeof(text), "{\"return\": %s, \"id\": %d}\r\n", what, id ? atoi(id + 5) : 0);
	say(text);
}

static void refuse(const char *line, const char *why)
{
	const char *id = strstr(line, "\"id\":");
	char text[500];

	snprintf(text, sizeof(text), "{\"id\": %d, \"error\": {\"class\": \"GenericError\", \"desc\": \"%s\"}}\r\n",
		 id ? atoi(id + 5) : 0, why);
	say(text);
}

static void migration(const char *status)
{
	char text[200];

	snprintf(text, sizeof(text), "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"%s\"}}\r\n", status);
	say(text);
}

static bool is(const char *line, const char *command)
{
	char text[100];

	snprintf(text, sizeof(text), "\"execute\":\"%s\"", command);
	return strstr(line, text);
}

static void save(const char *line)
{
	if (!strcmp(mode, "no-space")) {
		reply(line, "{}");
		migration("failed");
		return;
	}
	io_write_full(state_file, "STATE", 5);
	close(state_file);
	migration("active"); /* events may come before the reply */
	if (!strcmp(mode, "early"))
		migration("completed");
	reply(line, "{}");
	if (strcmp(mode, "early") != 0)
		migration("completed");
}

static void load(const char *line)
{
	char text[6] = "";

	reply(line, "{}");
	migration("active");
	if (read(state_file, text, 5) != 5 || strcmp(text, "STATE")) {
		fprintf(stderr, "load of migration failed: Invalid argument\n");
		exit(1);
	}
	close(state_file);
	migration("completed");
}

static char job_id[64]; /* of the job that is not dismissed; one at a time */

static void job_changed(const char *status)
{
	char text[300];

	snprintf(text, sizeof(text), "{\"event\": \"JOB_STATUS_CHANGE\", \"data\": {\"status\": \"%s\", \"id\": \"%s\"}}\r\n", status,
		 job_id);
	say(text);
}

/* A snapshot, which stops and resumes the machine itself. What it is asked is noted in the file "asked". */
static void job(const char *line)
{
	const char *id = strstr(line, "\"job-id\":\"");
	FILE *f = fopen("asked", "a");

	if (!id || !f || *job_id) {
		refuse(line, "a job of that name exists");
		return;
	}
	fprintf(f, "%s\n", strstr(line, "\"execute\""));
	fclose(f);
	snprintf(job_id, sizeof(job_id), "%.*s", (int)strcspn(id + 10, "\""), id + 10);
	if (!strcmp(mode, "refuses")) {
		*job_id = '\0';
		refuse(line, "not today");
		return;
	}
	say("{\"event\": \"STOP\"}\r\n{\"event\": \"RESUME\"}\r\n");
	say("{\"event\": \"JOB_STATUS_CHANGE\", \"data\": {\"status\": \"concluded\", \"id\": \"another\"}}\r\n");
	job_changed("running");
	if (!strcmp(mode, "early"))
		job_changed("concluded");
	reply(line, "{}");
	if (strcmp(mode, "early") != 0)
		job_changed("concluded");
}

static void query_jobs(const char *line)
{
	char text[400];

	snprintf(text, sizeof(text), "[{\"id\": \"another\", \"status\": \"concluded\", \"error\": \"not ours\"}, "
		 "{\"id\": \"%s\", \"status\": \"concluded\"%s}]", job_id,
		 strcmp(mode, "jobless") ? "" : ", \"error\": \"No space left on device\"");
	reply(line, text);
}

static void command(const char *line)
{
	if (!strcmp(mode, "silent")) {
		/* takes nothing, as before qmp_capabilities */
	} else if (is(line, "stop") && !strcmp(mode, "refuses")) {
		refuse(line, "not today");
	} else if (is(line, "stop") && !strcmp(mode, "mute")) {
		/* no answer */
	} else if (is(line, "stop") || is(line, "cont")) {
		/* The file must be gone before the machine runs. */
		if (is(line, "cont") && incoming && access("vm.state", F_OK) == 0)
			_exit(9);
		incoming = false;
		stopped = is(line, "stop");
		say(stopped ? "{\"event\": \"STOP\"}\r\n" : "{\"event\": \"RESUME\"}\r\n");
		reply(line, "{}");
	} else if (is(line, "query-status")) {
		reply(line, stopped ? "{\"status\": \"paused\"}" : "{\"status\": \"running\"}");
	} else if (is(line, "query-migrate")) {
		reply(line, "{\"status\": \"failed\", \"error-desc\": \"No space left on device\"}");
	} else if (is(line, "migrate")) {
		save(line);
	} else if (is(line, "migrate-incoming")) {
		load(line);
	} else if (is(line, "snapshot-save") || is(line, "snapshot-load") || is(line, "snapshot-delete")) {
		job(line);
	} else if (is(line, "query-jobs")) {
		query_jobs(line);
	} else if (is(line, "job-dismiss")) {
		if (!strstr(line, "{\"id\":\"snapshot-") || !strstr(line, job_id))
			_exit(7);
		*job_id = '\0';
		reply(line, "{}");
	} else if (is(line, "quit") && strcmp(mode, "stubborn") != 0) {
		reply(line, "{}");
		exit(0);
	} else if (is(line, "system_powerdown")) {
		reply(line, "{}");
		if (!strcmp(mode, "deaf")) {
			mode = "ok"; /* hears it the next time */
		} else if (!stopped) {
			say("{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, \"reason\": \"guest-shutdown\"}}\r\n");
			exit(0);
		}
	} else {
		reply(line, "{}");
	}
}

static void read_commands(void)
{
	char chunk[4096];
	int fds[1];
	size_t nfds = 1;
	ssize_t n = sock_recv_fds(qmp_client, chunk, sizeof(chunk) - 1, fds, &nfds);

	if (n <= 0) {
		close(qmp_client);
		qmp_client = -1;
		return;
	}
	if (nfds)
		state_file = fds[0];
	chunk[n] = '\0';
	for (char *line = chunk, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		command(line);
	}
}

static void greet(void)
{
	qmp_client = accept(QEMU_FD_QMP_HA, NULL, NULL);
	if (!strcmp(mode, "garbage"))
		say("HTTP/1.1 400 Bad Request\r\n");
	else if (strcmp(mode, "silent") != 0)
		say("{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n");
}

static void on_user(int sig)
{
	static const char off[] = "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, \"reason\": \"guest-shutdown\"}}\r\n";

	(void)sig;
	if (write(qmp_client, off, sizeof(off) - 1) > 0)
		_exit(0);
}

static void on_reset_wanted(int sig)
{
	char text[2000], event[100];
	int fd = open("reset", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *console;

	(void)sig;
	if (n <= 0)
		_exit(8);
	close(fd);
	text[n] = '\0';
	console = strchr(text, '\n') + 1;
	io_write_full(console_client, console, strlen(console));
	snprintf(event, sizeof(event), "{\"event\": \"RESET\", \"data\": {\"guest\": %s}}\r\n",
		 strncmp(text, "guest", 5) ? "false" : "true");
	say(event);
}

static int qemu_main(int argc, char **argv)
{
	for (int i = 0; i < argc - 1; i++) {
		if (!strcmp(argv[i], "-cpu"))
			mode = argv[i + 1];
		incoming |= !strcmp(argv[i], "-incoming");
	}
	if (!strcmp(mode, "dies")) {
		fprintf(stderr, "qemu: -cpu dies: unable to find CPU model 'dies'\n");
		return 1;
	}
	alarm(150); /* a test that failed leaves nothing behind for long */
	signal(SIGUSR1, on_user);
	signal(SIGUSR2, on_reset_wanted);
	signal(SIGPIPE, SIG_IGN);
	for (int fd = QEMU_FD_QMP_HA; fd < QEMU_FD_END; fd++)
		listen(fd, 1);
	console_client = accept(QEMU_FD_CONSOLE, NULL, NULL);
	io_write_full(console_client, "GUEST\r\n", 7);
	if (!strcmp(mode, "chatty")) {
		static char block[4096];

		memset(block, 'c', sizeof(block));
		for (int i = 0; i < 1024; i++) /* 4 MiB */
			io_write_full(console_client, block, sizeof(block));
	}
	for (;;) {
		struct pollfd p[] = { { .fd = qmp_client < 0 ? QEMU_FD_QMP_HA : qmp_client, .events = POLLIN },
				      { .fd = QEMU_FD_CONSOLE, .events = POLLIN } };

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents) {
			close(console_client);
			console_client = accept(QEMU_FD_CONSOLE, NULL, NULL);
		}
		if (p[0].revents && qmp_client < 0)
			greet();
		else if (p[0].revents)
			read_commands();
	}
}

#endif
