/* setup_quiet.c - what of the kernel ticks without anybody having asked for it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"

static const struct {
	const char *path, *value;
} quiet[] = {
	/* Looks twice a second whether memory is in pieces; cache-trim puts it together when there is something to give back. */
	{ "/proc/sys/vm/compaction_proactiveness", "0" },
	/* Counters of each processor are added up for who reads /proc/vmstat: every second while they change. */
	{ "/proc/sys/vm/stat_interval", "30" },
};

int setup_quiet(const struct setup *su, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++) {
		char full[SU_PATH_MAX];
		auto_close int fd = open(su_path(su, quiet[i].path, full), O_WRONLY | O_CLOEXEC);

		/* Another kernel may know nothing of it. */
		if (fd < 0 ? errno != ENOENT : write(fd, quiet[i].value, strlen(quiet[i].value)) < 0)
			rc = err_errno(e, "%s", quiet[i].path);
	}
	return rc;
}
