#include "lib/execproto.h"

#include <string.h>

#include "lib/le.h"

enum { START_TTY = 1, START_ROOT = 2, START_ONLY_THERE = 4, START_FILES = 8, START_FLAGS = 15, START_FIXED = 10 };

void ep_header_pack(uint8_t p[EP_HEADER], enum ep_type type, size_t len)
{
	p[0] = (uint8_t)type;
	p[1] = 0;
	le16_put(p + 2, (uint16_t)len);
}

int ep_header_unpack(const uint8_t p[EP_HEADER], enum ep_type *type, size_t *len)
{
	if (p[0] < EP_START || p[0] > EP_FAILED || p[1] || le16_get(p + 2) > EP_PAYLOAD_MAX)
		return -1;
	*type = (enum ep_type)p[0];
	*len = le16_get(p + 2);
	return 0;
}

/* Strings follow each other with their NULs. at is where the next goes, or SIZE_MAX once one did not fit. */
static size_t put_string(const char *s, uint8_t *p, size_t at, size_t max)
{
	size_t n = strlen(s) + 1;

	if (at > max || n > max - at)
		return SIZE_MAX;
	memcpy(p + at, s, n);
	return at + n;
}

static bool is_env(const char *s)
{
	return s[0] && s[0] != '=' && strchr(s, '=');
}

ssize_t ep_start_pack(const struct ep_start *s, uint8_t *p, size_t n)
{
	size_t at = START_FIXED, max = n < EP_START_MAX ? n : EP_START_MAX;

	if (max < START_FIXED || s->argc > EP_ARGS_MAX || s->envc > EP_ENV_MAX)
		return -1;
	p[0] = (uint8_t)((s->tty ? START_TTY : 0) | (s->as_root ? START_ROOT : 0) |
			 (s->only_there ? START_ONLY_THERE : 0) | (s->files ? START_FILES : 0));
	p[1] = 0;
	le16_put(p + 2, s->rows);
	le16_put(p + 4, s->cols);
	le16_put(p + 6, (uint16_t)s->argc);
	le16_put(p + 8, (uint16_t)s->envc);
	at = put_string(s->term, p, at, max);
	at = put_string(s->workdir, p, at, max);
	at = put_string(s->shell, p, at, max);
	for (size_t i = 0; i < s->argc; i++)
		at = put_string(s->argv[i], p, at, max);
	for (size_t i = 0; i < s->envc; i++)
		at = is_env(s->env[i]) ? put_string(s->env[i], p, at, max) : SIZE_MAX;
	return at == SIZE_MAX ? -1 : (ssize_t)at;
}

/* The string at *p, which moves behind it; NULL when its NUL is missing. */
static const char *get_string(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *s = *p, *nul = s && s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;

	*p = nul ? nul + 1 : NULL;
	return nul ? (const char *)s : NULL;
}

int ep_start_unpack(struct ep_start *s, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;

	memset(s, 0, sizeof(*s));
	if (n < START_FIXED || n > EP_START_MAX || p[0] & ~START_FLAGS || p[1])
		return -1;
	s->tty = p[0] & START_TTY;
	s->as_root = p[0] & START_ROOT;
	s->only_there = p[0] & START_ONLY_THERE;
	s->files = p[0] & START_FILES;
	s->rows = le16_get(p + 2);
	s->cols = le16_get(p + 4);
	s->argc = le16_get(p + 6);
	s->envc = le16_get(p + 8);
	if (s->argc > EP_ARGS_MAX || s->envc > EP_ENV_MAX)
		return -1;
	p += START_FIXED;
	s->term = get_string(&p, end);
	s->workdir = get_string(&p, end);
	s->shell = get_string(&p, end);
	for (size_t i = 0; i < s->argc; i++)
		s->argv[i] = get_string(&p, end);
	for (size_t i = 0; i < s->envc; i++) {
		s->env[i] = get_string(&p, end);
		if (!s->env[i] || !is_env(s->env[i]))
			return -1;
	}
	return p == end ? 0 : -1;
}
