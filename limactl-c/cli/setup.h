/* setup.h - from a template's text to a plan: read, embed its bases, change by flags, check, find the images,
 * decide. */
#ifndef LIMA_CLI_SETUP_H
#define LIMA_CLI_SETUP_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/cli/edit_flags.h"
#include "limactl-c/cli/find.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/plan.h"
#include "limactl-c/store/disk.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/yaml/ynode.h"

enum { SETUP_TEXT_MAX = 4 << 20 };

/* How strictly a template is read: --lenient, --strict. */
struct setup_rules {
	bool lenient, strict;
};
extern const struct opt setup_rules_opts[];

/* The shared tables of a command whose struct has members edit and rules. */
#define SETUP_SHARED(s) \
	{ { edit_opts, offsetof(struct s, edit) }, { setup_rules_opts, offsetof(struct s, rules) } }

struct setup {
	char *label;     /* what messages call the text */
	char *locator;   /* where it is from, for the bases it names */
	struct buf text; /* YAML */
	char *name;      /* instance name the source suggests, or NULL */
	char *inst_name, *inst_dir; /* of the instance, which values may name; NULL: none yet */
	struct setup_rules rules;
	bool quiet;    /* warnings are not said: a check to come will */
	struct findings findings; /* not said yet: mistakes in the text, and in what it names */
	bool partial;          /* some of that could not be read */
	bool embedded; /* the base of every template is in already */
	struct yn_pool *pool;     /* of the trees; NULL until there is one */
	const struct ynode *root; /* the text as it was read */
	const struct ynode *tree; /* what it says now; values keep the places they were given at. NULL: not asked for yet */
	struct plan_host host;
	struct cfg cfg;
	struct plan plan;
	struct found found;
	int cache_use; /* descriptor: nothing is pruned until a plan names the images found (store/cache_use.h) */
	bool starts_later; /* it is only made now: one of additionalDisks may be made before the start, the ssh port is chosen then */
	struct disk disk[PLAN_EXTRA_MAX]; /* additionalDisks; no name: not there */
};

#define SETUP_INIT { .text = BUF_INIT(SETUP_TEXT_MAX), .cache_use = -1 }
void setup_fini(struct setup *s);
#define auto_setup CLEANUP(setup_fini) struct setup

/* The text: of a template, or of an instance's own lima.yaml. */
int setup_read(struct setup *s, const char *locator, struct err *e);
int setup_read_inst(struct setup *s, const struct inst *i, struct err *e);

/* Calls each with what lima.yaml of every instance says, filled and checked quietly. One that cannot be read ends it, for it
 * might say anything: the error names instance and file. */
int setup_each_inst(void (*each)(void *arg, const struct inst *i, const struct cfg *c), void *arg, struct err *e);

/* It is, or will be, the text of this instance. */
void setup_belongs(struct setup *s, const char *name, const char *dir);

/* Changes the text; comments, order and everything that is not meant stay. embed: its bases and the scripts it
 * names are taken in, nothing is done when there are none; the text of a template with mistakes stays as it is, they are told
 * by setup_check(). edit: as edit_apply() says; is_new: not the text of an instance that is there. */
int setup_embed(struct setup *s, struct err *e);
int setup_edit(struct setup *s, const struct edit *edit, bool is_new, struct err *e);

/* Puts another text in place of s->text. */
int setup_take(struct setup *s, const char *text, size_t len, struct err *e);

/* Parses, merges with the defaults and overrides of $LIMA_HOME, fills and checks the text into s->cfg; findings
 * are said on stderr. Fills s->host too. */
int setup_check(struct setup *s, struct err *e);
/* The same without saying anything: the first finding is the error. For list, to which unknown keys are none. */
int setup_check_quietly(struct setup *s, struct err *e);

/* Whether what was checked can be carried out here, by this version; said likewise. setup_plan() asks too. */
int setup_possible(struct setup *s, struct err *e);

/* Fetches the images, unless the instance's former plan (may be NULL) knows them, and makes s->plan. */
int setup_plan(struct setup *s, const struct plan *former, struct err *e);

#endif
