#include "limactl-c/yq/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/yaml/yscalar.h"

bool yq_parse_int(const char *text, int64_t *out, enum yq_base *base)
{
	if (!yscalar_int(text, out))
		return false;
	if (base)
		*base = strncmp(text, "0x", 2) ? strncmp(text, "0o", 2) ? YQ_DECIMAL : YQ_OCTAL : YQ_HEX;
	return true;
}

bool yq_parse_float(const char *text, double *out)
{
	char *end;

	if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
		return false;
	*out = strtod(text, &end);
	return !*end && end != text && isfinite(*out);
}

struct yq_node *yq_int_node(struct yq_run *r, int64_t n, enum yq_base base)
{
	char text[32];

	if (base != YQ_DECIMAL && n < 0)
		yq_fail(r, "a negative number cannot be written in octal or hexadecimal");
	if (base == YQ_OCTAL)
		snprintf(text, sizeof(text), "0o%" PRIo64, (uint64_t)n);
	else if (base == YQ_HEX)
		snprintf(text, sizeof(text), "0x%" PRIX64, (uint64_t)n);
	else
		snprintf(text, sizeof(text), "%" PRId64, n);
	return yq_word(r, YQ_INT, text);
}

struct yq_node *yq_float_node(struct yq_run *r, double d)
{
	char text[32];

	if (!isfinite(d)) {
		yq_fail(r, "the result is no number that can be written");
		return yq_word(r, YQ_FLOAT, "0");
	}
	yscalar_float(d, text);
	return yq_word(r, YQ_FLOAT, text);
}
