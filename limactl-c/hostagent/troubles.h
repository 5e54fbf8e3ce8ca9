/* troubles.h - what should work in the guest and does not, by name. Together with what failed at its start that is why an
 * instance is degraded; unlike that, a trouble may be over. */
#ifndef LIMA_HOSTAGENT_TROUBLES_H
#define LIMA_HOSTAGENT_TROUBLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"

enum { TROUBLES_KEPT_MAX = 20 }; /* more are not kept */

struct troubles;

struct troubles *troubles_new(void);
void troubles_free(struct troubles *t); /* NULL is allowed */

/* text: a sentence; one that was not there before is logged. */
void troubles_set(struct troubles *t, const char *what, const char *text);
void troubles_over(struct troubles *t, const char *what); /* nothing when there was none */

int troubles_message(struct troubles *t, const uint8_t *body, size_t len); /* AP_MSG_TROUBLE; -1: malformed */
void troubles_forget(struct troubles *t); /* those the guest told of: a new agent tells all it knows */
bool troubles_of_guest(const struct troubles *t); /* it told of one */

void troubles_list(const struct troubles *t, struct jx *list); /* adds the sentence of each */

#endif
