#include "limactl-c/cli/source.h"

#include "lib/io.h"
#include "limactl-c/cli/images.h"

enum { PATH_MAX_LEN = 8192 };

static int read_url(void *arg, const char *url, const char *digest, struct buf *text, struct err *e)
{
	const char *argv[] = { "", "get", "--text", digest ? "--digest" : "--", digest ? digest : url, digest ? "--" : NULL,
			       url, NULL };
	auto_buf path = BUF_INIT(PATH_MAX_LEN);

	(void)arg;
	if (images_run(argv, &path, false, e) < 0)
		return -1;
	return io_read_file(path.data ? path.data : "", text, e);
}

const struct embed_reader source_reader = { read_url, NULL };
