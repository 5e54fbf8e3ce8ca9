/* findings.h - what is wrong with a template, told to people. */
#ifndef LIMA_CLI_FINDINGS_H
#define LIMA_CLI_FINDINGS_H

#include "limactl-c/base/finding.h"

/* Every finding in the order of the file, a line each on standard error. */
void findings_say(struct findings *f);

#endif
