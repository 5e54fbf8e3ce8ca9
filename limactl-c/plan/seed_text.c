/* seed_text.c - values as the seed's files can hold them. */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/plan/parts.h"
#include "limactl-c/plan/seed_parts.h"
#include "limactl-c/yaml/emit.h"

int seed_check_line(const char *what, const char *value, struct err *e)
{
	const char *why = NULL;

	for (const unsigned char *s = (const unsigned char *)value; *s && !why; s++)
		if (*s == '\n' || *s == '\r')
			why = "a line break";
		else if ((*s < ' ' && *s != '\t') || *s == 0x7f)
			why = "a control character";
	if (!why && !text_is_utf8(value))
		return err_set(e, ERR_INVALID, "%s is not UTF-8, which the files of the guest's boot have to be", what);
	return why ? err_set(e, ERR_INVALID, "%s has %s, which the files of the guest's boot cannot hold", what, why) : 0;
}

int seed_yaml(struct buf *b, const char *s)
{
	const struct ynode n = { .kind = YN_STRING, .style = YN_DOUBLE, .text = s, .len = strlen(s) };

	return yn_emit_scalar(&n, b);
}

/* --- mounts --- */

bool seed_guest_mounts(const struct cfg *c)
{
	return !strcmp(c->mount_type, "9p") || !strcmp(c->mount_type, "virtiofs");
}

char *seed_mount_options(const struct cfg *c, const struct cfg_mount *m)
{
	auto_free char *options = plan_mount_options(c, m);

	return xasprintf("%s%s%s,nofail", m->writable ? "rw" : "ro", *options ? "," : "", options);
}

bool seed_mount_is_odd(const struct cfg_mount *m)
{
	return strpbrk(m->mount_point, " \t\"\\$`,#'[]{}") != NULL;
}
