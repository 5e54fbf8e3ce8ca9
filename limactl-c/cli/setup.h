/* setup.h - from a template's text to a plan: read, change by options, check, find the images, decide. */
#ifndef LIMA_CLI_SETUP_H
#define LIMA_CLI_SETUP_H

#include <stdint.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/plan.h"
#include "limactl-c/store/inst.h"

enum { SETUP_TEXT_MAX = 4 << 20 };

/* Options that change a template; 0 and NULL: not given. */
struct edit {
	const char *name;
	unsigned cpus;
	const char *memory, *disk; /* GiB */
};

/* The rows of these options, for a command whose struct has a member edit. */
#define EDIT_OPTS(s) \
	{ "name", 0, OPT_STRING, offsetof(struct s, edit.name), "NAME", .help = "name of the new instance" }, \
	{ "cpus", 0, OPT_COUNT, offsetof(struct s, edit.cpus), "N", .help = "number of processors" }, \
	{ "memory", 0, OPT_GIB, offsetof(struct s, edit.memory), "GIB", .help = "memory, in GiB" }, \
	{ "disk", 0, OPT_GIB, offsetof(struct s, edit.disk), "GIB", .help = "disk size, in GiB" }

struct setup {
	char *label;     /* what messages call the text */
	struct buf text; /* YAML */
	char *name;      /* instance name the source suggests, or NULL */
	struct plan_host host;
	struct cfg cfg;
	struct plan plan;
	char *image[4]; /* disk, kernel, initrd, engine disk */
};

#define SETUP_INIT { .text = BUF_INIT(SETUP_TEXT_MAX) }
void setup_fini(struct setup *s);
#define auto_setup CLEANUP(setup_fini) struct setup

/* The text: of a template, or of an instance's own lima.yaml. */
int setup_read(struct setup *s, const char *locator, struct err *e);
int setup_read_inst(struct setup *s, const struct inst *i, struct err *e);
int setup_edit(struct setup *s, const struct edit *edit, struct err *e);

/* Parses, fills and checks the text into s->cfg; findings are said on stderr. Fills s->host too. */
int setup_check(struct setup *s, struct err *e);
/* The same without saying anything: the first finding is the error. For list. */
int setup_check_quietly(struct setup *s, struct err *e);

/* Fetches the images, unless the instance's former plan (may be NULL) knows them, and makes s->plan. */
int setup_plan(struct setup *s, const char *name, const char *dir, const struct plan *former, struct err *e);

#endif
