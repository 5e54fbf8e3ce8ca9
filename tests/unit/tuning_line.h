/* tuning_line.h - what `setup --check` says of one tuning. */
#ifndef LIMA_TESTS_TUNING_LINE_H
#define LIMA_TESTS_TUNING_LINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "guestagent/tuning.h"

/* Its line, valid until the next call. */
static inline const char *tuning_line(const struct setup *guest, const char *key)
{
	static char text[4096];
	FILE *f = fmemopen(text, sizeof(text), "w");
	char *line;

	assert_non_null(f);
	tuning_check(guest, f);
	fclose(f);
	line = strstr(text, key);
	assert_non_null(line);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

#endif
