/* template.c - where the text of a template comes from: a file, the search path of template:NAME,
 * standard input. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/config.h"
#include "limactl-c/yaml/ynode.h"

enum { FOLDERS_MAX = 16, NAMES_MAX = 200 };
#define SCHEME "template:"
#define SUFFIX ".yaml"

/* The folders searched, in order. */
struct search {
	char *folder[FOLDERS_MAX];
	size_t count;
};

static void search_fini(struct search *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->folder[i]);
}

/* $LIMA_TEMPLATES_PATH alone when set; else $LIMA_HOME/_templates, then the installation's. */
static void search_init(struct search *s)
{
	const char *path = getenv("LIMA_TEMPLATES_PATH"), *home = getenv("LIMA_HOME"),
		   *user = getenv("HOME");
	struct err ignored;
	char *share;

	s->count = 0;
	while (path && *path && s->count < FOLDERS_MAX) {
		size_t n = strcspn(path, ":");

		if (n)
			s->folder[s->count++] = xstrndup(path, n);
		path += n + (path[n] == ':');
	}
	if (s->count)
		return;
	if (home && *home)
		s->folder[s->count++] = xasprintf("%s/_templates", home);
	else if (user && *user)
		s->folder[s->count++] = xasprintf("%s/.lima/_templates", user);
	share = prefix_share("templates", &ignored);
	if (share)
		s->folder[s->count++] = share;
}

/* Template names in the folders, without suffix and without parts (_name). */
static size_t known_names(const struct search *s, char **names)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		auto_closedir DIR *dir = opendir(s->folder[i]);
		struct dirent *d;

		while (dir && count < NAMES_MAX && (d = readdir(dir))) {
			size_t n = strlen(d->d_name), suffix = strlen(SUFFIX);

			if (n > suffix && !strcmp(d->d_name + n - suffix, SUFFIX) &&
			    !strchr("._", d->d_name[0]))
				names[count++] = xstrndup(d->d_name, n - suffix);
		}
	}
	return count;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int unknown(const struct search *s, const char *name, struct err *e)
{
	char *names[NAMES_MAX] = { NULL };
	size_t count = known_names(s, names);
	const char *near = text_nearest(name, (const char *const *)names, count);
	auto_buf list = BUF_INIT(700);

	if (count)
		qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++) {
		if (!i || strcmp(names[i], names[i - 1]))
			buf_addf(&list, "%s%s", list.len ? ", " : "", names[i]);
	}
	err_set(e, ERR_NOTFOUND, "template \"%.80s\" not found%s%s%s%s%s", name,
		near ? "; did you mean " : "", near ? near : "", near ? "? " : "; ",
		list.len ? "known: " : "none is installed", list.len ? list.data : "");
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	return -1;
}

/* Unlike a file of ours it may be a pipe: <(command), /dev/stdin. */
static int read_file(const char *path, struct buf *text, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_errno(e, "open %s", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is a folder, not a template file", path);
	return io_read_end(fd, path, text, e);
}

/* As Lima: ".yaml" is added when there is no extension, or what looks like one is part of a version
 * ("alpine-3.23"). */
static bool has_extension(const char *name)
{
	const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');

	return dot && dot[1] && !isdigit((unsigned char)dot[1]);
}

static int read_named(const char *name, struct buf *text, struct err *e)
{
	CLEANUP(search_fini) struct search s;
	auto_free char *file = xasprintf("%s%s", name, has_extension(name) ? "" : SUFFIX);

	search_init(&s);
	if (!*name || *name == '/' || strstr(name, ".."))
		return unknown(&s, name, e);
	for (size_t i = 0; i < s.count; i++) {
		auto_free char *path = xasprintf("%s/%s", s.folder[i], file);

		if (access(path, F_OK) == 0)
			return read_file(path, text, e);
	}
	return unknown(&s, name, e);
}

/* "dir/My-VM.yaml" → "my-vm" */
static char *instance_name(const char *path)
{
	static const char *const suffixes[] = { ".yaml", ".yml" };
	const char *slash = strrchr(path, '/');
	char *name = xstrdup(slash ? slash + 1 : path);

	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t n = strlen(name), m = strlen(suffixes[i]);

		if (n > m && !strcmp(name + n - m, suffixes[i])) {
			name[n - m] = '\0';
			break;
		}
	}
	return name;
}

int cfg_template_read(const char *locator, struct buf *text, char **name, struct err *e)
{
	const char *below = locator + strlen(SCHEME);

	*name = NULL;
	if (!strcmp(locator, "-"))
		return io_read_end(STDIN_FILENO, "standard input", text, e);
	if (strstr(locator, "://") && strncmp(locator, SCHEME, strlen(SCHEME)))
		return err_set(e, ERR_INVALID,
			       "%.200s: templates by URL are not supported by this version; "
			       "fetch the file and name it",
			       locator);
	if (strncmp(locator, SCHEME, strlen(SCHEME))) {
		if (read_file(locator, text, e) < 0)
			return -1;
		*name = instance_name(locator);
		return 0;
	}
	/* template://NAME is Lima's older spelling. */
	below += strncmp(below, "//", 2) ? 0 : 2;
	if (read_named(below, text, e) < 0)
		return -1;
	*name = instance_name(below);
	return 0;
}
