#include "limactl-c/config/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"

enum { TEXT_MAX = 600 };

static void ERR_FMT(4, 0)
	add(struct findings *f, struct place at, bool warning, const char *fmt, va_list ap)
{
	char text[TEXT_MAX];

	if (!warning)
		f->errors++;
	if (f->count == FINDINGS_MAX) {
		f->dropped++;
		return;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	/* A finding is one line, whatever the file it quotes holds. */
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	f->item[f->count++] =
		(struct finding){ .at = at, .warning = warning, .text = xstrdup(text) };
}

void finding_error(struct findings *f, struct place at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(f, at, false, fmt, ap);
	va_end(ap);
}

void finding_warning(struct findings *f, struct place at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(f, at, true, fmt, ap);
	va_end(ap);
}

static bool before(const struct finding *a, const struct finding *b)
{
	return a->at.line != b->at.line ? a->at.line < b->at.line : a->at.column < b->at.column;
}

/* Insertion sort: few items, and findings of one place keep their order. */
static void sort(struct findings *f)
{
	for (size_t i = 1; i < f->count; i++) {
		struct finding one = f->item[i];
		size_t j = i;

		for (; j && before(&one, &f->item[j - 1]); j--)
			f->item[j] = f->item[j - 1];
		f->item[j] = one;
	}
}

int findings_write(struct findings *f, const char *name, struct buf *out, struct err *e)
{
	size_t errors = f->errors;

	sort(f);
	for (size_t i = 0; i < f->count; i++) {
		const struct finding *one = &f->item[i];
		const char *file = one->at.file ? one->at.file : name;
		const char *kind = one->warning ? "warning: " : "";

		if (one->at.line)
			buf_addf(out, "%s:%u:%u: %s%s\n", file, one->at.line, one->at.column, kind,
				 one->text);
		else
			buf_addf(out, "%s: %s%s\n", file, kind, one->text);
	}
	if (f->dropped)
		buf_addf(out, "%s: %zu more findings are not shown\n", name, f->dropped);
	findings_fini(f);
	if (errors)
		return err_set(e, ERR_INVALID, "%s: %zu error%s", name, errors,
			       errors == 1 ? "" : "s");
	return 0;
}

void findings_fini(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->item[i].text);
	*f = (struct findings){ 0 };
}
