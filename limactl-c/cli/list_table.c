#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/list.h"
#include "limactl-c/plan/host.h"

/* Columns in Lima's order. */
enum { C_NAME, C_STATUS, C_SSH, C_VMTYPE, C_ARCH, C_CPUS, C_MEMORY, C_DISK, C_DIR, COLUMNS };

static char *short_dir(const char *dir)
{
	const char *home = getenv("HOME");
	size_t n = home ? strlen(home) : 0;

	if (n > 1 && !strncmp(dir, home, n) && (dir[n] == '/' || !dir[n]))
		return xasprintf("~%s", dir + n);
	return xstrdup(dir);
}

static char *size_cell(uint64_t bytes)
{
	return bytes ? text_size(bytes) : xstrdup("0B");
}

void list_table_begin(struct table *t)
{
	*t = (struct table){
		.head = { "NAME", "STATUS", "SSH", "VMTYPE", "ARCH", "CPUS", "MEMORY", "DISK", "DIR" },
		.columns = COLUMNS,
	};
}

void list_table_add(struct table *t, const struct look *l)
{
	table_add(t, xstrdup(l->inst.name));
	table_add(t, xstrdup(look_status(l)));
	table_add(t, xasprintf("127.0.0.1:%u", l->plan.ssh_port));
	table_add(t, xstrdup(look_vm_type(l)));
	table_add(t, xstrdup(l->plan.arch ? l->plan.arch : ""));
	table_add(t, xasprintf("%u", l->plan.cpus));
	table_add(t, size_cell(l->plan.memory));
	table_add(t, size_cell(l->plan.disk_size));
	table_add(t, short_dir(l->inst.dir));
}

/* Whether all cells of a column say the same; with word: say that. */
static bool says_only(const struct table *t, size_t column, const char *word)
{
	for (size_t i = column; i < t->cells; i += t->columns)
		if (strcmp(t->cell[i], word ? word : t->cell[column]) != 0)
			return false;
	return true;
}

static unsigned columns_to_hide(const struct table *t)
{
	/* Those that go first when the terminal is narrow; the first two only when they tell nothing. */
	const unsigned first[] = {
		says_only(t, C_VMTYPE, NULL) ? 1u << C_VMTYPE : 0,
		says_only(t, C_ARCH, plan_host_arch()) ? 1u << C_ARCH : 0,
		1u << C_DIR,
	};
	struct winsize w;
	unsigned hidden = 0;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_col)
		return 0;
	for (size_t i = 0; i < sizeof(first) / sizeof(*first) && table_width(t, hidden) > w.ws_col; i++)
		hidden |= first[i];
	return hidden;
}

void list_table_end(struct table *t, bool all_fields)
{
	table_print(t, all_fields ? 0 : columns_to_hide(t), stdout);
	table_free(t);
}
