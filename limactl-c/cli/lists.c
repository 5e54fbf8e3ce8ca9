#include "limactl-c/cli/lists.h"

#include <stdio.h>

#include "limactl-c/config/locator.h"
#include "limactl-c/driver/driver.h"

static void print_templates(void)
{
	struct locator_template *list;
	size_t n = locator_list(&list);

	/* "_images/debian" is a part of templates, no template. */
	for (size_t i = 0; i < n; i++)
		if (list[i].name[0] != '_')
			puts(list[i].name);
	locator_list_free(list, n);
}

static void print_drivers(void)
{
	static const enum plan_driver all[] = { PLAN_QEMU, PLAN_VZ };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (driver_find(all[i]))
			puts(driver_find(all[i])->name);
}

bool lists_print(const struct lists *l)
{
	if (l->templates)
		print_templates();
	if (l->drivers)
		print_drivers();
	return l->templates || l->drivers;
}
