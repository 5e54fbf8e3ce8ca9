#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/image/boot_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Whatever a volume says, a path stays on it. */
static void check_path(const char *path)
{
	if (!*path || *path == '/' || strstr(path, "..") || strchr(path, '$'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_boot_entry b = BOOT_ENTRY_INIT;
	struct err e;

	if (boot_config_parse((const char *)data, len, &b, &e) < 0)
		return 0;
	check_path(b.kernel);
	for (size_t i = 0; i < b.initrds; i++)
		check_path(b.initrd[i]);
	if (strlen(b.args) > BOOT_ARGS_MAX || strchr(b.args, '\n'))
		abort();
	return 0;
}
