#include "limactl-c/config/locator.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/locator_image.h"
#include "limactl-c/config/search.h"

enum { LOCATOR_MAX = 4096 };
#define TEMPLATE "template:"
#define FILE_URL "file://"

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Letters before ":", 0 when there is no scheme. One letter is none: a drive's name, elsewhere. */
static size_t scheme_length(const char *locator)
{
	size_t n = 0;

	if (isalpha((unsigned char)*locator))
		while (isalnum((unsigned char)locator[n]) || (locator[n] && strchr("+.-", locator[n])))
			n++;
	return n > 1 && locator[n] == ':' ? n : 0;
}

enum locator_kind locator_kind(const char *locator)
{
	if (!strcmp(locator, "-"))
		return LOCATOR_STDIN;
	if (has_prefix(locator, TEMPLATE))
		return LOCATOR_TEMPLATE;
	if (has_prefix(locator, "http://") || has_prefix(locator, "https://"))
		return LOCATOR_URL;
	return LOCATOR_FILE;
}

/* What follows template:, or template:// as it was spelled before. */
static const char *template_name(const char *locator)
{
	const char *name = locator + strlen(TEMPLATE);

	return has_prefix(name, "//") ? name + 2 : name;
}

static const char *file_path(const char *locator)
{
	return has_prefix(locator, FILE_URL) ? locator + strlen(FILE_URL) : locator;
}

/* A path without empty and "." parts; ".." stays: what it leaves may be a link. */
static char *clean(const char *path)
{
	char *out = xmalloc(strlen(path) + 2), *to = out;

	if (*path == '/')
		*to++ = '/';
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n && !(n == 1 && *path == '.')) {
			if (to > out && to[-1] != '/')
				*to++ = '/';
			memmove(to, path, n);
			to += n;
		}
		path += n + (path[n] == '/');
	}
	*to = '\0';
	return out;
}

/* dir is n bytes of what comes before the last "/". */
static char *below(const char *dir, size_t n, const char *relative)
{
	auto_free char *joined = xasprintf("%.*s/%s", (int)n, dir, relative);

	return clean(n ? joined : relative);
}

static size_t dir_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Of a path that need not be absolute. */
static char *beside_file(const char *base, const char *relative, struct err *e)
{
	auto_free char *here = NULL, *path = NULL;

	if (*base == '/')
		return below(base, dir_length(base) ? dir_length(base) : 1, relative);
	here = getcwd(NULL, 0);
	if (!here)
		return err_errno(e, "the folder we are in"), NULL;
	path = xasprintf("%s/%s", here, base);
	return below(path, dir_length(path), relative);
}

static char *beside_url(const char *base, const char *relative)
{
	size_t host = (size_t)(strstr(base, "://") + 3 - base), end = strcspn(base, "?#");
	size_t path = host + strcspn(base + host, "/?#"), dir = end;
	auto_free char *rest = NULL;

	while (dir > path && base[dir] != '/')
		dir--;
	rest = below(base + path, dir - path, relative);
	return xasprintf("%.*s/%s", (int)path, base, *rest == '/' ? rest + 1 : rest);
}

static char *expand_home(const char *path, struct err *e)
{
	const char *home = getenv("HOME");

	if (home && *home)
		return xasprintf("%s%s", home, path + 1);
	err_set(e, ERR_INVALID, "%.200s: $HOME is not set", path);
	return NULL;
}

char *locator_resolve(const char *base, const char *relative, struct err *e)
{
	const char *name;
	char *joined, *out;

	if (!*relative || strlen(relative) > LOCATOR_MAX || strlen(base) > LOCATOR_MAX)
		return err_set(e, ERR_INVALID, "a locator must have 1 to %d bytes", LOCATOR_MAX), NULL;
	if (locator_kind(relative) != LOCATOR_FILE || scheme_length(relative))
		return xstrdup(relative);
	if (*relative == '/')
		return clean(relative);
	if (!strcmp(relative, "~") || has_prefix(relative, "~/"))
		return expand_home(relative, e);
	if (strstr(relative, "../") || !strcmp(relative, ".."))
		return err_set(e, ERR_INVALID, "%.200s: a relative locator must not leave its template's folder by \"..\"",
			       relative), NULL;
	switch (locator_kind(base)) {
	case LOCATOR_STDIN:
		return err_set(e, ERR_INVALID, "%.200s: is relative, but the template is read from standard input; "
			       "give an absolute path", relative), NULL;
	case LOCATOR_TEMPLATE:
		name = template_name(base);
		joined = below(name, dir_length(name), relative);
		out = xasprintf(TEMPLATE "%s", joined);
		free(joined);
		return out;
	case LOCATOR_URL:
		return beside_url(base, relative);
	default:
		return beside_file(file_path(base), relative, e);
	}
}

/* What to do instead, when a locator has a scheme that Lima leaves to others. */
static int refuse_scheme(const char *locator, struct err *e)
{
	size_t n = scheme_length(locator);

	if (has_prefix(locator, "github:"))
		return err_set(e, ERR_INVALID, "%.200s: github: is not supported; give the file's own address, "
			       "https://raw.githubusercontent.com/OWNER/REPOSITORY/BRANCH/FILE", locator);
	return err_set(e, ERR_INVALID, "%.200s: scheme \"%.*s:\" is not supported (Lima asks a program limactl-url-%.*s); "
		       "give a file, template:NAME, or an http or https URL", locator, (int)n, locator, (int)n, locator);
}

static int no_file(const char *locator, const char *path, struct err *e)
{
	struct locator_template *list;
	size_t count, i = 0;

	if (errno != ENOENT)
		return err_errno(e, "open %.600s", path);
	if (scheme_length(locator) && !has_prefix(locator, FILE_URL))
		return refuse_scheme(locator, e);
	err_errno(e, "open %.600s", path);
	count = locator_list(&list);
	while (i < count && strcmp(list[i].name, locator))
		i++;
	if (i < count)
		err_set(e, ERR_NOTFOUND, "there is no file %.100s; did you mean " TEMPLATE "%.100s?", locator, locator);
	locator_list_free(list, count);
	return -1;
}

/* Unlike a file of ours it may be a pipe: <(command), /dev/stdin. */
static int read_file(const char *locator, struct buf *text, struct err *e)
{
	const char *path = file_path(locator);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return no_file(locator, path, e);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is a folder, not a template file", path);
	return io_read_end(fd, path, text, e);
}

static int fetch(const struct embed_reader *r, const char *what, const char *digest, struct buf *text, struct err *e)
{
	if (!r)
		return err_set(e, ERR_INVALID, "%.200s: cannot be fetched here", what);
	return r->read_url(r->arg, what, digest, text, e);
}

/* An image given by a path is to be found from anywhere: it is seen from a template in the folder we are in. */
static int make_template(const char *locator, struct buf *text, struct err *e)
{
	auto_free char *path = NULL;

	if (locator_kind(locator) == LOCATOR_FILE && scheme_length(locator) && !has_prefix(locator, FILE_URL))
		return refuse_scheme(locator, e);
	path = locator_resolve("here.yaml", locator, e);
	return path ? locator_image_text(path, text, e) : -1;
}

int locator_read_raw(const char *locator, const char *digest, const struct embed_reader *r, struct buf *text,
		     struct err *e)
{
	enum locator_kind kind = locator_kind(locator);
	auto_free char *path = NULL;

	if (!*locator || strlen(locator) > LOCATOR_MAX)
		return err_set(e, ERR_INVALID, "a locator must have 1 to %d bytes", LOCATOR_MAX);
	if (digest && kind == LOCATOR_STDIN)
		return err_set(e, ERR_INVALID, "the digest of standard input cannot be checked; leave it out");
	if (kind == LOCATOR_STDIN)
		return io_read_end(STDIN_FILENO, "standard input", text, e);
	if (kind == LOCATOR_URL)
		return fetch(r, locator, digest, text, e);
	path = locator_path(locator, e);
	if (!path)
		return -1;
	return digest ? fetch(r, path, digest, text, e) : read_file(kind == LOCATOR_TEMPLATE ? path : locator, text, e);
}

int locator_read(const char *locator, const char *digest, const struct embed_reader *r, struct buf *text, struct err *e)
{
	if (strlen(locator) > LOCATOR_MAX || !locator_is_image(locator))
		return locator_read_raw(locator, digest, r, text, e);
	if (digest)
		return err_set(e, ERR_INVALID, "%.200s: the digest of an image given as a template is not checked; "
			       "write a template with images: and the digest there", locator);
	return make_template(locator, text, e);
}

char *locator_path(const char *locator, struct err *e)
{
	switch (locator_kind(locator)) {
	case LOCATOR_STDIN:
		return xstrdup("standard input");
	case LOCATOR_TEMPLATE:
		return search_find(template_name(locator), e);
	case LOCATOR_URL:
		return xstrdup(locator);
	default:
		break;
	}
	if (has_prefix(locator, FILE_URL) && *file_path(locator) != '/')
		return err_set(e, ERR_INVALID, "%.200s: a file URL needs an absolute path, file:///PATH", locator), NULL;
	return xstrdup(file_path(locator));
}

char *locator_instance_name(const char *locator)
{
	static const char *const suffixes[] = { ".yaml", ".yml" };
	enum locator_kind kind = locator_kind(locator);
	size_t n = kind == LOCATOR_URL ? strcspn(locator, "?#") : strlen(locator);
	auto_free char *path = xstrndup(locator, n), *last = NULL;
	char *name;

	if (kind == LOCATOR_STDIN)
		return NULL;
	if (locator_is_image(locator))
		return locator_image_name(locator);
	last = strrchr(path, '/') ? xstrdup(strrchr(path, '/') + 1) : NULL;
	name = xstrdup(last ? last : kind == LOCATOR_TEMPLATE ? template_name(path) : path);
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (text_ends_with(name, suffixes[i])) {
			name[strlen(name) - strlen(suffixes[i])] = '\0';
			break;
		}
	}
	return name;
}
