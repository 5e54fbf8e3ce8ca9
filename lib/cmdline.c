#include "lib/cmdline.h"

#include <string.h>

#define BLANKS " \t\r\n"

size_t cmdline_word(const char **at)
{
	const char *s = *at + strspn(*at, BLANKS);
	size_t n = 0;

	for (bool quoted = false; s[n] && (quoted || !strchr(BLANKS, s[n])); n++)
		quoted ^= s[n] == '"';
	*at = s;
	return n;
}

size_t cmdline_key(const char *word, size_t len)
{
	static const char console[] = "console=";
	size_t from = len >= strlen(console) && !strncmp(word, console, strlen(console)) ? strlen(console) : 0;
	const char *end = memchr(word + from, from ? ',' : '=', len - from);

	return end ? (size_t)(end - word) : len;
}

bool cmdline_has_key(const char *args, const char *word, size_t len)
{
	size_t key = cmdline_key(word, len), n;

	for (const char *s = args; (n = cmdline_word(&s)); s += n)
		if (cmdline_key(s, n) == key && !strncmp(s, word, key))
			return true;
	return false;
}

static const char *find(const char *args, const char *word, size_t len)
{
	size_t n;

	for (const char *s = args; (n = cmdline_word(&s)); s += n)
		if (n == len && !strncmp(s, word, len))
			return s;
	return NULL;
}

bool cmdline_has(const char *args, const char *word, size_t len)
{
	return find(args, word, len) != NULL;
}

void cmdline_drop_ours(char *args)
{
	const char *begin, *end;

	while ((begin = find(args, CMDLINE_BEGIN, strlen(CMDLINE_BEGIN))) &&
	       (end = find(begin, CMDLINE_END, strlen(CMDLINE_END)))) {
		char *to = args + (begin - args);

		end += strlen(CMDLINE_END);
		/* One blank of the two sides stays between the words that meet. */
		if (*end)
			end++;
		else if (to > args)
			to--;
		memmove(to, end, strlen(end) + 1);
	}
}
