/* provision.h - what the template's provision[] asks for, carried out once a boot.
 *
 * Entry NN is <run>/provision/NN, a script or the content of a file; setting provision.NN.mode says what it is:
 *
 *   boot                run by setup, as root
 *   dependency, system  run by the daemon, as root
 *   user                run by the daemon's user (user.name) in a login shell
 *   data                put at provision.NN.path with .owner and .permissions, over what is there unless .overwrite is
 *                       "false"
 *   yq                  the file at .path is edited by the host, which has the expression: its text is offered as NN.in
 *                       (none: it is to be made), the state is "asks"; the host puts the new text at NN.out or a
 *                       sentence at NN.err, by a rename
 *
 * Order: boot, then with upgradePackages=true the guest's package manager, then dependency, data, yq, system, user; within a
 * mode by number. Scripts have env.* and PARAM_* in their environment. One that fails does not stop the next. Beside
 * each NN.status says how far it is, so that an agent started anew neither repeats nor forgets it:
 *
 *   running | asks | ok | failed STATUS   first line; STATUS is the exit code or -signal
 *   the last lines of its output          when failed
 *
 * A runner process of its own does all but boot, so it survives the daemon. It holds <run>/provision/lock and leaves
 * <run>/provision/done at the end; the daemon watches the folder.
 */
#ifndef LIMA_GUESTAGENT_PROVISION_H
#define LIMA_GUESTAGENT_PROVISION_H

#include <stdbool.h>

#include "guestagent/session.h"
#include "lib/settings.h"

/* Carries out the entries of a mode that have no result yet; whether all of that mode have succeeded. */
bool provision_run(const char *run_dir, const struct settings *s, const char *mode);

/* Program `provision MODE [RUN-FOLDER]`: the same in a cloud guest, whose boot script says when each mode's turn is and leaves
 * <run>/provision/done itself. "upgradePackages" counts as a mode. Exit code 1 when an entry failed. */
int provision_main(int argc, char **argv);

struct ga_provision;

/* Starts the runner, unless everything was run. on_done is called once all are done (at once when they are). */
struct ga_provision *ga_provision_start(struct ga *ga, void (*on_done)(struct ga *ga), struct err *e);
void ga_provision_free(struct ga_provision *p);
bool ga_provision_done(const struct ga_provision *p);
void ga_provision_send(struct ga_provision *p); /* the state of every script that has one */

#endif
