#include "limactl-c/cli/pubkeys.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/lock.h"

enum { FILE_MAX = 64 * 1024, KEYGEN_SECONDS = 60 };

void pubkeys_free(struct pubkeys *k)
{
	for (size_t i = 0; i < k->keys; i++)
		free(k->key[i]);
	for (size_t i = 0; i < k->identities; i++)
		free(k->identity[i]);
	free(k->key);
	free(k->identity);
	*k = (struct pubkeys){ 0 };
}

/* Two words at least, and nothing that would break a line or a file. */
static bool is_key(const char *line)
{
	if (!text_is_utf8(line) || !strchr(line, ' ') || *line == '#')
		return false;
	while (*line && ((unsigned char)*line >= ' ' || *line == '\t') && *line != 0x7f)
		line++;
	return !*line;
}

static int take(struct pubkeys *k, const char *path, struct err *e)
{
	auto_buf b = BUF_INIT(FILE_MAX);

	if (io_read_file(path, &b, e) < 0)
		return -1;
	if (b.data)
		b.data[strcspn(b.data, "\r\n")] = '\0';
	if (!b.data || !is_key(b.data)) {
		say_warn("%s: its first line is no public key; it is left out", path);
		return 0;
	}
	k->key = xrealloc_array(k->key, k->keys + 1, sizeof(*k->key));
	k->key[k->keys++] = xstrdup(b.data);
	return 0;
}

/* Under the folder's lock: of two that come at once the second finds the first one's. The public half goes last, so that
 * where it is the other is too. */
static int make_pair(const char *dir, const char *private, const char *public, struct err *e)
{
	auto_free char *tmp = xasprintf("%s.tmp", private), *tmp_pub = xasprintf("%s.pub", tmp);
	const char *argv[] = { "ssh-keygen", "-t", "ed25519", "-q", "-N", "", "-C", "lima", "-f", tmp, NULL };
	struct spawn s = { .argv = argv, .seconds = KEYGEN_SECONDS };
	auto_close int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock < 0 || lock_wait(lock, LOCK_EX) < 0)
		return err_errno(e, "%s", dir);
	if (fs_exists(public))
		return 0;
	unlink(tmp); /* of one that was killed */
	if (spawn_run(&s, NULL, e) != 0) {
		unlink(tmp);
		unlink(tmp_pub);
		err_wrap(e, "ssh-keygen");
		return fs_told_full(private, e);
	}
	return rename(tmp, private) < 0 || rename(tmp_pub, public) < 0 ? fs_write_error(private, e) : 0;
}

static void take_identity(struct pubkeys *k, const char *public)
{
	auto_free char *private = xstrndup(public, strlen(public) - strlen(".pub"));

	if (!fs_exists(private))
		return;
	k->identity = xrealloc_array(k->identity, k->identities + 1, sizeof(*k->identity));
	k->identity[k->identities++] = steal(&private);
}

static int take_own(struct pubkeys *k, const char *lima_home, bool quiet, struct err *e)
{
	auto_free char *dir = xasprintf("%s/_config", lima_home), *private = xasprintf("%s/user", dir);
	auto_free char *public = xasprintf("%s.pub", private), *keygen = NULL;

	if (!fs_exists(public)) {
		keygen = spawn_find("ssh-keygen", e);
		if (!keygen) {
			if (!quiet)
				say_warn("there is no ssh-keygen, so there is no key to log in by ssh with");
			*e = (struct err){ 0 };
			return 0;
		}
		if (fs_mkdirs(dir, 0700, e) < 0 || make_pair(dir, private, public, e) < 0)
			return -1;
	}
	return take(k, public, e);
}

int pubkeys_read(const char *lima_home, const char *dot_ssh, bool quiet, struct pubkeys *out, struct err *e)
{
	auto_free char *pattern = dot_ssh ? xasprintf("%s/*.pub", dot_ssh) : NULL;
	glob_t g = { 0 };
	int rc;

	*out = (struct pubkeys){ 0 };
	rc = take_own(out, lima_home, quiet, e);
	if (rc == 0 && pattern && glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; rc == 0 && i < g.gl_pathc; i++) {
			if (!fs_exists(g.gl_pathv[i]))
				continue; /* a link that leads nowhere */
			rc = take(out, g.gl_pathv[i], e);
			take_identity(out, g.gl_pathv[i]);
		}
	globfree(&g);
	if (rc < 0)
		pubkeys_free(out);
	return rc;
}
