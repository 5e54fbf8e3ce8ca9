/* prune: removes images that no instance lies on. */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/images.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/paths.h"

struct prune_opts {
	bool keep_referred;
};

enum { LIST_MAX = 4 << 20, ANSWER_MAX = 1 << 20 };

static void add(struct buf *list, const char *location, const char *digest)
{
	if (location)
		buf_addf(list, "%s%s%s\n", location, digest ? "\t" : "", digest ? digest : "");
}

static void add_all(struct buf *list, const struct cfg *c)
{
	for (size_t i = 0; i < c->images; i++) {
		const struct cfg_image *im = &c->image[i];

		add(list, im->location, im->digest);
		add(list, im->kernel.location, im->kernel.digest);
		add(list, im->initrd.location, im->initrd.digest);
	}
	for (size_t i = 0; i < c->firmware.images; i++)
		add(list, c->firmware.image[i].location, c->firmware.image[i].digest);
	for (size_t i = 0; i < c->containerd.archives; i++)
		add(list, c->containerd.archive[i].location, c->containerd.archive[i].digest);
	add(list, c->guest.engine_disk, NULL);
}

static void add_instance(void *list, const struct inst *i, const struct cfg *c)
{
	(void)i;
	add_all(list, c);
}

static int add_template(struct buf *list, const char *path, struct err *e)
{
	auto_setup s = SETUP_INIT;

	s.quiet = true;
	if (setup_read(&s, path, e) < 0 || setup_embed(&s, e) < 0 || setup_check_quietly(&s, e) < 0)
		return err_wrap(e, "template %s", path);
	add_all(list, &s.cfg);
	return 0;
}

static int add_templates(struct buf *list, struct err *e)
{
	struct locator_template *t;
	size_t n = locator_list(&t);
	int rc = 0;

	/* Parts ("_images/alpine") come with the templates that are made of them. */
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (*t[i].name != '_')
			rc = add_template(list, t[i].path, e);
	locator_list_free(t, n);
	return rc;
}

static void tell(char *answer)
{
	char *save = NULL;

	for (char *line = answer ? strtok_r(answer, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		say_info("%s", line);
}

static int run(const struct call *call, struct err *e)
{
	const struct prune_opts *o = call->opts;
	auto_buf list = BUF_INIT(LIST_MAX), answer = BUF_INIT(ANSWER_MAX);
	/* Not in its folder tmp/, where a create that publishes an image meanwhile removes what nobody has locked. */
	auto_free char *cache = paths_cache(e), *file = cache ? xasprintf("%s/keep.%ld" FS_WRITTEN, cache, (long)getpid()) : NULL;
	const char *argv[] = { "", "prune", NULL, NULL, NULL };
	int rc;

	/* What cannot be read might name anything: nothing is removed then. */
	if (!cache || (o->keep_referred && (setup_each_inst(add_instance, &list, e) < 0 || add_templates(&list, e) < 0)))
		return -1;
	if (o->keep_referred) {
		argv[2] = "--keep";
		argv[3] = file;
		if (fs_mkdirs(cache, 0755, e) < 0)
			return -1;
		folder_sweep(cache); /* of a prune that was killed */
		if (fs_write_atomic(file, list.data ? list.data : "", list.len, 0600, e) < 0)
			return -1;
	}
	rc = images_run(argv, &answer, false, e);
	unlink(file);
	if (rc == 0)
		tell(answer.data);
	return rc;
}

static const struct opt opts[] = {
	{ "keep-referred", 0, OPT_FLAG, offsetof(struct prune_opts, keep_referred),
	  .help = "keep also what lima.yaml of an instance, or a template, names" },
	{ 0 },
};

const struct cmd cmd_prune = {
	.name = "prune",
	.args = "",
	.summary = "Remove images that no instance lies on from the cache",
	.opt = opts,
	.opts_size = sizeof(struct prune_opts),
	.run = run,
};
