/* jsonx.h - JSON with typed getters that name the member in errors; the only user of jansson.
 *
 * Values read are borrowed from the document they are in; values built are owned by the caller until they are
 * put into another, which then owns them. Running out of memory aborts, as everywhere on the host.
 */
#ifndef LIMA_JSONX_H
#define LIMA_JSONX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "lib/err.h"

enum { JX_TEXT_MAX = 4 << 20 }; /* bytes of a document; longer ones are refused */

struct jx; /* any JSON value */

/* Parses exactly one document; what names it in errors ("plan.json"). The caller frees it. */
struct jx *jx_parse(const char *text, size_t len, const char *what, struct err *e);
/* The same for a whole file; ERR_SYS with ENOENT when it is not there. */
struct jx *jx_parse_file(const char *path, struct err *e);
void jx_free(struct jx *v); /* NULL is allowed */

DEFINE_CLEANUP(struct jx *, jx_free)
#define auto_jx CLEANUP(jx_freep) struct jx

/* What a value is. NULL is nothing of these. */
bool jx_is_object(const struct jx *v);
bool jx_is_array(const struct jx *v);
bool jx_is_null(const struct jx *v);
const char *jx_as_string(const struct jx *v);              /* NULL when v is no string */
bool jx_as_int(const struct jx *v, int64_t *out);          /* false when v is no whole number */

/* Members of an object that must be there and of that type; -1 or NULL names the member. Unset and null differ. */
const char *jx_string(const struct jx *obj, const char *member, struct err *e);
int jx_int(const struct jx *obj, const char *member, int64_t least, int64_t most, int64_t *out, struct err *e);
int jx_bool(const struct jx *obj, const char *member, bool *out, struct err *e);
const struct jx *jx_object(const struct jx *obj, const char *member, struct err *e);
const struct jx *jx_array(const struct jx *obj, const char *member, struct err *e);

/* Members that may be missing; otherwise is returned for a missing one and for one of another type. */
const struct jx *jx_member(const struct jx *obj, const char *member); /* NULL when missing */
const char *jx_string_or(const struct jx *obj, const char *member, const char *otherwise);
int64_t jx_int_or(const struct jx *obj, const char *member, int64_t otherwise);
bool jx_bool_or(const struct jx *obj, const char *member, bool otherwise);

/* Elements of an array; 0 and NULL when v is none. */
size_t jx_count(const struct jx *v);
const struct jx *jx_at(const struct jx *v, size_t i);

/* Members of an object in their order: calls fn for each until it returns false. */
void jx_each(const struct jx *obj, bool (*fn)(void *ctx, const char *name, const struct jx *v), void *ctx);

/* Builders. A string that is not UTF-8 has its bad bytes replaced; a NULL string is left out (set) or "" (add). */
struct jx *jx_new_object(void);
struct jx *jx_new_array(void);
struct jx *jx_new_string(const char *s);
struct jx *jx_copy(const struct jx *v); /* deep */
void jx_set(struct jx *obj, const char *member, struct jx *v); /* takes v */
void jx_set_string(struct jx *obj, const char *member, const char *s);
void jx_set_int(struct jx *obj, const char *member, int64_t n);
void jx_set_bool(struct jx *obj, const char *member, bool b);
void jx_set_null(struct jx *obj, const char *member);
void jx_add(struct jx *array, struct jx *v); /* takes v */
void jx_add_string(struct jx *array, const char *s);
void jx_add_int(struct jx *array, int64_t n);

/* Text of a value, members in the order they were set; malloc'd, without a final newline. */
char *jx_dump(const struct jx *v);        /* one line */
char *jx_dump_pretty(const struct jx *v); /* indented by four */

#endif
