/* image import NAME FILE - a local file into the cache, under a name for "cache:NAME". */
#include <fcntl.h>
#include <stdio.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/image/cache.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/sink.h"

enum { OPT_DIGEST, OPT_PROGRAM };

static int store(const struct cache *c, const struct command_line *l, const struct digest *want, struct digest *got,
		 struct err *e)
{
	auto_close int fd = open(l->arg[1], O_RDONLY | O_CLOEXEC);
	auto_free char *what = xasprintf("import-%s", l->arg[0]);
	auto_newfile f = NEWFILE_INIT;
	auto_sink s = SINK_INIT;

	if (fd < 0)
		return err_errno(e, "cannot open %s", l->arg[1]);
	if (cache_new(c, what, &f, e) < 0 || sink_open(&s, &f, want, e) < 0)
		return -1;
	if (sink_copy_file(&s, fd, e) < 0 || sink_end(&s, got, e) < 0)
		return err_wrap(e, "%s", l->arg[1]);
	return cache_publish(c, &f, got, l->opt[OPT_PROGRAM] ? 0555 : 0444, e);
}

static int run(const struct command_line *l, struct err *e)
{
	auto_cache c = CACHE_INIT;
	struct digest want, got;
	const struct digest *check = NULL;

	if (cache_check_name(l->arg[0], e) < 0)
		return -1;
	if (l->opt[OPT_DIGEST]) {
		if (digest_parse(l->opt[OPT_DIGEST], &want, e) < 0)
			return -1;
		check = &want;
	}
	if (cache_open(&c, e) < 0 || store(&c, l, check, &got, e) < 0 ||
	    cache_link(&c, CACHE_NAMES, l->arg[0], &got, e) < 0)
		return -1;
	printf("%s:%s\n", got.algo, got.hex);
	return 0;
}

const struct command command_import = {
	.name = "import",
	.args = "NAME FILE",
	.nargs = 2,
	.help = "copy FILE into the cache as cache:NAME and print its digest",
	.opt = {
		[OPT_DIGEST] = { "digest", "ALGO:HEX", false },
		[OPT_PROGRAM] = { "program", NULL, false },
	},
	.run = run,
};
