/* words.h - what the guest said last on its console, as far as serial.log has it. The guest can write anything there. */
#ifndef LIMA_HOSTAGENT_WORDS_H
#define LIMA_HOSTAGENT_WORDS_H

#include "limactl-c/plan/plan.h"

/* The last line that begins with "lima: ", without that: there /lima/init says why it cannot go on. malloc'd, NULL: none. */
char *words_of_ours(const struct plan *p);

char *words_last(const struct plan *p); /* the last line, whoever said it; malloc'd, "" when there is none */

#endif
