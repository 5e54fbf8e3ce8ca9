/* test("pattern"): the patterns that mean the same to POSIX and to yq; all others are refused. */
#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "limactl-c/yq/eval.h"

enum { PATTERN_MAX = 1000 };

static bool plain(char c)
{
	return isalnum((unsigned char)c) || (c && strchr(" _-/:,@%&=~#!<>';", c));
}

/* Behind [ : characters and ranges of them; NULL when there is anything else. */
static const char *skip_class(const char *p)
{
	const char *begin;

	p += *p == '^';
	for (begin = p; *p && *p != ']'; p++) {
		bool inner = p > begin && p[1] != ']';

		if (!plain(*p) && *p != '.')
			return NULL;
		if (*p == '-' && inner && !(isalnum((unsigned char)p[-1]) && isalnum((unsigned char)p[1])))
			return NULL;
	}
	return *p && p > begin ? p + 1 : NULL;
}

/* One character, class or anchor; NULL: not known. repeat: * + ? may follow. */
static const char *skip_atom(const char *p, bool *repeat)
{
	*repeat = true;
	if (plain(*p) || *p == '.')
		return p + 1;
	if (*p == '[')
		return skip_class(p + 1);
	if (*p == '\\' && p[1] && ispunct((unsigned char)p[1]) && !strchr("<>`'", p[1]))
		return p + 2;
	*repeat = false;
	return *p == '^' || *p == '$' ? p + 1 : NULL;
}

/* Groups and alternatives with something in each, one repetition at most behind each. */
static bool means_the_same(const char *p)
{
	unsigned open = 0;
	bool empty = true, repeat = false;

	while (*p) {
		if (*p == '(' || *p == '|') {
			if (*p == '|' && empty)
				return false;
			open += *p++ == '(';
			empty = true;
			repeat = false;
		} else if (*p == ')') {
			if (!open-- || empty)
				return false;
			p++;
			repeat = true;
		} else if (strchr("*+?", *p)) {
			if (!repeat)
				return false;
			p++;
			repeat = false;
		} else {
			p = skip_atom(p, &repeat);
			if (!p)
				return false;
			empty = false;
		}
	}
	return !open && !empty;
}

static struct yq_node *tested(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_only(r, c), x->right);
	const struct yq_node *pattern = yq_first_of(&got);
	regex_t compiled;
	bool found;

	if (r->failed || !pattern)
		return yq_bool_at(r, n, true);
	yq_must_know(r, pattern, YQ_BY_TEXT);
	if (n->shape != YQ_SCALAR || n->tag != YQ_STR)
		yq_fail(r, "test works on texts, not on %s", yq_tag_word(n->tag));
	else if (pattern->len > PATTERN_MAX || strlen(pattern->text) != pattern->len || !means_the_same(pattern->text))
		yq_fail(r, "the pattern \"%.60s\" is not supported: only letters, . [ ] ( ) | * + ? ^ $",
			pattern->text);
	for (size_t i = 0; i < n->len && !r->failed; i++) {
		if ((unsigned char)n->text[i] >= 0x80 || !n->text[i] || n->text[i] == '\n')
			yq_fail(r, "test is supported for single lines of ASCII only");
	}
	if (r->failed)
		return NULL;
	if (regcomp(&compiled, pattern->text, REG_EXTENDED | REG_NOSUB)) {
		yq_fail(r, "the pattern \"%.60s\" is wrong", pattern->text);
		return NULL;
	}
	yq_work(r, n->len * pattern->len);
	found = !r->failed && !regexec(&compiled, n->text, 0, NULL, 0);
	regfree(&compiled);
	return yq_bool_at(r, n, found);
}

static struct yq_ctx run_test(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	if (x->right->op == &yq_op_block)
		yq_fail(r, "test with options is not supported");
	return yq_each(r, c, x, tested);
}

const struct yq_op yq_op_test = { "test", 1, 50, false, YQ_BY_TYPE, run_test };
