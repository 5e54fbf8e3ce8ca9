/* peak N PROGRAM ARGUMENT… - runs it N times after one warm-up and prints for each "MILLISECONDS MILLISECONDS
 * KILOBYTES": wall time, processor time, and peak resident memory. In C, because the peak of a child counts what its
 * parent had at the time of exec. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static double ms(struct timeval t)
{
	return t.tv_sec * 1e3 + t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
	int runs = argc > 2 ? atoi(argv[1]) : 0, report = dup(1), null = open("/dev/null", O_RDWR);

	if (runs < 1 || report < 0 || null < 0)
		return 2;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	for (int i = 0; i <= runs; i++) {
		struct rusage use;
		double t = now_ms();
		int status;
		pid_t pid;

		if (posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) || wait4(pid, &status, 0, &use) < 0)
			return 1;
		t = now_ms() - t;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return 1;
		if (i)
			dprintf(report, "%.3f %.3f %ld\n", t, ms(use.ru_utime) + ms(use.ru_stime), use.ru_maxrss);
	}
	return 0;
}
