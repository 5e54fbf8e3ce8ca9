/* watch.c - a static helper: says what inotify tells of folders, a line each, until it is ended.
 *   watch FOLDER...
 * "ready", then MICROSECONDS-SINCE-1970 KIND NAME: MODIFY, ATTRIB, CREATE, DELETE, MOVED, OVERFLOW, with / behind it when it is
 * of a folder; no name: of the watched folder itself. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/time.h>
#include <unistd.h>

static const struct {
	unsigned mask;
	const char *kind;
} kinds[] = {
	{ IN_MODIFY, "MODIFY" },
	{ IN_ATTRIB, "ATTRIB" },
	{ IN_CREATE, "CREATE" },
	{ IN_DELETE, "DELETE" },
	{ IN_MOVED_FROM | IN_MOVED_TO, "MOVED" },
	{ IN_Q_OVERFLOW, "OVERFLOW" },
};

static void say(const struct inotify_event *ev)
{
	struct timeval tv;

	gettimeofday(&tv, NULL);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (ev->mask & kinds[i].mask)
			printf("%lld %s%s %s\n", (long long)tv.tv_sec * 1000000 + tv.tv_usec, kinds[i].kind,
			       ev->mask & IN_ISDIR ? "/" : "", ev->len ? ev->name : "");
}

int main(int argc, char **argv)
{
	char bytes[65536] __attribute__((aligned(__alignof__(struct inotify_event))));
	int fd = inotify_init1(0);
	ssize_t n;

	for (int i = 1; i < argc; i++) {
		if (inotify_add_watch(fd, argv[i], IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	puts("ready");
	for (;;) {
		fflush(stdout);
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return 1;
		for (char *p = bytes; p < bytes + n; p += sizeof(struct inotify_event) + ((struct inotify_event *)(void *)p)->len)
			say((const struct inotify_event *)(void *)p);
	}
}
