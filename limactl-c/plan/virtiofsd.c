/* Where virtiofsd is on this host, and which of the two programs of that name. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/plan/host.h"

enum { HELP_MAX = 64 << 10, HELP_SECONDS = 5 };

/* The program a description names, malloc'd; NULL when it is for something else. */
static char *program_of(const char *file)
{
	struct err ignored = { 0 };
	auto_jx *o = jx_parse_file(file, &ignored);
	const char *program = jx_string_or(o, "binary", "");

	if (strcmp(jx_string_or(o, "type", ""), "fs") != 0 || *program != '/' || !fs_exists(program))
		return NULL;
	return xstrdup(program);
}

static char *look_in(const char *dir)
{
	auto_free char *pattern = xasprintf("%s/vhost-user/*.json", dir);
	char *found = NULL;
	glob_t g;

	if (glob(pattern, 0, NULL, &g) != 0)
		return NULL;
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = program_of(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

/* malloc'd; NULL when QEMU is not installed. */
static char *beside(const char *qemu)
{
	struct err none;
	auto_free char *program = qemu ? spawn_find(qemu, &none) : NULL;

	return program ? plan_qemu_share(program) : NULL;
}

/* Both print what they know when asked; only the newer one knows --shared-dir. */
static void ask(struct plan_host *h)
{
	const char *const argv[] = { h->virtiofsd, "--help", NULL };
	const struct spawn s = { .argv = argv, .seconds = HELP_SECONDS };
	auto_buf out = BUF_INIT(HELP_MAX);
	struct err ignored = { 0 };

	spawn_run(&s, &out, &ignored);
	h->virtiofsd_old = !out.data || !strstr(out.data, "--shared-dir");
	h->virtiofsd_readonly = out.data && strstr(out.data, "--readonly");
}

void plan_host_find_virtiofsd(struct plan_host *h, const char *root)
{
	auto_free char *own = xasprintf("%s/.local/share/qemu", h->home), *beside_qemu = beside(h->qemu);
	auto_free char *local = xasprintf("%s/usr/local/share/qemu", root), *usr = xasprintf("%s/usr/share/qemu", root);
	const char *const dirs[] = { own, beside_qemu, local, usr };

	free(h->virtiofsd);
	h->virtiofsd = NULL;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs) && !h->virtiofsd; i++)
		h->virtiofsd = dirs[i] ? look_in(dirs[i]) : NULL;
	if (h->virtiofsd)
		ask(h);
}
