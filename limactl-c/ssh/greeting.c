#include "limactl-c/ssh/greeting.h"

#include <string.h>

#include "limactl-c/ssh/line.h"

enum { MARK = sizeof(LINE_MARK) - 1 };

/* The number at s, with the end of the line behind it: a terminal's has two bytes. Returns the length, 0 when it is none. */
static size_t number_at(const char *s, char pid[GREETING_PID])
{
	size_t n = strspn(s, "0123456789"), end = s[n] == '\r' ? n + 1 : n;

	if (!n || n >= GREETING_PID || s[end] != '\n' || *s == '0')
		return 0;
	memcpy(pid, s, n);
	pid[n] = '\0';
	if (!strcmp(pid, "1"))
		*pid = '\0';
	return end + 1;
}

/* Looks for the whole line. */
static void look(struct greeting *g)
{
	const char *at = g->held.data, *end = at + g->held.len;

	while ((at = memmem(at, (size_t)(end - at), LINE_MARK, MARK))) {
		size_t n = number_at(at + MARK, g->pid);

		if (n) {
			g->over = true;
			buf_drop_front(&g->held, (size_t)(at - g->held.data) + MARK + n);
			return;
		}
		at += MARK;
	}
}

void greeting_take(struct greeting *g, const void *p, size_t n)
{
	if (buf_add(&g->held, p, n) < 0) {
		g->over = true;
		return;
	}
	look(g);
	if (g->held.len == GREETING_MAX)
		g->over = true;
}

void greeting_end(struct greeting *g)
{
	g->over = true;
}
