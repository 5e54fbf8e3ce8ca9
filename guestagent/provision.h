/* provision.h - the template's scripts, run once a boot.
 *
 * Scripts are <run>/provision/NN; settings provision.NN.mode say when: "boot" by setup, "system" by the daemon.
 * They run in order, as root, with env.* and PARAM_*; one that fails does not stop the next. Beside each script
 * NN.status says how far it is, so that an agent started anew neither repeats nor forgets it:
 *
 *   running | ok | failed STATUS        first line; STATUS is the exit code or -signal
 *   the last lines of its output        when failed
 *
 * A runner process of its own runs the system scripts, so they survive the daemon. It holds <run>/provision/lock
 * and leaves <run>/provision/done at the end; the daemon watches the folder.
 */
#ifndef LIMA_GUESTAGENT_PROVISION_H
#define LIMA_GUESTAGENT_PROVISION_H

#include <stdbool.h>

#include "guestagent/session.h"
#include "lib/settings.h"

/* Runs the scripts of a mode that have no result yet and waits for them. Failing scripts are no error. */
void provision_run(const char *run_dir, const struct settings *s, const char *mode);

struct ga_provision;

/* Starts the runner, unless everything was run. on_done is called once all are done (at once when they are). */
struct ga_provision *ga_provision_start(struct ga *ga, void (*on_done)(struct ga *ga), struct err *e);
void ga_provision_free(struct ga_provision *p);
bool ga_provision_done(const struct ga_provision *p);
void ga_provision_send(struct ga_provision *p); /* the state of every script that has one */

#endif
