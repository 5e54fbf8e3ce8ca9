#include "limactl-c/base/jsonx.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

/* struct jx is json_t under a name of ours; it is never defined. */
static json_t *in(const struct jx *v)
{
	return (json_t *)(uintptr_t)v;
}

/* The library's only failure where this is used is memory. */
static void need(bool ok)
{
	if (ok)
		return;
	fputs("out of memory\n", stderr);
	abort();
}

static struct jx *out(json_t *v)
{
	need(v);
	return (struct jx *)v;
}

static const struct jx *borrowed(const json_t *v)
{
	return (const struct jx *)v;
}

struct jx *jx_parse(const char *text, size_t len, const char *what, struct err *e)
{
	json_error_t je;
	json_t *v;

	if (len > JX_TEXT_MAX) {
		err_set(e, ERR_INVALID, "%s: %zu bytes are too many, at most %d", what, len, JX_TEXT_MAX);
		return NULL;
	}
	v = json_loadb(text, len, JSON_DECODE_ANY, &je);
	if (!v) {
		err_set(e, ERR_INVALID, "%s: line %d, column %d: %s", what, je.line, je.column, je.text);
		return NULL;
	}
	return (struct jx *)v;
}

struct jx *jx_parse_file(const char *path, struct err *e)
{
	auto_buf b = BUF_INIT(JX_TEXT_MAX);

	if (io_read_file(path, &b, e) < 0)
		return NULL;
	return jx_parse(b.data ? b.data : "", b.len, path, e);
}

void jx_free(struct jx *v)
{
	json_decref(in(v));
}

bool jx_is_object(const struct jx *v)
{
	return json_is_object(in(v));
}

bool jx_is_array(const struct jx *v)
{
	return json_is_array(in(v));
}

bool jx_is_null(const struct jx *v)
{
	return json_is_null(in(v));
}

const char *jx_as_string(const struct jx *v)
{
	return json_string_value(in(v));
}

bool jx_as_int(const struct jx *v, int64_t *n)
{
	if (!json_is_integer(in(v)))
		return false;
	*n = json_integer_value(in(v));
	return true;
}

static const json_t *required(const struct jx *obj, const char *member, struct err *e)
{
	const json_t *v;

	if (!json_is_object(in(obj))) {
		err_set(e, ERR_INVALID, "\"%s\" is looked for in something that is no object", member);
		return NULL;
	}
	v = json_object_get(in(obj), member);
	if (!v)
		err_set(e, ERR_INVALID, "member \"%s\" is missing", member);
	return v;
}

static int mistyped(const char *member, const char *want, struct err *e)
{
	return err_set(e, ERR_INVALID, "member \"%s\" is not %s", member, want);
}

const char *jx_string(const struct jx *obj, const char *member, struct err *e)
{
	const json_t *v = required(obj, member, e);

	if (v && !json_is_string(v))
		mistyped(member, "a string", e);
	return json_string_value(v);
}

int jx_int(const struct jx *obj, const char *member, int64_t least, int64_t most, int64_t *n, struct err *e)
{
	const json_t *v = required(obj, member, e);

	if (!v)
		return -1;
	if (!json_is_integer(v))
		return mistyped(member, "a whole number", e);
	*n = json_integer_value(v);
	if (*n < least || *n > most)
		return err_set(e, ERR_INVALID, "member \"%s\" is %lld, not from %lld to %lld", member,
			       (long long)*n, (long long)least, (long long)most);
	return 0;
}

int jx_bool(const struct jx *obj, const char *member, bool *b, struct err *e)
{
	const json_t *v = required(obj, member, e);

	if (!v)
		return -1;
	if (!json_is_boolean(v))
		return mistyped(member, "true or false", e);
	*b = json_is_true(v);
	return 0;
}

const struct jx *jx_object(const struct jx *obj, const char *member, struct err *e)
{
	const json_t *v = required(obj, member, e);

	if (v && !json_is_object(v)) {
		mistyped(member, "an object", e);
		return NULL;
	}
	return borrowed(v);
}

const struct jx *jx_array(const struct jx *obj, const char *member, struct err *e)
{
	const json_t *v = required(obj, member, e);

	if (v && !json_is_array(v)) {
		mistyped(member, "an array", e);
		return NULL;
	}
	return borrowed(v);
}

const struct jx *jx_member(const struct jx *obj, const char *member)
{
	return borrowed(json_object_get(in(obj), member));
}

const char *jx_string_or(const struct jx *obj, const char *member, const char *otherwise)
{
	const char *s = json_string_value(json_object_get(in(obj), member));

	return s ? s : otherwise;
}

int64_t jx_int_or(const struct jx *obj, const char *member, int64_t otherwise)
{
	const json_t *v = json_object_get(in(obj), member);

	return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

bool jx_bool_or(const struct jx *obj, const char *member, bool otherwise)
{
	const json_t *v = json_object_get(in(obj), member);

	return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

size_t jx_count(const struct jx *v)
{
	return json_array_size(in(v));
}

const struct jx *jx_at(const struct jx *v, size_t i)
{
	return borrowed(json_array_get(in(v), i));
}

void jx_each(const struct jx *obj, bool (*fn)(void *ctx, const char *name, const struct jx *v), void *ctx)
{
	const char *name;
	json_t *v;

	json_object_foreach(in(obj), name, v)
		if (!fn(ctx, name, borrowed(v)))
			return;
}

/* JSON text is UTF-8; what a guest or a file name holds need not be. */
static json_t *string_of(const char *s)
{
	json_t *v = json_string(s);
	auto_free char *clean = NULL;
	size_t at = 0;

	if (v)
		return v;
	clean = xmalloc(3 * strlen(s) + 1);
	while (*s) {
		size_t n = text_utf8_length(s);

		memcpy(clean + at, n ? s : "\xef\xbf\xbd", n ? n : 3);
		at += n ? n : 3;
		s += n ? n : 1;
	}
	clean[at] = '\0';
	return json_string(clean);
}

struct jx *jx_new_object(void)
{
	return out(json_object());
}

struct jx *jx_new_array(void)
{
	return out(json_array());
}

struct jx *jx_new_string(const char *s)
{
	return out(string_of(s ? s : ""));
}

struct jx *jx_copy(const struct jx *v)
{
	return out(json_deep_copy(in(v)));
}

void jx_set(struct jx *obj, const char *member, struct jx *v)
{
	need(json_object_set_new(in(obj), member, in(v)) == 0);
}

void jx_set_string(struct jx *obj, const char *member, const char *s)
{
	if (s)
		jx_set(obj, member, jx_new_string(s));
}

void jx_set_int(struct jx *obj, const char *member, int64_t n)
{
	jx_set(obj, member, out(json_integer(n)));
}

void jx_set_bool(struct jx *obj, const char *member, bool b)
{
	jx_set(obj, member, out(json_boolean(b)));
}

void jx_set_null(struct jx *obj, const char *member)
{
	jx_set(obj, member, out(json_null()));
}

void jx_add(struct jx *array, struct jx *v)
{
	need(json_array_append_new(in(array), in(v)) == 0);
}

void jx_add_string(struct jx *array, const char *s)
{
	jx_add(array, jx_new_string(s));
}

void jx_add_int(struct jx *array, int64_t n)
{
	jx_add(array, out(json_integer(n)));
}

static char *dump(const struct jx *v, size_t flags)
{
	char *text = json_dumps(in(v), flags | JSON_ENCODE_ANY);

	need(text);
	return text;
}

char *jx_dump(const struct jx *v)
{
	return dump(v, JSON_COMPACT);
}

char *jx_dump_pretty(const struct jx *v)
{
	return dump(v, JSON_INDENT(4));
}
