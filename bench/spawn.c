/* What starting a program costs on this machine, above all in a guest: spawn N COMMAND [ARGUMENT...] prints the median of N
 * times from before fork() to after waitpid(), in milliseconds. Its output goes nowhere, as that of bench/lib.bash's timed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 10000 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double once(char **argv)
{
	double begun = now_ms();
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int i = 0; i < 3; i++)
			dup2(null, i);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "spawn: %s failed\n", argv[0]);
		exit(1);
	}
	return now_ms() - begun;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double took[MOST];
	int n = argc > 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST) {
		fprintf(stderr, "usage: spawn N COMMAND [ARGUMENT...]\n");
		return 2;
	}
	once(argv + 2);
	for (int i = 0; i < n; i++)
		took[i] = once(argv + 2);
	qsort(took, (size_t)n, sizeof(*took), compare);
	printf("%.3f\n", took[n / 2]);
	return 0;
}
