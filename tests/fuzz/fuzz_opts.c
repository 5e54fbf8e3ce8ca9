#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/cli/opts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct got {
	bool flag;
	enum opt_tristate tty;
	const char *name;
	unsigned cpus, timeout;
	const char *memory, *port, *mode;
	struct opt_list set, dns;
};

static const struct opt table[] = {
	{ "flag", 'f', OPT_FLAG, offsetof(struct got, flag), .help = "" },
	{ "tty", 0, OPT_TRISTATE, offsetof(struct got, tty), .help = "" },
	{ "name", 'n', OPT_STRING, offsetof(struct got, name), "NAME", .help = "" },
	{ "cpus", 0, OPT_COUNT, offsetof(struct got, cpus), "N", .help = "" },
	{ "memory", 0, OPT_GIB, offsetof(struct got, memory), "GIB", .help = "" },
	{ "timeout", 0, OPT_DURATION, offsetof(struct got, timeout), "TIME", .help = "" },
	{ "port", 0, OPT_PORT, offsetof(struct got, port), "PORT", .help = "" },
	{ "mode", 0, OPT_WORD, offsetof(struct got, mode), "MODE", .help = "", .words = "user|system|none" },
	{ "set", 0, OPT_LIST, offsetof(struct got, set), "EXPRESSION", .help = "" },
	{ "dns", 0, OPT_COMMAS, offsetof(struct got, dns), "IP", .help = "" },
	{ 0 },
};

enum { ARGS = 16 };

/* Each line is an argument. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *copy = malloc(len + 1), *argv[ARGS + 2] = { "prog" }, *save = NULL;
	struct got g = { 0 };
	struct opt_set set = { table, &g };
	struct err e;
	int argc = 1;

	if (!copy)
		return 0;
	memcpy(copy, data, len);
	copy[len] = '\0';
	for (char *w = strtok_r(copy, "\n", &save); w && argc <= ARGS; w = strtok_r(NULL, "\n", &save))
		argv[argc++] = w;
	opts_parse(&set, 1, len & 1, argc, argv, &e);
	free(copy);
	return 0;
}
