#include "limactl-c/base/finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

enum { TEXT_MAX = 600, PATH_TEXT_MAX = 300 };

/* A finding is one line of bounded length, whatever the file it quotes holds. malloc'd. */
static char *one_line(const char *text, size_t max)
{
	char *out = xstrndup(text, max);

	text_make_plain(out);
	return out;
}

void finding_add(struct findings *f, struct place at, const char *path, bool warning, const char *fmt, va_list ap)
{
	char text[TEXT_MAX];

	if (!warning)
		f->errors++;
	if (f->count == FINDINGS_MAX) {
		f->dropped++;
		return;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	f->item[f->count++] = (struct finding){
		.at = { at.file ? xstrdup(at.file) : NULL, at.line, at.column },
		.warning = warning,
		.path = path ? one_line(path, PATH_TEXT_MAX) : NULL,
		.text = one_line(text, sizeof(text)),
	};
}

void finding_error(struct findings *f, struct place at, const char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(f, at, path, false, fmt, ap);
	va_end(ap);
}

void finding_warning(struct findings *f, struct place at, const char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(f, at, path, true, fmt, ap);
	va_end(ap);
}

static int compare(const struct finding *a, const struct finding *b)
{
	int files = strcmp(a->at.file ? a->at.file : "", b->at.file ? b->at.file : "");

	if (files)
		return files;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	return a->at.column < b->at.column ? -1 : a->at.column > b->at.column;
}

/* Insertion sort: few items, and findings of one place keep their order. */
void findings_sort(struct findings *f)
{
	for (size_t i = 1; i < f->count; i++) {
		struct finding one = f->item[i];
		size_t j = i;

		for (; j && compare(&one, &f->item[j - 1]) < 0; j--)
			f->item[j] = f->item[j - 1];
		f->item[j] = one;
	}
}

char *finding_line(const struct finding *one)
{
	auto_free char *place = NULL;
	const char *path = one->path ? one->path : "";

	if (one->at.file && one->at.line)
		place = xasprintf("%s:%u:%u: ", one->at.file, one->at.line, one->at.column);
	else if (one->at.file)
		place = xasprintf("%s: ", one->at.file);
	return xasprintf("%s%s%s%s", place ? place : "", path, *path ? ": " : "", one->text);
}

int findings_result(const struct findings *f, const char *name, struct err *e)
{
	if (!f->errors)
		return 0;
	return err_set(e, ERR_INVALID, "%s: %zu error%s", name, f->errors, f->errors == 1 ? "" : "s");
}

void findings_fini(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free((char *)f->item[i].at.file);
		free(f->item[i].path);
		free(f->item[i].text);
	}
	*f = (struct findings){ 0 };
}
