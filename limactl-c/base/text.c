#include "limactl-c/base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

enum {
	NAME_MAX_BYTES = 76,
	WORD_MAX = 64, /* longer words are never a typing slip of a short key */
	SLIP = 4, /* cost of a letter changed, added, left out or a pair swapped; another case costs
		     1 */
};

char *text_size(uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned u = 0, shift, frac;
	uint64_t whole, rest;

	while (u < 6 && bytes >> (10 * (u + 1)))
		u++;
	shift = 10 * u;
	whole = bytes >> shift;
	rest = bytes - (whole << shift);
	/* The rest is below 2^60; dropping its low bits first keeps the product in range. */
	frac = shift > 20 ? (unsigned)(((rest >> (shift - 20)) * 100 + (1u << 19)) >> 20)
			  : (unsigned)((rest * 100 + ((1u << shift) >> 1)) >> shift);
	if (frac == 100) {
		whole++;
		frac = 0;
	}
	if (!frac)
		return xasprintf("%" PRIu64 "%s", whole, unit[u]);
	if (frac % 10 == 0)
		return xasprintf("%" PRIu64 ".%u%s", whole, frac / 10, unit[u]);
	return xasprintf("%" PRIu64 ".%02u%s", whole, frac, unit[u]);
}

void text_make_plain(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

bool text_ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && !strcmp(s + n - k, end);
}

int text_check_name(const char *name, struct err *e)
{
	static const char alnum[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *p = name;
	size_t n = strspn(p, alnum);

	if (!*name)
		return err_set(e, ERR_INVALID, "must not be empty");
	if (strlen(name) > NAME_MAX_BYTES)
		return err_set(e, ERR_INVALID, "has %zu bytes, at most %d are possible", strlen(name), NAME_MAX_BYTES);
	while (n && p[n] && strchr("._-", p[n])) {
		p += n + 1;
		n = strspn(p, alnum);
	}
	if (!n || p[n])
		return err_set(e, ERR_INVALID, "must be letters and digits, with single . _ - between them");
	if (text_ends_with(name, ".yml") || text_ends_with(name, ".yaml"))
		return err_set(e, ERR_INVALID, "must not end in .yml or .yaml");
	return 0;
}

size_t text_utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : (*s & 0xf0) == 0xe0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

uint32_t text_utf8_char(const char *s, size_t *len)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c;

	*len = text_utf8_length(s);
	c = (unsigned char)*s & mask[*len];
	for (size_t i = 1; i < *len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

size_t text_utf8_count(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

size_t text_utf8_offset(const char *s, size_t len, size_t n)
{
	size_t i = 0;

	for (; i < len; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80 && !n--)
			break;
	}
	return i;
}

bool text_is_utf8(const char *s)
{
	for (size_t n; *s; s += n)
		if (!(n = text_utf8_length(s)))
			return false;
	return true;
}

void text_now(char *text, size_t size)
{
	struct timespec now;
	struct tm tm;
	char second[24];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "%s.%09ldZ", second, now.tv_nsec);
}

char *text_duration(uint64_t seconds)
{
	uint64_t h = seconds / 3600;
	unsigned m = (unsigned)(seconds / 60 % 60), s = (unsigned)(seconds % 60);
	char hours[32] = "", minutes[16] = "", secs[16] = "";

	if (h)
		snprintf(hours, sizeof(hours), "%" PRIu64 "h", h);
	if (m)
		snprintf(minutes, sizeof(minutes), "%um", m);
	if (s || !seconds)
		snprintf(secs, sizeof(secs), "%us", s);
	return xasprintf("%s%s%s", hours, minutes, secs);
}

static unsigned letter_cost(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : SLIP;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][WORD_MAX + 1];

	for (size_t j = 0; j <= m; j++)
		row[0][j] = SLIP * (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = SLIP * (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = last[j - 1] + letter_cost(a[i - 1], b[j - 1]);
			now[j] = least(now[j], least(last[j], now[j - 1]) + SLIP);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + SLIP);
		}
	}
	return row[n % 3][m];
}

const char *text_nearest(const char *word, const char *const *known, size_t count)
{
	size_t n = strlen(word);
	const char *best = NULL;
	unsigned best_cost = 0;

	if (!n || n > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t m = strlen(known[i]);
		unsigned cost, allowed;

		if (m > WORD_MAX)
			continue;
		cost = distance(word, n, known[i], m);
		/* One slip in three letters of the longer word, but one always. */
		allowed = SLIP * (unsigned)((n > m ? n : m) / 3);
		if (cost <= (allowed > SLIP ? allowed : SLIP) && cost < SLIP * m &&
		    (!best || cost < best_cost)) {
			best = known[i];
			best_cost = cost;
		}
	}
	return best;
}
