#include "lib/shell_line.h"

#include <stdbool.h>
#include <string.h>

static bool is_safe(const char *s, size_t n)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

	return n && strspn(s, safe) >= n;
}

static int add_quoted(struct buf *out, const char *s, size_t n)
{
	if (is_safe(s, n))
		return buf_add(out, s, n);
	if (buf_adds(out, "'") < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if ((s[i] == '\'' ? buf_adds(out, "'\\''") : buf_add(out, s + i, 1)) < 0)
			return -1;
	return buf_adds(out, "'");
}

/* Length of "NAME=", 0 when the word is no assignment. */
static size_t assignment(const char *s)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t n = strspn(s, rest);

	return n && strchr(first, s[0]) && s[n] == '=' ? n + 1 : 0;
}

int shell_line(struct buf *out, const char *const *argv, size_t argc)
{
	bool assigning = true;

	for (size_t i = 0; i < argc; i++) {
		size_t n = assigning ? assignment(argv[i]) : 0;

		assigning = n > 0;
		if (i && buf_adds(out, " ") < 0)
			return -1;
		if (n && buf_add(out, argv[i], n) < 0)
			return -1;
		/* An empty value needs no quotes, an empty word does. */
		if ((!n || argv[i][n]) && add_quoted(out, argv[i] + n, strlen(argv[i] + n)) < 0)
			return -1;
	}
	return 0;
}
