#include <string.h>
#include <strings.h>

#include "limactl-c/image/fetch.h"

/* The value of "NAME: value" when the line is that header; NULL. */
static const char *value_of(const char *line, size_t len, const char *name, size_t *n)
{
	size_t k = strlen(name);

	if (len <= k || strncasecmp(line, name, k) || line[k] != ':')
		return NULL;
	line += k + 1;
	len -= k + 1;
	while (len && strchr(" \t", *line)) {
		line++;
		len--;
	}
	while (len && strchr(" \t\r\n", line[len - 1]))
		len--;
	*n = len;
	return line;
}

static uint64_t number(const char *p, size_t n)
{
	uint64_t v = 0;

	if (!n || *p < '0' || *p > '9')
		return UINT64_MAX;
	for (; n && *p >= '0' && *p <= '9'; p++, n--)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return UINT64_MAX;
	return v;
}

static void keep_validator(struct fetch_answer *a, const char *value, size_t n)
{
	if (n > FETCH_VALIDATOR_MAX || memchr(value, '\0', n))
		return;
	memcpy(a->validator, value, n);
	a->validator[n] = '\0';
}

void fetch_header(struct fetch_answer *a, const char *line, size_t len)
{
	const char *value;
	size_t n;

	/* A redirect's answer is followed by another: what it said does not count. */
	if (len > 5 && !strncasecmp(line, "HTTP/", 5)) {
		const char *blank = memchr(line, ' ', len);
		uint64_t status = blank ? number(blank + 1, len - (size_t)(blank + 1 - line)) : 0;

		*a = (struct fetch_answer){ .status = status < 1000 ? (long)status : 0,
					    .range_start = UINT64_MAX, .total = UINT64_MAX };
	} else if ((value = value_of(line, len, "ETag", &n))) {
		/* Weak ones do not promise the same bytes. */
		if (n > 1 && *value == '"')
			keep_validator(a, value, n);
	} else if ((value = value_of(line, len, "Last-Modified", &n))) {
		if (*a->validator != '"')
			keep_validator(a, value, n);
	} else if ((value = value_of(line, len, "Content-Range", &n))) {
		const char *slash = memchr(value, '/', n);

		if (n <= 6 || strncasecmp(value, "bytes ", 6))
			return;
		a->range_start = number(value + 6, n - 6);
		if (slash)
			a->total = number(slash + 1, n - (size_t)(slash + 1 - value));
	}
}
