#include "limactl-c/yq/glob.h"

/* A mismatch goes back to the last *, which then takes one byte more: without recursion, at most len * pattern_len
 * comparisons. */
bool yq_glob(const char *text, size_t len, const char *pattern, size_t pattern_len)
{
	size_t t = 0, p = 0, star = 0, taken = 0;
	bool starred = false;

	while (t < len || p < pattern_len) {
		if (p < pattern_len && pattern[p] == '*') {
			starred = true;
			star = p++;
			taken = t;
		} else if (p < pattern_len && t < len && (pattern[p] == '?' || pattern[p] == text[t])) {
			t++;
			p++;
		} else if (starred && taken < len) {
			t = ++taken;
			p = star + 1;
		} else {
			return false;
		}
	}
	return true;
}
