#include "limactl-c/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/load.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

void cfg_free(struct cfg *c)
{
	for (size_t i = 0; i < schema_count; i++) {
		/* Rows of list elements are freed with their list. */
		if (!strstr(schema[i].path, "[]") && schema[i].type != KEY_LATER)
			schema_clear(&schema[i], c);
	}
	free(c->cpu_type);
	where_free(c);
	*c = (struct cfg){ 0 };
}

/* The end of the three calls below: the findings are written, and a configuration with errors is
 * not handed out. */
static int write_findings(struct findings *f, const char *name, struct buf *out, struct err *e)
{
	int rc = findings_result(f, name, e);

	findings_sort(f);
	for (size_t i = 0; i < f->count; i++) {
		auto_free char *line = finding_line(&f->item[i]);

		buf_addf(out, "%s%s\n", f->item[i].warning ? "warning: " : "", line);
	}
	findings_fini(f);
	return rc;
}

static int finish(struct cfg *c, const char *name, struct findings *f, struct buf *findings,
		  struct err *e)
{
	if (write_findings(f, name, findings, e) == 0)
		return 0;
	cfg_free(c);
	return -1;
}

int cfg_parse(const char *name, const char *text, size_t len, struct cfg *out, struct buf *findings,
	      struct err *e)
{
	struct findings f = { 0 };

	*out = (struct cfg){ 0 };
	load_text(name, text, len, out, &f);
	return finish(out, name, &f, findings, e);
}

int cfg_validate(const struct cfg *c, const char *name, struct buf *findings, struct err *e)
{
	struct findings f = { 0 };

	validate_rules(c, name, &f);
	return write_findings(&f, name, findings, e);
}

int cfg_load(const char *name, const char *text, size_t len, const struct cfg_host *h,
	     struct cfg *out, struct buf *findings, struct err *e)
{
	struct findings f = { 0 };

	*out = (struct cfg){ 0 };
	/* Other layers (default.yaml, override.yaml) are merged here, before the defaults. */
	if (load_text(name, text, len, out, &f)) {
		cfg_fill(out, h);
		validate_rules(out, name, &f);
	}
	return finish(out, name, &f, findings, e);
}
