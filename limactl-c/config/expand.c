#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/config.h"

/* The variable named between "{{" at p and "}}", spaces allowed around it; *end is set behind. */
static const struct cfg_var *variable(const char *p, const struct cfg_var *var, size_t n,
				      const char **end)
{
	const char *name = p + 2 + strspn(p + 2, " \t");
	size_t len;

	if (*name++ != '.')
		return NULL;
	len = strcspn(name, " \t{}");
	*end = name + len + strspn(name + len, " \t");
	if (strncmp(*end, "}}", 2))
		return NULL;
	*end += 2;
	for (size_t i = 0; i < n; i++) {
		if (strlen(var[i].name) == len && !memcmp(var[i].name, name, len))
			return &var[i];
	}
	return NULL;
}

char *cfg_expand(const char *text, const struct cfg_var *var, size_t n)
{
	size_t len = 0, cap = strlen(text) + 1;
	char *out = xmalloc(cap);

	while (*text) {
		const char *end, *add = text;
		const struct cfg_var *v = !strncmp(text, "{{", 2) ? variable(text, var, n, &end)
								  : NULL;
		size_t add_len = v ? strlen(v->value) : 1;

		if (v) {
			add = v->value;
			cap += add_len;
			out = xrealloc(out, cap);
		}
		memcpy(out + len, add, add_len);
		len += add_len;
		text = v ? end : text + 1;
	}
	out[len] = '\0';
	return out;
}
