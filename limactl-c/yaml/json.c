/* json.c - trees as JSON. */
#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/emitter.h"
#include "limactl-c/yaml/yscalar.h"

struct json {
	struct emitter m;
	unsigned indent;
};

static void put_string(struct emitter *m, const char *s, size_t n)
{
	static const char *const named[0x80] = { ['\b'] = "\\b", ['\f'] = "\\f",  ['\n'] = "\\n", ['\r'] = "\\r",
						 ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\" };
	char code[8];

	emit_str(m, "\"");
	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		uint32_t c = text_utf8_char(s + i, &len);

		if (!len)
			emit_str(m, "\\ufffd"); /* bytes that are no text */
		else if (c < 0x80 && named[c])
			emit_str(m, named[c]);
		else if (emit_printable(c) || c > 0xffff)
			emit_bytes(m, s + i, len);
		else {
			snprintf(code, sizeof(code), "\\u%04x", (unsigned)c);
			emit_str(m, code);
		}
	}
	emit_str(m, "\"");
}

/* 0o17, 0x1f; beyond 64 bits it stays a text. */
static void put_based(struct emitter *m, const struct ynode *n)
{
	char decimal[24];
	uint64_t value;

	if (!yscalar_uint(n->text, &value)) {
		put_string(m, n->text, n->len);
		return;
	}
	snprintf(decimal, sizeof(decimal), "%llu", (unsigned long long)value);
	emit_str(m, decimal);
}

/* Digits stay as they are written, whatever their number; JSON has no +, no leading zeros, no bare point. */
static void put_number(struct emitter *m, const struct ynode *n)
{
	const char *p = n->text;
	size_t digits;

	if (p[0] == '0' && (p[1] == 'o' || p[1] == 'x')) {
		put_based(m, n);
		return;
	}
	if (p[strspn(p, "0123456789.eE+-")]) { /* .inf, .nan */
		put_string(m, n->text, n->len);
		return;
	}
	if (*p == '-')
		emit_str(m, "-");
	p += *p == '-' || *p == '+';
	p += strspn(p, "0");
	digits = strspn(p, "0123456789");
	if (digits)
		emit_bytes(m, p, digits);
	else
		emit_str(m, "0");
	p += digits;
	if (*p == '.') {
		digits = strspn(++p, "0123456789");
		emit_str(m, digits ? "." : ".0");
		emit_bytes(m, p, digits);
		p += digits;
	}
	emit_str(m, p);
}

static void put_scalar(struct emitter *m, const struct ynode *n)
{
	switch (n->kind) {
	case YN_NULL:
		emit_str(m, "null");
		break;
	case YN_BOOL:
		emit_str(m, n->text[0] == 't' || n->text[0] == 'T' ? "true" : "false");
		break;
	case YN_INT:
	case YN_FLOAT:
		put_number(m, n);
		break;
	default:
		put_string(m, n->text, n->len);
	}
}

static void line(struct json *j, unsigned depth)
{
	if (!j->indent)
		return;
	emit_line_end(&j->m);
	emit_pad(&j->m, (size_t)depth * j->indent);
}

static void put_node(struct json *j, const struct ynode *n, unsigned depth)
{
	bool map = n->kind == YN_MAP;

	if (yn_is_scalar(n)) {
		put_scalar(&j->m, n);
		return;
	}
	emit_str(&j->m, map ? "{" : "[");
	for (size_t i = 0; i < n->count; i++) {
		if (i)
			emit_str(&j->m, ",");
		line(j, depth + 1);
		if (map) {
			put_string(&j->m, n->key[i]->text, n->key[i]->len);
			emit_str(&j->m, j->indent ? ": " : ":");
		}
		put_node(j, n->item[i], depth + 1);
	}
	if (n->count)
		line(j, depth);
	emit_str(&j->m, map ? "}" : "]");
}

int yn_json(const struct ynode *root, unsigned indent, struct buf *out)
{
	struct json j = { .m = { .out = out, .eol = "\n" }, .indent = indent };

	put_node(&j, root, 0);
	return j.m.failed ? -1 : 0;
}
