/* script.h - one script of provision[]: its files, its run, its result. */
#ifndef LIMA_GUESTAGENT_SCRIPT_H
#define LIMA_GUESTAGENT_SCRIPT_H

#include "lib/agentproto.h"
#include "lib/settings.h"

enum { SCRIPTS_MAX = 1000 };

/* The number in "provision.NN.mode", -1 when key is another one. */
int script_index(const char *key);

/* The state on file; 0, or -1 when there is none yet. */
int script_load(const char *run_dir, int index, struct ap_provision *v);

/* Runs it, waits for it and writes its state before and after. One found "running" was interrupted and failed. */
void script_run(const char *run_dir, const struct settings *s, int index);

#endif
