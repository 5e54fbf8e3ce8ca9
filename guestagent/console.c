#include "guestagent/console.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

/* Some file that the pattern (below the root) finds begins with this text; "" = there is one. */
static bool any_begins(const struct setup *su, const char *pattern, const char *text)
{
	char path[SU_PATH_MAX];
	bool found = false;
	glob_t g;

	if (glob(su_path(su, pattern, path), 0, NULL, &g) != 0)
		return false;
	for (size_t i = 0; !found && i < g.gl_pathc; i++) {
		auto_buf have = BUF_INIT(SU_FILE_MAX);
		struct err e;

		found = !*text || (su_read(su, g.gl_pathv[i] + strlen(su->root), &have, &e) == 0 &&
				   strncmp(have.data, text, strlen(text)) == 0);
	}
	globfree(&g);
	return found;
}

/* The kernel has virtual terminals, and believes in a CGA screen, whether there is a graphics card or not. */
static bool has_screen(const struct setup *su)
{
	return any_begins(su, "/sys/class/graphics/fb[0-9]*", "") ||
	       any_begins(su, "/sys/bus/pci/devices/*/class", "0x03");
}

bool console_missing(const struct setup *su, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/tty/%.64s", name);
	if (strchr(name, '/') || !su_exists(su, path))
		return true;
	if (strncmp(name, "tty", 3) == 0 && isdigit((unsigned char)name[3]))
		return !has_screen(su);
	/* The kernel makes ttyS0 to ttyS3 whether there is hardware behind them or not. */
	snprintf(path, sizeof(path), "/sys/class/tty/%.64s/type", name);
	return su_says(su, path, "0\n");
}
