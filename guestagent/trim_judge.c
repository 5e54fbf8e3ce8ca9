#include "guestagent/trim_judge.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"

enum { TEXT_MAX = 4096, BUSY_PERCENT = 25 };

/* What a small file of the kernel holds; "" when it cannot be read. */
static void read_text(const char *path, char text[TEXT_MAX])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_MAX - 1);

	text[n < 0 ? 0 : n] = '\0';
}

static uint64_t kilobytes(const char *meminfo, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = meminfo; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, n) && line[n] == ':')
			return strtoull(line + n + 1, NULL, 10);
	}
	return 0;
}

uint64_t trim_clean_cache(const char *meminfo)
{
	static const char *const kept[] = { "Shmem", "Dirty", "Writeback" };
	uint64_t cache = kilobytes(meminfo, "Cached") + kilobytes(meminfo, "Buffers"), busy = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		busy += kilobytes(meminfo, kept[i]);
	return cache > busy ? (cache - busy) * 1024 : 0;
}

bool trim_is_pressed(const char *pressure)
{
	const char *at = strstr(pressure, "some avg10=");

	return at && atoi(at + strlen("some avg10=")) >= BUSY_PERCENT;
}

bool trim_is_named(const char *words, const char *comm)
{
	size_t n = strcspn(comm, "\n");

	while (*words) {
		size_t len;

		words += strspn(words, " ");
		len = strcspn(words, " ");
		if (len && len == n && !memcmp(words, comm, n))
			return true;
		words += len;
	}
	return false;
}

bool trim_guest_is_busy(void)
{
	/* Who only computes does not miss the cache. */
	static const char *const files[] = { "/proc/pressure/io", "/proc/pressure/memory" };
	char text[TEXT_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		read_text(files[i], text);
		if (trim_is_pressed(text))
			return true;
	}
	return false;
}

bool trim_is_kept_warm(const char *words)
{
	char path[300], text[TEXT_MAX];
	DIR *d = *words ? opendir("/proc") : NULL;
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		read_text(path, text);
		found = trim_is_named(words, text);
	}
	if (d)
		closedir(d);
	return found;
}

uint64_t trim_clean_cache_now(void)
{
	char text[TEXT_MAX];

	read_text("/proc/meminfo", text);
	return trim_clean_cache(text);
}
