#include "lib/settings.h"

#include <string.h>

#include "lib/io.h"

enum { VALUE_MAX = 64 * 1024 };

static bool is_key(const char *s, size_t n)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return n && strspn(s, allowed) >= n;
}

int settings_put(struct buf *b, const char *key, const char *value)
{
	size_t was = b->len, n = strnlen(value, VALUE_MAX + 1), plain;

	if (!is_key(key, strlen(key)) || n > VALUE_MAX)
		return -1;
	if (buf_adds(b, key) < 0 || buf_adds(b, "=") < 0)
		goto full;
	for (;;) {
		plain = strcspn(value, "\\\n");
		if (buf_add(b, value, plain) < 0)
			goto full;
		value += plain;
		if (!*value)
			break;
		if (buf_adds(b, *value++ == '\n' ? "\\n" : "\\\\") < 0)
			goto full;
	}
	if (buf_adds(b, "\n") == 0)
		return 0;
full:
	b->len = was;
	if (b->data)
		b->data[was] = '\0';
	return -1;
}

/* Undoes the escapes in place; false when one is unknown. */
static bool unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s != '\\') {
			*to++ = *s;
			continue;
		}
		s++;
		if (*s != '\\' && *s != 'n')
			return false;
		*to++ = *s == 'n' ? '\n' : '\\';
	}
	*to = '\0';
	return true;
}

int settings_parse(struct settings *s, char *text, struct err *e)
{
	size_t line = 0;
	char *next, *equals;

	s->count = 0;
	for (; text && *text; text = next) {
		line++;
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		equals = strchr(text, '=');
		if (!equals)
			return err_set(e, ERR_INVALID, "settings line %zu: no '='", line);
		if (!is_key(text, (size_t)(equals - text)))
			return err_set(e, ERR_INVALID, "settings line %zu: malformed key", line);
		if (s->count == SETTINGS_LINES_MAX)
			return err_set(e, ERR_INVALID, "settings: more than %d lines", SETTINGS_LINES_MAX);
		*equals = '\0';
		if (!unescape(equals + 1))
			return err_set(e, ERR_INVALID, "settings line %zu: unknown escape", line);
		s->item[s->count++] = (struct setting){ text, equals + 1 };
	}
	return 0;
}

int settings_load(struct settings *s, const char *path, struct buf *text, struct err *e)
{
	int rc;

	s->count = 0;
	text->max = SETTINGS_SIZE_MAX;
	if (io_read_file(path, text, e) < 0)
		return -1;
	rc = settings_parse(s, text->data, e);
	if (rc < 0)
		s->count = 0;
	return rc;
}

const char *settings_get(const struct settings *s, const char *key, const char *otherwise)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->item[i].key, key))
			return s->item[i].value;
	return otherwise;
}

bool settings_true(const struct settings *s, const char *key)
{
	return !strcmp(settings_get(s, key, ""), "true");
}
