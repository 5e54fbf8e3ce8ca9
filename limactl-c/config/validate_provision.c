/* validate_provision.c - rules of provision[]: which keys each mode needs and which it may have. */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/where.h"

enum {
	M_SYSTEM = 1 << 0,
	M_USER = 1 << 1,
	M_BOOT = 1 << 2,
	M_DEPENDENCY = 1 << 3,
	M_DATA = 1 << 4,
	M_YQ = 1 << 5,
	M_ANSIBLE = 1 << 6,
	M_SCRIPTS = M_SYSTEM | M_USER | M_BOOT | M_DEPENDENCY,
};

static const struct mode {
	const char *word;
	unsigned bit;
	bool windows; /* possible in a Windows guest */
} modes[] = {
	{ "system", M_SYSTEM, true }, { "user", M_USER, true }, { "boot", M_BOOT, false },
	{ "dependency", M_DEPENDENCY, true }, { "data", M_DATA, true }, { "yq", M_YQ, false },
	{ "ansible", M_ANSIBLE, false },
};

#define AT(member) offsetof(struct cfg_provision, member)
static const struct part {
	const char *key;
	size_t at;
	bool tri;         /* enum cfg_tri, else a string */
	unsigned may, must; /* modes */
	const char *with; /* may, in words */
} parts[] = {
	{ "script", AT(script), false, M_SCRIPTS, M_SCRIPTS, "system, user, boot or dependency" },
	{ "content", AT(content), false, M_DATA, M_DATA, "data" },
	{ "overwrite", AT(overwrite), true, M_DATA, 0, "data" },
	{ "owner", AT(owner), false, M_DATA | M_YQ, 0, "data or yq" },
	{ "path", AT(path), false, M_DATA | M_YQ, M_DATA | M_YQ, "data or yq" },
	{ "permissions", AT(permissions), false, M_DATA | M_YQ, 0, "data or yq" },
	{ "expression", AT(expression), false, M_YQ, M_YQ, "yq" },
	{ "format", AT(format), false, M_YQ, 0, "yq" },
	{ "skipDefaultDependencyResolution", AT(skip_default_dependency_resolution), true, M_DEPENDENCY, 0,
	  "dependency" },
	{ "playbook", AT(playbook), false, M_ANSIBLE, 0, "ansible" },
};

static bool is_set(const struct cfg_provision *p, const struct part *part)
{
	const void *field = (const char *)p + part->at;

	if (part->tri)
		return *(const enum cfg_tri *)field != CFG_UNSET;
	/* No script is the same as an empty one; a file may well be empty. */
	return *(char *const *)field && (part->at != AT(script) || **(char *const *)field);
}

static void check_part(struct check *k, size_t i, const struct part *part, const struct mode *mode)
{
	bool set = is_set(&k->c->provision[i], part);

	if (set && !(part->may & mode->bit)) {
		check_bad(k, xasprintf("provision[%zu].%s", i, part->key), "goes with mode %s; the mode is %s",
			  part->with, mode->word);
	} else if (!set && part->must & mode->bit) {
		auto_free char *path = xasprintf("provision[%zu].%s", i, part->key);

		/* A value that was given but wrong is a finding already; an empty script is none. */
		if (part->at == AT(script) && k->c->provision[i].script)
			check_bad(k, steal(&path), "must not be empty");
		else if (!where_given(k->c, path))
			check_bad(k, steal(&path), "must be set with mode %s", mode->word);
	}
}

static void check_one(struct check *k, size_t i, const struct mode *mode)
{
	const struct cfg_provision *p = &k->c->provision[i];

	if (p->file.url && ((p->script && *p->script) || p->content || p->expression)) {
		check_bad(k, xasprintf("provision[%zu].file", i), "stands beside a text that was written out; keep one of them");
		return;
	}
	if (p->file.url) {
		check_bad(k, xasprintf("provision[%zu].file", i),
			  "is read when an instance is created, not later; write the text into the template with "
			  "`limactl-c template copy --embed-all`");
		return;
	}
	if (!mode->windows && !strcmp(k->c->os, "Windows"))
		check_bad(k, xasprintf("provision[%zu].mode", i), "cannot be %s in a Windows guest", mode->word);
	if (mode->bit == M_ANSIBLE)
		check_warn(k, xasprintf("provision[%zu].mode", i),
			   "ansible is deprecated; run ansible-playbook yourself once the instance is up");
	if (p->script && strstr(p->script, "LIMA_CIDATA"))
		check_warn(k, xasprintf("provision[%zu].script", i),
			   "uses LIMA_CIDATA variables, which are no part of the format; use {{.User}}, {{.Home}} …");
	for (size_t j = 0; j < sizeof(parts) / sizeof(*parts); j++)
		check_part(k, i, &parts[j], mode);
}

void check_provision(struct check *k)
{
	for (size_t i = 0; i < k->c->provisions; i++) {
		for (size_t j = 0; j < sizeof(modes) / sizeof(*modes); j++) {
			if (!strcmp(k->c->provision[i].mode, modes[j].word))
				check_one(k, i, &modes[j]);
		}
	}
}
