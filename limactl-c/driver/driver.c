#include "limactl-c/driver/driver.h"

#include <stddef.h>

#include "limactl-c/driver/drivers.h"

static const struct vm_driver *const drivers[] = {
	[PLAN_QEMU] = &driver_qemu,
	[PLAN_VZ] = NULL,
	[PLAN_FAKE] = &driver_fake,
};
_Static_assert(sizeof(drivers) / sizeof(*drivers) == PLAN_FAKE + 1, "every driver has its place");

const struct vm_driver *driver_find(enum plan_driver which)
{
	return (size_t)which < sizeof(drivers) / sizeof(*drivers) ? drivers[which] : NULL;
}
