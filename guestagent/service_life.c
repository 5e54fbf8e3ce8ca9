/* service_life.c - how a program that init keeps alive fares: pauses after quick deaths, its process, and trouble told when
 * it does not keep running. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/service.h"
#include "guestagent/setup.h"
#include "guestagent/trouble.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"

enum {
	QUICK_DEATH_S = 60, /* a shorter life counts as a failure to start */
	PAUSE_MAX_S = 60,
	TROUBLE = 3,        /* so many in a row are told to the host */
};

static unsigned long uptime(void)
{
	return (unsigned long)(clock_ms() / 1000);
}

unsigned service_pause(unsigned failures)
{
	if (failures == 0)
		return 0;
	return failures > 6 ? PAUSE_MAX_S : 1u << (failures - 1);
}

/* What was noted at its last start: "<quick deaths before it> <uptime>\n". */
static bool last_start(const char *name, unsigned *failures, unsigned long *started)
{
	char path[200];
	auto_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), RUN_DIR "/service.%s", name);
	f = fopen(path, "re");
	return f && fscanf(f, "%u %lu", failures, started) == 2;
}

/* Quick deaths in a row, of a program that is not running. */
static unsigned failures_of(const char *name)
{
	unsigned failures;
	unsigned long started;

	if (!last_start(name, &failures, &started) || uptime() >= started + QUICK_DEATH_S)
		return 0;
	return failures + 1;
}

int service_settles_in(const char *name)
{
	unsigned failures;
	unsigned long started, now = uptime();

	if (!last_start(name, &failures, &started))
		return -1;
	/* It waits for its next start, at most as long as this. */
	if (!service_is(service_pid(name), name))
		return QUICK_DEATH_S;
	return now >= started + QUICK_DEATH_S ? 0 : (int)(started + QUICK_DEATH_S - now);
}

void service_hold_back(const char *name)
{
	char path[200];
	unsigned failures = failures_of(name);
	FILE *f;

	if (service_pause(failures)) {
		log_warn("%s ended too soon, %u times; trying again in %u s", name, failures, service_pause(failures));
		sleep(service_pause(failures));
	}
	snprintf(path, sizeof(path), RUN_DIR "/service.%s", name);
	f = fopen(path, "we");
	if (f) {
		fprintf(f, "%u %lu\n", failures, uptime());
		fclose(f);
	}
}

void service_settled(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), RUN_DIR "/service.%s", name);
	unlink(path);
}

void service_note_pid(const char *name)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), RUN_DIR "/%s.pid", name);
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
}

pid_t service_pid(const char *name)
{
	char path[200];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), RUN_DIR "/%s.pid", name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1 || pid < 2)
		pid = 0;
	fclose(f);
	return pid;
}

bool service_is(pid_t pid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0;
}

/* Of a line of the log: without the ring's date, host and priority. NULL: it is init's, or ours about a pause. */
static const char *words_in(const char *line, bool ring)
{
	static const char *const others[] = { "init: ", "lima-guestagent: warning: " };
	int from = 0;

	if (ring)
		sscanf(line, "%*s %*s %*s %*s %*s %n", &from);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(line + from, others[i], strlen(others[i])) == 0)
			return NULL;
	return line[from] == '\n' ? NULL : line + from;
}

/* The last line of the log: when a program has just died those are mostly its words. */
static void last_words(const struct setup *su, const char *name, char out[300])
{
	bool ring = su_number(su, "tuning.syslogRing", 0);
	char path[200], line[300];
	const char *words;
	FILE *f;

	snprintf(path, sizeof(path), "/var/log/%s.log", name);
	f = ring ? popen("logread 2>/dev/null", "re") : fopen(path, "re");
	out[0] = '\0';
	/* What follows of a longer line is none. */
	for (bool begins = true; f && fgets(line, sizeof(line), f); begins = strchr(line, '\n'))
		if (begins && (words = words_in(line, ring)))
			snprintf(out, 300, "%.*s", (int)strcspn(words, "\n"), words);
	if (f && ring)
		pclose(f);
	else if (f)
		fclose(f);
}

void service_tell_trouble(const struct setup *su, const char *name)
{
	unsigned failures = failures_of(name);
	char words[300];

	if (failures < TROUBLE)
		return;
	last_words(su, name, words);
	trouble_note(su, name, "it ended too soon, %u times, and is tried again; the log ends with: %s", failures, words);
}
