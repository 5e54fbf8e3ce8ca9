#include "guestagent/mount_table.h"

#include <stdlib.h>
#include <string.h>

struct mount_table mount_table_open(const char *file)
{
	return (struct mount_table){ .f = fopen(file, "re") };
}

/* In place: blanks and the like stand there as octal numbers. */
static void unescape(char *field)
{
	char *to = field;

	while (*field) {
		if (field[0] == '\\' && strspn(field + 1, "01234567") >= 3) {
			*to++ = (char)((field[1] - '0') << 6 | (field[2] - '0') << 3 | (field[3] - '0'));
			field += 4;
		} else {
			*to++ = *field++;
		}
	}
	*to = '\0';
}

bool mount_table_next(struct mount_table *t, struct mount_entry *m)
{
	while (t->f && getline(&t->line, &t->size, t->f) > 0) {
		char *rest = t->line, *field[4];
		size_t n = 0;

		while (n < 4 && rest && (field[n] = strsep(&rest, " \n")))
			unescape(field[n++]);
		if (n < 4)
			continue;
		*m = (struct mount_entry){ field[0], field[1], field[2], field[3] };
		return true;
	}
	return false;
}

void mount_table_close(struct mount_table *t)
{
	if (t->f)
		fclose(t->f);
	free(t->line);
	*t = (struct mount_table){ 0 };
}

/* The kernel says it first. */
bool mount_is_read_only(const struct mount_entry *m)
{
	return strcmp(m->options, "ro") == 0 || strncmp(m->options, "ro,", 3) == 0;
}
