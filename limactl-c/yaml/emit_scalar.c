/* emit_scalar.c - one scalar in the style that says the same to readers of YAML 1.2 and of 1.1. */
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/yaml/base64.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/emitter.h"
#include "limactl-c/yaml/yscalar.h"

enum { BINARY_LINE = 76 };

/* Line ends of every kind are not: U+0085, U+2028 and U+2029 are some. */
bool emit_printable(uint32_t c)
{
	if (c < 0xa0)
		return c >= 0x20 && c < 0x7f;
	return c != 0x2028 && c != 0x2029 && c != 0xfeff && (c & 0xfffe) != 0xfffe;
}

/* Every character printable or in others. */
static bool all_printable(const struct ynode *n, const char *others)
{
	for (size_t i = 0, len; i < n->len; i += len) {
		uint32_t c = text_utf8_char(n->text + i, &len);

		if (!len || (!emit_printable(c) && !(c && c < 0x80 && strchr(others, (int)c))))
			return false;
	}
	return true;
}

static bool is_utf8(const struct ynode *n)
{
	for (size_t i = 0, len; i < n->len; i += len) {
		if (!(len = text_utf8_length(n->text + i)))
			return false;
	}
	return true;
}

/* Skips characters of a set; how many. */
static size_t skip(const char **p, const char *set)
{
	size_t n = strspn(*p, set);

	*p += n;
	return n;
}

#define DIGITS "0123456789"

/* Behind the sign: 10, 1_000, 010, 1.5, .5, 1e3, 0x1f, 0b1, 0o7 */
static bool is_old_number(const char *p)
{
	size_t whole, part = 0;

	if (p[0] == '0' && p[1] && strchr("bBoOxX", p[1])) {
		p += 2;
		return skip(&p, DIGITS "abcdefABCDEF_") && !*p;
	}
	whole = skip(&p, DIGITS "_");
	if (*p == '.') {
		p++;
		part = skip(&p, DIGITS "_");
	}
	if (whole + part && (*p == 'e' || *p == 'E')) {
		p++;
		skip(&p, "+-");
		part = skip(&p, DIGITS);
		return part && !*p;
	}
	return whole + part && !*p;
}

/* Behind the sign: 190:20:30, 1:30.5 */
static bool is_base_60(const char *p)
{
	unsigned groups = 0;

	if (!skip(&p, DIGITS "_"))
		return false;
	for (; *p == ':'; groups++) {
		p++;
		if (p[0] >= '0' && p[0] <= '5' && p[1] >= '0' && p[1] <= '9')
			p++;
		if (*p < '0' || *p > '9')
			return false;
		p++;
	}
	if (*p == '.') {
		p++;
		skip(&p, DIGITS "_");
	}
	return groups && !*p;
}

/* 2001-12-14, 2001-12-14t21:59:43.10-05:00 */
static bool is_date(const char *p)
{
	if (skip(&p, DIGITS) != 4 || *p++ != '-')
		return false;
	for (int i = 0; i < 2; i++) {
		size_t n = skip(&p, DIGITS);

		if (n < 1 || n > 2 || (!i && *p++ != '-'))
			return false;
	}
	return !*p || strchr("Tt \t", *p);
}

/* What a reader of YAML 1.1 takes for something else than text. */
static bool is_old_word(const char *p)
{
	static const char *const words[] = { "y",    "yes", "n",     "no",   "true", "false", "on",
					     "off",  "~",   "null",  "=",    "<<",   ".inf",  "-.inf",
					     "+.inf", ".nan" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!strcasecmp(p, words[i]))
			return true;
	}
	if (is_date(p))
		return true;
	p += *p == '-' || *p == '+';
	return is_old_number(p) || is_base_60(p);
}

static bool reads_as_text(const struct ynode *n)
{
	enum yn_kind kind;

	return yscalar_kind(NULL, true, n->text, n->len, &kind) == 0 && kind == YN_STRING && !is_old_word(n->text);
}

/* Whether the text may stand without quotes. */
static bool plain_is_safe(const struct ynode *n, enum scalar_room room)
{
	const char *s = n->text;

	if (!n->len || s[0] == ' ' || s[n->len - 1] == ' ' || s[n->len - 1] == ':' || !all_printable(n, ""))
		return false;
	if (strchr("?:,[]{}#&*!|>'\"%@`", s[0]) || (s[0] == '-' && (!s[1] || s[1] == ' ')))
		return false;
	if (!strncmp(s, "---", 3) || !strncmp(s, "...", 3) || strstr(s, ": ") || strstr(s, " #"))
		return false;
	if ((room == ROOM_FLOW || room == ROOM_FLOW_KEY) && strpbrk(s, ",[]{}:?"))
		return false;
	return reads_as_text(n);
}

static void put_double(struct emitter *m, const struct ynode *n)
{
	static const char *const named[0x80] = { [0] = "\\0",    ['\t'] = "\\t", ['\n'] = "\\n", ['\r'] = "\\r",
						 ['"'] = "\\\"", ['\\'] = "\\\\" };
	char code[16];

	emit_str(m, "\"");
	for (size_t i = 0, len; i < n->len; i += len) {
		uint32_t c = text_utf8_char(n->text + i, &len);

		if (c < 0x80 && named[c]) {
			emit_str(m, named[c]);
		} else if (emit_printable(c)) {
			emit_bytes(m, n->text + i, len);
		} else {
			snprintf(code, sizeof(code), c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x",
				 (unsigned)c);
			emit_str(m, code);
		}
	}
	emit_str(m, "\"");
}

static void put_single(struct emitter *m, const struct ynode *n)
{
	emit_str(m, "'");
	for (size_t i = 0; i < n->len; i++)
		emit_bytes(m, n->text[i] == '\'' ? "''" : n->text + i, n->text[i] == '\'' ? 2 : 1);
	emit_str(m, "'");
}

/* A block scalar's text has something to see in it; what is only blanks and line ends is clearer in quotes. */
bool yn_literal_possible(const struct ynode *n)
{
	return strspn(n->text, " \t\n") < n->len && all_printable(n, "\n\t");
}

static void put_literal(struct emitter *m, const struct ynode *n, unsigned indent)
{
	const char *s = n->text, *end = s + n->len, *line_end;
	size_t blank = strspn(s, "\n");

	emit_str(m, "|");
	/* The first line with something in it would be taken for the indentation of all. */
	if (s[blank] == ' ' || s[blank] == '\t')
		emit_str(m, "2");
	if (end[-1] != '\n')
		emit_str(m, "-");
	else if (n->len > 1 && end[-2] == '\n')
		emit_str(m, "+");
	for (; s < end; s = line_end + 1) {
		line_end = memchr(s, '\n', (size_t)(end - s));
		if (!line_end)
			line_end = end;
		emit_line_end(m);
		if (line_end > s)
			emit_pad(m, indent);
		emit_bytes(m, s, (size_t)(line_end - s));
	}
}

static void put_binary(struct emitter *m, const struct ynode *n, enum scalar_room room, unsigned indent)
{
	bool block = room == ROOM_BLOCK && n->len > BINARY_LINE / 4 * 3;
	char quad[4];

	emit_str(m, block ? "!!binary |-" : n->len ? "!!binary " : "!!binary \"\"");
	for (size_t i = 0; i < n->len; i += 3) {
		if (block && i % (BINARY_LINE / 4 * 3) == 0) {
			emit_line_end(m);
			emit_pad(m, indent);
		}
		base64_quad(n->text + i, n->len - i < 3 ? n->len - i : 3, quad);
		emit_bytes(m, quad, 4);
	}
}

static void put_string(struct emitter *m, const struct ynode *n, enum scalar_room room, unsigned indent)
{
	bool lines = memchr(n->text, '\n', n->len), block = n->style == YN_LITERAL || n->style == YN_FOLDED;

	if (n->style == YN_BINARY || !is_utf8(n))
		put_binary(m, n, room, indent);
	else if (room == ROOM_BLOCK && (block || (lines && n->style == YN_PLAIN)) && yn_literal_possible(n))
		put_literal(m, n, indent);
	else if (n->style == YN_SINGLE && all_printable(n, ""))
		put_single(m, n);
	else if (n->style != YN_DOUBLE && plain_is_safe(n, room))
		emit_bytes(m, n->text, n->len);
	else
		put_double(m, n);
}

void emit_scalar(struct emitter *m, const struct ynode *n, enum scalar_room room, unsigned indent)
{
	bool key = room == ROOM_KEY || room == ROOM_FLOW_KEY;

	if (n->kind == YN_STRING && !(key && yscalar_is_merge_key(n)))
		put_string(m, n, room, indent);
	else if (n->len)
		emit_bytes(m, n->text, n->len);
	else
		/* As a key, nothing at all and "null" are two keys. */
		emit_str(m, key ? "!!null \"\"" : "null");
}

int yn_emit_scalar(const struct ynode *n, struct buf *out)
{
	struct emitter m = { .out = out, .eol = "\n" };

	emit_scalar(&m, n, ROOM_LINE, 0);
	return m.failed ? -1 : 0;
}
