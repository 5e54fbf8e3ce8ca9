/* What numbers, characters and quoted texts in actions mean: Go's literals. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/gotmpl/lex.h"

enum { NUMBER_MAX = 64 };

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Digits of the base up to the end; false: there are none, or others. */
static bool whole(const char *p, int base, bool minus, int64_t *out, bool *large)
{
	const char *start = p;
	uint64_t n = 0, most = (uint64_t)INT64_MAX + minus;

	for (; *p && digit_value(*p) < base; p++) {
		uint64_t digit = (uint64_t)digit_value(*p);

		*large = *large || n > (most - digit) / (uint64_t)base;
		n = n * (uint64_t)base + digit;
	}
	*out = (int64_t)(minus ? -n : n);
	return !*p && p > start;
}

static int number_base(const char *p)
{
	if (p[0] != '0' || !p[1])
		return 10;
	switch (p[1]) {
	case 'x': case 'X':
		return 16;
	case 'o': case 'O':
		return -8;
	case 'b': case 'B':
		return 2;
	default:
		return 8;
	}
}

int literal_number(struct run *r, struct word text, struct value *out)
{
	char copy[NUMBER_MAX], *end;
	const char *p = copy;
	bool minus, large = false, is_float;
	int base;

	if (text.len >= sizeof(copy) || memchr(text.s, '_', text.len) || text.s[text.len - 1] == 'i')
		return run_fail(r, "\"%.*s\" is no number that can be used here: no _, no i, at most %d characters",
				text.len > 40 ? 40 : (int)text.len, text.s, NUMBER_MAX - 1);
	memcpy(copy, text.s, text.len);
	copy[text.len] = '\0';
	minus = *p == '-';
	p += *p == '-' || *p == '+';
	base = number_base(p);
	is_float = strpbrk(p, base == 16 ? ".pP" : ".eEpP") != NULL;
	*out = (struct value){ .kind = is_float ? VALUE_FLOAT : VALUE_INT };
	if (is_float) {
		errno = 0;
		out->f = strtod(copy, &end);
		/* A hexadecimal one needs its exponent. */
		if (*end || end == copy || errno == ERANGE || (base == 16 && !strpbrk(p, "pP")))
			return run_fail(r, "\"%s\" is no number", copy);
		return 0;
	}
	p += base == 16 || base == 2 || base == -8 ? 2 : 0;
	if (!whole(p, abs(base), minus, &out->i, &large))
		return run_fail(r, "\"%s\" is no number", copy);
	if (large)
		return run_fail(r, "%s is too large: whole numbers have 64 bits", copy);
	return 0;
}

/* A character as UTF-8; 0: there is no such one. */
static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		if (c >= 0xd800 && c < 0xe000)
			return 0;
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	if (c > 0x10ffff)
		return 0;
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* So many digits at *p, which moves on. */
static bool escape_digits(const char **p, const char *end, int count, int base, uint32_t *out)
{
	*out = 0;
	for (; count > 0; count--, (*p)++) {
		if (*p == end || digit_value(**p) >= base)
			return false;
		*out = *out * (uint32_t)base + (uint32_t)digit_value(**p);
	}
	return true;
}

/* What the escape behind the backslash before *p stands for; *p moves behind it. *bytes: it is one byte, not a character. */
static bool escape(const char **p, const char *end, char quote, uint32_t *out, bool *byte)
{
	static const char letters[] = "abfnrtv\\", values[] = "\a\b\f\n\r\t\v\\";
	char c = *(*p)++;
	const char *letter = c ? strchr(letters, c) : NULL;

	*byte = c == 'x' || (c >= '0' && c <= '7');
	if (letter || c == quote) {
		*out = letter ? (uint32_t)values[letter - letters] : (uint32_t)c;
		return true;
	}
	if (c == 'x')
		return escape_digits(p, end, 2, 16, out);
	if (c == 'u' || c == 'U')
		return escape_digits(p, end, c == 'u' ? 4 : 8, 16, out);
	if (!*byte)
		return false;
	(*p)--;
	return escape_digits(p, end, 3, 8, out) && *out < 256;
}

/* A text between quotes with escapes, as bytes; *last gets the last character's number. */
static int unquote(struct run *r, struct word text, char *out, size_t *len, uint32_t *last)
{
	const char *p = text.s + 1, *end = text.s + text.len - 1;
	char quote = *text.s;

	*len = 0;
	while (p < end) {
		const char *at = p;
		bool byte;
		size_t n;

		if (*p != '\\') {
			out[(*len)++] = *p++;
			continue;
		}
		p++;
		n = escape(&p, end, quote, last, &byte) ? 1 : 0;
		if (n && byte)
			out[*len] = (char)*last;
		else if (n)
			n = put_utf8(out + *len, *last);
		if (!n)
			return run_fail(r, "\"%.*s\" is no escape of a text in quotes", (int)(end - at > 2 ? 2 : end - at), at);
		*len += n;
	}
	return 0;
}

int literal_string(struct run *r, struct word text, struct value *out)
{
	char *to = yn_alloc(r->pool, text.len + 1); /* no escape is shorter than what it stands for */
	uint32_t last;
	size_t len = 0;

	if (*text.s == '`') {
		for (size_t i = 1; i + 1 < text.len; i++) {
			if (text.s[i] != '\r')
				to[len++] = text.s[i];
		}
	} else if (unquote(r, text, to, &len, &last) < 0) {
		return -1;
	}
	*out = value_string(to, len);
	return 0;
}

/* The number of the one character in s; false when it is not one. */
static bool one_character(const char *s, size_t len, int64_t *out)
{
	unsigned char c = (unsigned char)*s;
	size_t want = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };

	if (!len || len != want)
		return false;
	*out = c & mask[want];
	for (size_t i = 1; i < len; i++)
		*out = *out << 6 | ((unsigned char)s[i] & 0x3f);
	return true;
}

int literal_character(struct run *r, struct word text, struct value *out)
{
	char *to = yn_alloc(r->pool, text.len + 1);
	uint32_t last = 0;
	size_t len = 0;

	if (unquote(r, text, to, &len, &last) < 0)
		return -1;
	*out = value_int(0);
	if (text.s[1] == '\\' && len == 1)
		out->i = (unsigned char)*to; /* '\xff' is that byte's number */
	else if (!one_character(to, len, &out->i))
		return run_fail(r, "'%.*s' is not one character", (int)text.len - 2, text.s + 1);
	return 0;
}
