/* printf: those of Go's verbs that templates use, with width and precision. The others are refused. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/gotmpl/functions.h"

enum { WIDTH_MAX = 1000 };

struct verb {
	bool minus, plus, zero, space;
	int width, precision; /* -1: none */
	char letter;
};

static bool is_utf8_start(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* The text in its width; zeros only before digits, behind a sign. */
static int pad(struct run *r, const struct verb *v, const char *s, size_t len, bool zeros, struct buf *out)
{
	size_t count = text_utf8_count(s, len), width = v->width > 0 ? (size_t)v->width : 0;
	int fill = width > count ? (int)(width - count) : 0, rc = 0;
	bool sign = zeros && len && strchr("+- ", *s);

	if (!v->minus && zeros) {
		rc = sign ? buf_add(out, s, 1) : 0;
		while (!rc && fill-- > 0)
			rc = buf_add(out, "0", 1);
		rc = rc ? rc : buf_add(out, s + sign, len - sign);
	} else {
		rc = v->minus ? 0 : buf_addf(out, "%*s", fill, "");
		rc = rc ? rc : buf_add(out, s, len);
		rc = rc || !v->minus ? rc : buf_addf(out, "%*s", fill, "");
	}
	return rc ? run_no_room(r) : 0;
}

static int print_int(struct run *r, const struct verb *v, int64_t i, struct buf *out)
{
	char text[24];
	uint64_t size = i < 0 ? -(uint64_t)i : (uint64_t)i;
	const char *sign = i < 0 ? "-" : v->plus ? "+" : v->space ? " " : "";
	int len = v->letter == 'x'   ? snprintf(text, sizeof(text), "%s%" PRIx64, sign, size)
		  : v->letter == 'X' ? snprintf(text, sizeof(text), "%s%" PRIX64, sign, size)
				     : snprintf(text, sizeof(text), "%s%" PRIu64, sign, size);

	if (v->precision >= 0)
		return run_fail(r, "printf: a precision for a whole number is not supported");
	return pad(r, v, text, (size_t)len, v->zero, out);
}

static int print_float(struct run *r, const struct verb *v, double f, struct buf *out)
{
	auto_buf text = run_buffer();
	bool finite = f - f == 0;
	int rc;

	if (v->letter == 'f' && finite)
		rc = buf_addf(&text, "%.*f", v->precision < 0 ? 6 : v->precision, f);
	else
		rc = value_print_float(f, &text);
	if (rc < 0)
		return run_no_room(r);
	if (v->plus || v->space || !finite) {
		auto_buf with_sign = run_buffer();
		bool has = text.len && strchr("+-", *text.data), drop = has && *text.data == '+' && !v->plus && v->space;

		/* Go shows +Inf with its sign, whatever the flags. */
		if (buf_adds(&with_sign, has && !drop ? "" : v->plus ? "+" : v->space ? " " : "") < 0 ||
		    buf_add(&with_sign, text.data + drop, text.len - drop) < 0)
			return run_no_room(r);
		return pad(r, v, with_sign.data, with_sign.len, v->zero && finite, out);
	}
	return pad(r, v, text.data, text.len, v->zero, out);
}

/* One character of the text in quotes; 0: it cannot be said here whether Go shows or escapes it. */
static int quote_one(const char *s, size_t len, size_t *used, struct buf *out)
{
	static const char plain[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
	unsigned char c = (unsigned char)*s;
	const char *at = c ? strchr(plain, c) : NULL;
	unsigned code;

	*used = 1;
	if (at)
		return buf_addf(out, "\\%c", letters[at - plain]);
	if (c >= ' ' && c < 0x7f)
		return buf_add(out, s, 1);
	if (c < 0x80)
		return buf_addf(out, "\\x%02x", c);
	/* Two bytes, up to U+024F, are known to be letters and signs but for these. */
	if (c < 0xc2 || c > 0xc9 || len < 2 || is_utf8_start(s[1]))
		return 1;
	code = (c & 0x1fU) << 6 | ((unsigned char)s[1] & 0x3fU);
	*used = 2;
	if (code <= 0xa0 || code == 0xad)
		return buf_addf(out, "\\u%04x", code);
	return buf_add(out, s, 2);
}

static int print_quoted(struct run *r, const struct verb *v, const char *s, size_t len, struct buf *out)
{
	auto_buf text = run_buffer();
	size_t used;
	int rc = buf_adds(&text, "\"");

	for (size_t i = 0; i < len && !rc; i += used)
		rc = quote_one(s + i, len - i, &used, &text);
	if (rc > 0)
		return run_fail(r, "printf: %%q of characters beyond U+024F is not supported");
	rc = rc < 0 ? rc : buf_adds(&text, "\"");
	return rc < 0 ? run_no_room(r) : pad(r, v, text.data, text.len, false, out);
}

static int print_bytes(struct run *r, const struct verb *v, const char *s, size_t len, struct buf *out)
{
	auto_buf text = run_buffer();

	for (size_t i = 0; i < len; i++) {
		if (buf_addf(&text, v->letter == 'x' ? "%02x" : "%02X", (unsigned char)s[i]) < 0)
			return run_no_room(r);
	}
	return pad(r, v, text.data ? text.data : "", text.len, false, out);
}

static int print_string(struct run *r, const struct verb *v, const struct value *s, struct buf *out)
{
	size_t len = s->len;

	if (v->zero || v->plus || v->space)
		return run_fail(r, "printf: only width, precision and \"-\" are supported for a text");
	if (v->precision >= 0 && v->letter != 'x' && v->letter != 'X')
		len = text_utf8_offset(s->s, s->len, (size_t)v->precision);
	else if (v->precision >= 0)
		return run_fail(r, "printf: a precision with %%%c is not supported", v->letter);
	if (v->letter == 'q')
		return print_quoted(r, v, s->s, len, out);
	return v->letter == 's' || v->letter == 'v' ? pad(r, v, s->s, len, false, out) : print_bytes(r, v, s->s, len, out);
}

/* What %v says of anything but numbers and texts. */
static int print_other(struct run *r, const struct verb *v, const struct value *value, struct buf *out)
{
	auto_buf text = run_buffer();
	bool scalar = value->kind != VALUE_LIST && value->kind != VALUE_MAP;

	if (v->zero || v->plus || v->space || v->precision >= 0 || (v->width >= 0 && !scalar))
		return run_fail(r, "printf: flags, width and precision are not supported for %s", value_word(value));
	return value_print(value, &text, r->e) < 0 ? -1 : pad(r, v, text.data, text.len, false, out);
}

static int print_verb(struct run *r, const struct verb *v, const struct value *value, struct buf *out)
{
	static const char *const verbs[] = {
		[VALUE_NONE] = "v", [VALUE_NULL] = "v", [VALUE_BOOL] = "vt", [VALUE_INT] = "vdxX", [VALUE_FLOAT] = "vf",
		[VALUE_STRING] = "vsqxX", [VALUE_LIST] = "v", [VALUE_MAP] = "v",
	};

	if (!strchr("vsdqxXtf", v->letter))
		return run_fail(r, "printf: %%%c is not supported; %%v, %%s, %%d, %%q, %%x, %%t and %%f are", v->letter);
	if (!strchr(verbs[value->kind], v->letter))
		return run_fail(r, "printf: %%%c does not fit %s; use %%v", v->letter, value_word(value));
	if (v->letter == 'v' && v->plus)
		return run_fail(r, "printf: %%+v is not supported");
	switch (value->kind) {
	case VALUE_INT:
		return print_int(r, v, value->i, out);
	case VALUE_FLOAT:
		if (v->letter == 'v' && v->precision >= 0)
			return run_fail(r, "printf: a precision with %%v is not supported");
		return print_float(r, v, value->f, out);
	case VALUE_STRING:
		return print_string(r, v, value, out);
	default:
		return print_other(r, v, value, out);
	}
}

static int take_number(struct run *r, const char **p, const char *end, int *out)
{
	for (*out = 0; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
		*out = *out * 10 + (**p - '0');
		if (*out > WIDTH_MAX)
			return run_fail(r, "printf: a width or precision of more than %d", WIDTH_MAX);
	}
	return 0;
}

/* Behind a "%". */
static int take_verb(struct run *r, const char **p, const char *end, struct verb *v)
{
	*v = (struct verb){ .width = -1, .precision = -1 };
	for (; *p < end && **p && strchr("+- 0#", **p); (*p)++) {
		v->plus = v->plus || **p == '+';
		v->minus = v->minus || **p == '-';
		v->space = v->space || **p == ' ';
		v->zero = v->zero || **p == '0';
		if (**p == '#')
			return run_fail(r, "printf: the flag # is not supported");
	}
	if (*p < end && **p >= '1' && **p <= '9' && take_number(r, p, end, &v->width) < 0)
		return -1;
	if (*p < end && **p == '.') {
		(*p)++;
		if (take_number(r, p, end, &v->precision) < 0)
			return -1;
	}
	if (*p == end)
		return run_fail(r, "printf: the format ends behind %%");
	v->letter = *(*p)++;
	if (v->letter < '!' || v->letter > '~' || v->letter == '*' || v->letter == '[')
		return run_fail(r, "printf: unsupported character behind %%");
	return 0;
}

int call_printf(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	auto_buf b = run_buffer();
	const char *p = v->s, *end;
	size_t used = 1;

	(void)f;
	if (v->kind != VALUE_STRING)
		return run_fail(r, "printf takes a text as its format, not %s", value_word(v));
	end = p + v->len;
	while (p < end) {
		const char *percent = memchr(p, '%', (size_t)(end - p));
		struct verb verb;

		if (buf_add(&b, p, (size_t)((percent ? percent : end) - p)) < 0)
			return run_no_room(r);
		p = percent ? percent + 1 : end;
		if (!percent)
			break;
		if (take_verb(r, &p, end, &verb) < 0)
			return -1;
		if (verb.letter == '%') {
			if (buf_adds(&b, "%") < 0)
				return run_no_room(r);
		} else if (used == n) {
			return run_fail(r, "printf: there is no value for %%%c", verb.letter);
		} else if (print_verb(r, &verb, &v[used++], &b) < 0) {
			return -1;
		}
	}
	if (used < n)
		return run_fail(r, "printf: %zu values more than the format writes", n - used);
	return run_string(r, &b, out);
}
