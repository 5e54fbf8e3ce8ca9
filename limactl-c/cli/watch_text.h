/* watch_text.h - an event line of an instance as a sentence for people. */
#ifndef LIMA_CLI_WATCH_TEXT_H
#define LIMA_CLI_WATCH_TEXT_H

#include "limactl-c/base/jsonx.h"

/* Prints "TIME INSTANCE | …" for each thing the event tells. */
void watch_print(const char *instance, const struct jx *event);

#endif
