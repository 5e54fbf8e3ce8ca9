/* openrc.h - a guest that keeps its own init: the services and configuration OpenRC is given (docs/tuning.md).
 *
 * Written below /etc of the guest's disk before its init starts (`agent setup --openrc`, run by /lima/init), at each
 * boot anew and only where something differs. A lean guest never runs OpenRC, so what lies there does nothing then.
 */
#ifndef LIMA_GUESTAGENT_OPENRC_H
#define LIMA_GUESTAGENT_OPENRC_H

#include "guestagent/setup_util.h"

bool openrc_is(const struct setup *su); /* setting init=openrc */

/* Our services and what every tuning wants of OpenRC. ERR_NOTFOUND when the guest has no OpenRC. */
int openrc_configure(const struct setup *su, struct err *e);

/* The inittab has a getty on such a console. */
bool openrc_has_stray_getty(const struct setup *su);

/* What the rows of the tuning table want; on = false takes it back. */
int openrc_syslog(const struct setup *su, bool on, struct err *e);
int openrc_commit(const struct setup *su, bool on, struct err *e);
int openrc_docker(const struct setup *su, bool on, struct err *e);
int openrc_inittab(const struct setup *su, bool on, struct err *e); /* getty; clean stop */
int openrc_boot_menu(const struct setup *su, bool on, struct err *e);
int openrc_no_hotplug(const struct setup *su, bool on, struct err *e);

int openrc_check_boot_menu(const struct setup *su, struct err *e);
int openrc_check_no_hotplug(const struct setup *su, struct err *e);

#endif
