#include "limactl-c/base/env.h"

#include <stdlib.h>

unsigned env_seconds(const char *name, unsigned usual)
{
	const char *env = getenv(name);
	int seconds = env ? atoi(env) : 0;

	return seconds > 0 ? (unsigned)seconds : usual;
}
