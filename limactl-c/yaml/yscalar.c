#include "limactl-c/yaml/yscalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (!strcmp(text, *words))
			return true;
	}
	return false;
}

/* Digits of a base; returns how many. */
static size_t digits(const char *p, unsigned base)
{
	static const char all[] = "0123456789abcdefABCDEF";

	if (base == 16)
		return strspn(p, all);
	return strspn(p, base == 8 ? "01234567" : "0123456789");
}

static bool is_int(const char *p)
{
	size_t n;

	if (p[0] == '0' && (p[1] == 'o' || p[1] == 'x')) {
		n = digits(p + 2, p[1] == 'o' ? 8 : 16);
		return n && !p[2 + n];
	}
	if (*p == '-' || *p == '+')
		p++;
	n = digits(p, 10);
	return n && !p[n];
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?, .inf and .nan */
static bool is_float(const char *p)
{
	static const char *const inf[] = { ".inf", ".Inf", ".INF", NULL };
	static const char *const nan[] = { ".nan", ".NaN", ".NAN", NULL };
	size_t whole, part = 0;

	if (one_of(p, nan))
		return true;
	if (*p == '-' || *p == '+')
		p++;
	if (one_of(p, inf))
		return true;
	whole = digits(p, 10);
	p += whole;
	if (*p == '.') {
		part = digits(++p, 10);
		p += part;
	}
	if (!whole && !part)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '-' || *p == '+')
			p++;
		part = digits(p, 10);
		return part && !p[part];
	}
	return !*p;
}

static enum yn_kind plain_kind(const char *text)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const bools[] = {
		"true", "True", "TRUE", "false", "False", "FALSE", NULL
	};

	if (one_of(text, nulls))
		return YN_NULL;
	if (one_of(text, bools))
		return YN_BOOL;
	if (is_int(text))
		return YN_INT;
	return is_float(text) ? YN_FLOAT : YN_STRING;
}

int yscalar_kind(const char *tag, bool plain, const char *text, size_t len, enum yn_kind *kind)
{
	static const struct {
		const char *tag;
		enum yn_kind kind;
	} core[] = {
		{ TAG_PREFIX "null", YN_NULL },
		{ TAG_PREFIX "bool", YN_BOOL },
		{ TAG_PREFIX "int", YN_INT },
		{ TAG_PREFIX "float", YN_FLOAT },
	};

	*kind = YN_STRING;
	if (!tag) {
		if (plain && strlen(text) == len)
			*kind = plain_kind(text);
		return 0;
	}
	if (!strcmp(tag, "!") || !strcmp(tag, TAG_PREFIX "str"))
		return 0;
	for (size_t i = 0; i < sizeof(core) / sizeof(*core); i++) {
		if (strcmp(tag, core[i].tag))
			continue;
		*kind = core[i].kind;
		if (strlen(text) != len)
			return -1;
		/* A float may be written as an int. */
		return plain_kind(text) == *kind || (*kind == YN_FLOAT && is_float(text)) ? 0 : -1;
	}
	return -1;
}

bool yscalar_is_merge_key(const struct ynode *key)
{
	return key->source && key->kind == YN_STRING && key->style == YN_PLAIN && key->len == 2 &&
	       !memcmp(key->text, "<<", 2) && key->source->text[key->start] == '<';
}

/* The number without its sign. */
static bool magnitude(const char *p, uint64_t *out)
{
	unsigned base = 10;

	*out = 0;
	if (!is_int(p))
		return false;
	if (p[0] == '0' && (p[1] == 'o' || p[1] == 'x')) {
		base = p[1] == 'o' ? 8 : 16;
		p += 2;
	} else if (*p == '-' || *p == '+') {
		p++;
	}
	for (; *p; p++) {
		unsigned d = *p <= '9' ? (unsigned)(*p - '0') : (unsigned)((*p | 0x20) - 'a' + 10);

		if (__builtin_mul_overflow(*out, base, out) || __builtin_add_overflow(*out, d, out))
			return false;
	}
	return true;
}

bool yscalar_uint(const char *text, uint64_t *out)
{
	return magnitude(text, out) && *text != '-';
}

bool yscalar_int(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	uint64_t n;

	if (!magnitude(text, &n) || n > (uint64_t)INT64_MAX + negative)
		return false;
	*out = (int64_t)(negative ? -n : n);
	return true;
}

void yscalar_float(double d, char out[32])
{
	char text[32], digits[20] = "";
	const char *sign, *p;
	int precision = 0, exponent, n = 0;

	do {
		snprintf(text, sizeof(text), "%.*e", precision, d);
	} while (strtod(text, NULL) != d && ++precision < 17);
	sign = *text == '-' ? "-" : "";
	for (p = text + (*text == '-'); *p != 'e'; p++) {
		if (*p != '.')
			digits[n++] = *p;
	}
	exponent = atoi(p + 1);
	if (exponent < -4 || exponent >= 6)
		snprintf(out, 32, "%s", text);
	else if (exponent < 0)
		snprintf(out, 32, "%s0.%.*s%s", sign, -exponent - 1, "000", digits);
	else if (n <= exponent + 1)
		snprintf(out, 32, "%s%s%.*s", sign, digits, exponent + 1 - n, "00000");
	else
		snprintf(out, 32, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
}
