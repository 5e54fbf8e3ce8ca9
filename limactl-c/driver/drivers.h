/* drivers.h - the drivers of this build; found by others through driver_find(). */
#ifndef LIMA_DRIVERS_H
#define LIMA_DRIVERS_H

#include "limactl-c/driver/driver.h"

extern const struct vm_driver driver_qemu;
extern const struct vm_driver driver_fake;

#endif
