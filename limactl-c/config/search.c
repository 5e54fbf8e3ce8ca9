#include "limactl-c/config/search.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/locator.h"

enum { FOLDERS_MAX = 16, TEMPLATES_MAX = 2000, DEPTH_MAX = 4, KNOWN_LEN = 700 };
#define SUFFIX ".yaml"

struct search {
	char *folder[FOLDERS_MAX]; /* in order */
	size_t count;
};

static void search_fini(struct search *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->folder[i]);
}

static void search_init(struct search *s)
{
	const char *path = getenv("LIMA_TEMPLATES_PATH"), *home = getenv("LIMA_HOME"), *user = getenv("HOME");
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

struct found {
	struct locator_template *item;
	size_t count;
};

/* A name that can stand in a line, and in JSON. */
static bool is_word(const char *name)
{
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return text_is_utf8(name);
}

/* Every template below a folder. Links to folders are not followed, so there is no end-less way. */
static void walk(struct found *f, const char *folder, const char *prefix, unsigned depth)
{
	auto_closedir DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && f->count < TEMPLATES_MAX && (d = readdir(dir))) {
		auto_free char *path = xasprintf("%s/%s", folder, d->d_name);
		struct stat st;

		if (d->d_name[0] == '.' || !is_word(d->d_name) || lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			auto_free char *below = xasprintf("%s%s/", prefix, d->d_name);

			if (depth < DEPTH_MAX)
				walk(f, path, below, depth + 1);
		} else if (text_ends_with(d->d_name, SUFFIX)) {
			f->item = xrealloc_array(f->item, f->count + 1, sizeof(*f->item));
			f->item[f->count].name = xasprintf("%s%.*s", prefix, (int)(strlen(d->d_name) - strlen(SUFFIX)), d->d_name);
			f->item[f->count++].path = steal(&path);
		}
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct locator_template *)a)->name, ((const struct locator_template *)b)->name);
}

static bool is_known(const struct found *f, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(f->item[i].name, name))
			return true;
	}
	return false;
}

size_t locator_list(struct locator_template **list)
{
	CLEANUP(search_fini) struct search s;
	struct found f = { 0 };

	search_init(&s);
	for (size_t i = 0; i < s.count; i++) {
		size_t before = f.count, kept = before;

		walk(&f, s.folder[i], "", 0);
		/* What an earlier folder has hides this one's. */
		for (size_t k = before; k < f.count; k++) {
			if (!is_known(&f, before, f.item[k].name)) {
				f.item[kept++] = f.item[k];
				continue;
			}
			free(f.item[k].name);
			free(f.item[k].path);
		}
		f.count = kept;
	}
	if (f.count)
		qsort(f.item, f.count, sizeof(*f.item), by_name);
	*list = f.item;
	return f.count;
}

void locator_list_free(struct locator_template *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].name);
		free(list[i].path);
	}
	free(list);
}

/* Names those that are whole templates: parts lie in folders, or begin with "_". */
static char *unknown(const char *name, struct err *e)
{
	struct locator_template *list;
	size_t count = locator_list(&list);
	auto_buf known = BUF_INIT(KNOWN_LEN);
	const char **names = xcalloc(count, sizeof(*names)), *near;

	for (size_t i = 0; i < count; i++) {
		names[i] = list[i].name;
		if (names[i][0] != '_' && !strchr(names[i], '/'))
			buf_addf(&known, "%s%s", known.len ? ", " : "", names[i]);
	}
	near = text_nearest(name, names, count);
	err_set(e, ERR_NOTFOUND, "template \"%.80s\" not found%s%s%s%s%s", name, near ? "; did you mean " : "",
		near ? near : "", near ? "? " : "; ", known.len ? "known: " : "none is installed",
		known.len ? known.data : "");
	free(names);
	locator_list_free(list, count);
	return NULL;
}

/* As Lima: ".yaml" is added when there is no extension, or what looks like one is part of a version ("alpine-3.23"). */
static bool has_extension(const char *name)
{
	const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');

	return dot && dot[1] && !isdigit((unsigned char)dot[1]);
}

char *search_find(const char *name, struct err *e)
{
	CLEANUP(search_fini) struct search s;

	search_init(&s);
	if (!*name || *name == '/' || strstr(name, ".."))
		return unknown(name, e);
	for (size_t i = 0; i < s.count; i++) {
		char *path = xasprintf("%s/%s%s", s.folder[i], name, has_extension(name) ? "" : SUFFIX);

		if (fs_exists(path))
			return path;
		free(path);
	}
	return unknown(name, e);
}
