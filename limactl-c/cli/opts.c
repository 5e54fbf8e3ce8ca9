#include "limactl-c/cli/opts.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limactl-c/base/text.h"
#include "limactl-c/config/schema.h"

/* getopt_long's value of a row: above every letter. */
enum { FIRST_ROW = 256 };
enum { COUNT_MAX = 1 << 20, DURATION_MAX = 366 * 24 * 3600, WORDS_MAX = 16, WORD_MAX = 40, LEFT_WIDTH = 22 };

int opt_parse_gib(const char *text, double *gib, struct err *e)
{
	const double least = 1.0 / 1024, most = 1 << 20; /* a mebibyte, a pebibyte */
	char *end;

	errno = 0;
	*gib = strtod(text, &end);
	/* No signs, names of infinities or hexadecimal digits, all of which strtod would take. */
	if (errno || !*text || *end || strspn(text, "0123456789.eE+-") != strlen(text) || !(*gib >= least) || *gib > most)
		return err_set(e, ERR_USAGE, "\"%s\" is no number of GiB above 0", text);
	return 0;
}

static unsigned unit_seconds(char c)
{
	return c == 's' ? 1 : c == 'm' ? 60 : c == 'h' ? 3600 : 0;
}

int opt_parse_duration(const char *text, unsigned *seconds, struct err *e)
{
	unsigned long total = 0;
	const char *p = text;

	while (isdigit((unsigned char)*p)) {
		char *end;
		unsigned long n = strtoul(p, &end, 10);
		unsigned unit = unit_seconds(*end);

		if (!unit || n > DURATION_MAX)
			break;
		total += n * unit;
		p = end + 1;
		if (total > DURATION_MAX)
			break;
	}
	if (*p || !total)
		return err_set(e, ERR_USAGE, "\"%s\" is no duration above 0 like 90s, 10m or 1h30m", text);
	*seconds = (unsigned)total;
	return 0;
}

static int parse_count(const char *text, unsigned *out, struct err *e)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text) || n < 1 || n > COUNT_MAX)
		return err_set(e, ERR_USAGE, "\"%s\" is no whole number above 0", text);
	*out = (unsigned)n;
	return 0;
}

static int parse_flag(const char *text, bool *out, struct err *e)
{
	if (!text || !strcmp(text, "true") || !strcmp(text, "1"))
		*out = true;
	else if (!strcmp(text, "false") || !strcmp(text, "0"))
		*out = false;
	else
		return err_set(e, ERR_USAGE, "\"%s\" is neither true nor false", text);
	return 0;
}

static int check_port(const char *text, struct err *e)
{
	size_t n = strlen(text);

	if (!n || n > 5 || strspn(text, "0123456789") != n || strtoul(text, NULL, 10) > 65535)
		return err_set(e, ERR_USAGE, "\"%s\" is no port: 0 to 65535 are possible", text);
	return 0;
}

const char *opt_words(const struct opt *o)
{
	const struct key *k = o->key ? schema_find(o->key) : NULL;

	return o->words ? o->words : k ? k->allowed : NULL;
}

static int check_word(const struct opt *o, const char *text, struct err *e)
{
	char words[WORDS_MAX][WORD_MAX];
	const char *known[WORDS_MAX], *all = opt_words(o), *p = all, *near;
	size_t n = 0;

	while (n < WORDS_MAX && schema_next_word(&p, words[n], WORD_MAX)) {
		if (!strcmp(words[n], text))
			return 0;
		known[n] = words[n];
		n++;
	}
	near = text_nearest(text, known, n);
	if (near)
		return err_set(e, ERR_USAGE, "\"%s\" is none of %s; did you mean %s?", text, all, near);
	return err_set(e, ERR_USAGE, "\"%s\" is none of %s", text, all);
}

static int add_item(struct opt_list *list, const char *item, struct err *e)
{
	if (list->count == OPT_LIST_MAX)
		return err_set(e, ERR_USAGE, "may be given at most %d times", OPT_LIST_MAX);
	list->item[list->count++] = item;
	return 0;
}

/* One item of "a,b" or "\"a,b\",c", quotes undone in place; *p moves behind it, NULL at the end. */
static char *cut_item(char **p, struct err *e)
{
	char *from = *p, *to = from, *item = from;

	if (*from != '"') {
		*p = strchr(from, ',');
		if (*p)
			*(*p)++ = '\0';
		return item;
	}
	for (from++; *from && !(*from == '"' && from[1] != '"'); from++) {
		from += *from == '"';
		*to++ = *from;
	}
	if (*from != '"' || (from[1] && from[1] != ',')) {
		err_set(e, ERR_USAGE, "the quotes around a value with commas do not match");
		return NULL;
	}
	*p = from[1] ? from + 2 : NULL;
	*to = '\0';
	return item;
}

static int add_items(struct opt_list *list, char *text, struct err *e)
{
	for (char *p = text; p;) {
		const char *item = cut_item(&p, e);

		if (!item || add_item(list, item, e) < 0)
			return -1;
	}
	return 0;
}

static int store_text(const struct opt *o, const char **at, const char *text, struct err *e)
{
	double gib;

	*at = text;
	return o->type == OPT_WORD ? check_word(o, text, e)
	     : o->type == OPT_GIB  ? opt_parse_gib(text, &gib, e)
	     : o->type == OPT_PORT ? check_port(text, e)
				   : 0;
}

static int store(const struct opt *o, void *dest, char *text, struct err *e)
{
	void *at = (char *)dest + o->offset;
	bool on;

	switch (o->type) {
	case OPT_FLAG:
		return parse_flag(text, at, e);
	case OPT_TRISTATE:
		if (parse_flag(text, &on, e) < 0)
			return -1;
		*(enum opt_tristate *)at = on ? OPT_YES : OPT_NO;
		return 0;
	case OPT_STRING:
	case OPT_WORD:
	case OPT_GIB:
	case OPT_PORT:
		return store_text(o, at, text, e);
	case OPT_COUNT:
		return parse_count(text, at, e);
	case OPT_DURATION:
		return opt_parse_duration(text, at, e);
	case OPT_LIST:
		return add_item(at, text, e);
	case OPT_COMMAS:
		return add_items(at, text, e);
	}
	return 0;
}

bool opt_given(const struct opt *o, const void *dest)
{
	const void *at = (const char *)dest + o->offset;

	switch (o->type) {
	case OPT_FLAG:
		return *(const bool *)at;
	case OPT_TRISTATE:
		return *(const enum opt_tristate *)at != OPT_UNSET;
	case OPT_STRING:
	case OPT_WORD:
	case OPT_GIB:
	case OPT_PORT:
		return *(const char *const *)at != NULL;
	case OPT_COUNT:
	case OPT_DURATION:
		return *(const unsigned *)at != 0;
	case OPT_LIST:
	case OPT_COMMAS:
		return ((const struct opt_list *)at)->count != 0;
	}
	return false;
}

static bool is_flag(const struct opt *o)
{
	return o->type == OPT_FLAG || o->type == OPT_TRISTATE;
}

/* The rows of all sets, as getopt_long wants them. */
struct rows {
	const struct opt *opt[OPTS_MAX];
	void *dest[OPTS_MAX];
	size_t count;
	struct option longs[OPTS_MAX + 1];
	char shorts[3 * OPTS_MAX + 3];
};

static void collect(struct rows *r, const struct opt_set *set, size_t sets, bool in_order)
{
	size_t at = 0;

	/* ':' makes getopt leave messages to us. */
	if (in_order)
		r->shorts[at++] = '+';
	r->shorts[at++] = ':';
	for (size_t s = 0; s < sets; s++) {
		for (const struct opt *o = set[s].opt; o && o->name && r->count < OPTS_MAX; o++) {
			r->opt[r->count] = o;
			r->dest[r->count] = set[s].dest;
			r->longs[r->count] = (struct option){
				o->name, is_flag(o) ? optional_argument : required_argument, NULL,
				FIRST_ROW + (int)r->count,
			};
			if (o->letter) {
				r->shorts[at++] = o->letter;
				if (!is_flag(o))
					r->shorts[at++] = ':';
			}
			r->count++;
		}
	}
	r->shorts[at] = '\0';
}

/* The row getopt_long's answer means. */
static size_t row_of(const struct rows *r, int answer)
{
	size_t i;

	if (answer >= FIRST_ROW)
		return (size_t)(answer - FIRST_ROW);
	for (i = 0; i < r->count; i++)
		if (r->opt[i]->letter == answer)
			break;
	return i;
}

/* What getopt_long stumbled over. */
static int bad_option(const struct rows *r, int answer, char **argv, struct err *e)
{
	const char *word = argv[optind - 1];

	if (answer == ':')
		return err_set(e, ERR_USAGE, "%s needs a value", word);
	if (optopt && optopt < FIRST_ROW && row_of(r, optopt) == r->count)
		return err_set(e, ERR_USAGE, "unknown option -%c", optopt);
	return err_set(e, ERR_USAGE, "unknown option %s", word);
}

int opts_parse(const struct opt_set *set, size_t sets, bool in_order, int argc, char **argv, struct err *e)
{
	struct rows r = { .count = 0 };
	int answer;

	collect(&r, set, sets, in_order);
#ifdef __APPLE__
	optind = optreset = 1;
#else
	optind = 0;
#endif
	opterr = 0;
	while ((answer = getopt_long(argc, argv, r.shorts, r.longs, NULL)) != -1) {
		size_t i;

		if (answer == '?' || answer == ':')
			return bad_option(&r, answer, argv, e);
		i = row_of(&r, answer);
		if (store(r.opt[i], r.dest[i], optarg, e) < 0)
			return err_wrap(e, "--%s", r.opt[i]->name);
	}
	return optind;
}

void opts_print(const struct opt *opt, FILE *f)
{
	for (const struct opt *o = opt; o && o->name; o++) {
		char letter[] = { '-', o->letter, ',', '\0' }, left[80];
		int n = snprintf(left, sizeof(left), "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");

		fprintf(f, "  %s ", o->letter ? letter : "   ");
		if (n > LEFT_WIDTH)
			fprintf(f, "%s\n%*s %s\n", left, LEFT_WIDTH + 6, "", o->help);
		else
			fprintf(f, "%-*s %s\n", LEFT_WIDTH, left, o->help);
	}
}
