#include "limactl-c/config/size.h"

#include <stdbool.h>
#include <string.h>

enum { FRACTION_DIGITS_MAX = 9 };

/* A decimal number: whole + fraction / scale. */
struct decimal {
	uint64_t whole;
	uint32_t fraction, scale;
};

/* Reads digits with at most one point; the point needs a digit on both sides. NULL when there is
 * none, it is too large or has more digits after the point than make a difference. */
static const char *read_decimal(const char *p, struct decimal *d)
{
	*d = (struct decimal){ .scale = 1 };
	if (*p < '0' || *p > '9')
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(d->whole, 10, &d->whole) ||
		    __builtin_add_overflow(d->whole, (uint64_t)(*p - '0'), &d->whole))
			return NULL;
	}
	if (*p != '.')
		return p;
	p++;
	if (*p < '0' || *p > '9')
		return NULL;
	for (int digits = 0; *p >= '0' && *p <= '9'; p++) {
		if (digits++ == FRACTION_DIGITS_MAX)
			return NULL;
		d->fraction = d->fraction * 10 + (uint32_t)(*p - '0');
		d->scale *= 10;
	}
	return p;
}

/* d * unit, rounded down; -1 when it does not fit. exact, when given, says whether nothing was
 * dropped. */
static int scale_decimal(const struct decimal *d, uint64_t unit, uint64_t *out, bool *exact)
{
	unsigned __int128 part = (unsigned __int128)d->fraction * unit;
	unsigned __int128 all = (unsigned __int128)d->whole * unit + part / d->scale;

	if (exact)
		*exact = part % d->scale == 0;
	*out = (uint64_t)all;
	return all > UINT64_MAX ? -1 : 0;
}

int size_parse(const char *text, uint64_t *bytes, struct err *e)
{
	static const char letters[] = "kmgtpe";
	struct decimal d;
	const char *p = read_decimal(text, &d), *letter;
	unsigned shift = 0;

	if (!p)
		goto bad;
	if (*p == ' ')
		p++;
	letter = *p ? strchr(letters, *p | 0x20) : NULL;
	if (letter) {
		shift = 10 * (unsigned)(letter - letters + 1);
		p++;
		if (*p == 'i' || *p == 'I')
			p++;
	}
	if (*p == 'b' || *p == 'B')
		p++;
	if (*p)
		goto bad;
	if (scale_decimal(&d, (uint64_t)1 << shift, bytes, NULL) < 0 || *bytes > INT64_MAX)
		return err_set(e, ERR_INVALID, "size \"%.40s\" is too large", text);
	return 0;
bad:
	return err_set(e, ERR_INVALID,
		       "\"%.40s\" is not a size; write for example 512MiB, 4GiB or 1.5GiB", text);
}

int duration_parse(const char *text, uint32_t *seconds, struct err *e)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };
	const char *p = text;
	uint64_t total = 0;

	if (!strcmp(text, "0")) {
		*seconds = 0;
		return 0;
	}
	do {
		struct decimal d;
		uint64_t ms;
		bool exact;
		size_t u = 0;

		p = read_decimal(p, &d);
		while (p && u < sizeof(units) / sizeof(*units) &&
		       strncmp(p, units[u].name, strlen(units[u].name)))
			u++;
		if (!p || u == sizeof(units) / sizeof(*units))
			return err_set(
				e, ERR_INVALID,
				"\"%.40s\" is not a duration; write for example 10s, 1m30s or 1h",
				text);
		p += strlen(units[u].name);
		if (scale_decimal(&d, units[u].ms, &ms, &exact) < 0 ||
		    __builtin_add_overflow(total, ms, &total) || total / 1000 > INT32_MAX)
			return err_set(e, ERR_INVALID, "duration \"%.40s\" is too long", text);
		if (!exact)
			return err_set(e, ERR_INVALID,
				       "duration \"%.40s\" is finer than a millisecond", text);
	} while (*p);
	if (total % 1000)
		return err_set(e, ERR_INVALID, "duration \"%.40s\" is not whole seconds", text);
	*seconds = (uint32_t)(total / 1000);
	return 0;
}
