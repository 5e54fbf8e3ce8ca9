/* validate_values.c - every value by itself, driven by the table of keys. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "lib/cleanup.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

#define DIGITS "0123456789"
enum { INTERFACE_MAX = 15, MAC_TEXT = 17 };

static int check_digest(const char *s, struct err *e)
{
	static const struct {
		const char *prefix;
		size_t digits;
	} kinds[] = { { "sha256:", 64 }, { "sha384:", 96 }, { "sha512:", 128 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (!strncmp(s, kinds[i].prefix, n) && strlen(s + n) == kinds[i].digits &&
		    strspn(s + n, DIGITS "abcdef") == kinds[i].digits)
			return 0;
	}
	return err_set(e, ERR_INVALID,
		       "is invalid: \"%.150s\"; write sha256: and 64, or sha512: and 128 digits of 0-9a-f", s);
}

static int check_ip(const char *s, struct err *e)
{
	unsigned char a[16];

	if (inet_pton(AF_INET, s, a) == 1 || inet_pton(AF_INET6, s, a) == 1)
		return 0;
	return err_set(e, ERR_INVALID, "must be an IP address; got \"%.60s\"", s);
}

static int check_absolute(const char *s, struct err *e)
{
	/* A template that could not be filled here may become one. */
	if (*s == '/' || !strncmp(s, "{{", 2))
		return 0;
	return err_set(e, ERR_INVALID, "must be an absolute path; got \"%.100s\"", s);
}

static int check_octal(const char *s, struct err *e)
{
	if (*s && strspn(s, "01234567") == strlen(s) && strlen(s) <= 5)
		return 0;
	return err_set(e, ERR_INVALID, "must be an octal number as 644; got \"%.40s\"", s);
}

static int check_name(const char *s, struct err *e)
{
	struct err why;

	return text_check_name(s, &why) < 0 ? err_set(e, ERR_INVALID, "%s; got \"%.80s\"", why.msg, s) : 0;
}

static int check_mac(const char *s, struct err *e)
{
	size_t i = 0;

	while (s[i] && (i % 3 == 2 ? s[i] == s[2] && strchr(":-", s[i]) : strchr(DIGITS "abcdefABCDEF", s[i]) != NULL))
		i++;
	if (i == MAC_TEXT && !s[i])
		return 0;
	return err_set(e, ERR_INVALID, "must be six bytes as 52:55:55:01:02:03; got \"%.60s\"", s);
}

static int check_interface(const char *s, struct err *e)
{
	if (strlen(s) > INTERFACE_MAX)
		return err_set(e, ERR_INVALID, "must have at most %d bytes; it has %zu", INTERFACE_MAX, strlen(s));
	if (!*s || strpbrk(s, " \t\r\n/"))
		return err_set(e, ERR_INVALID, "must not be empty or hold spaces or slashes; got \"%s\"", s);
	if (!strcmp(s, "eth0"))
		return err_set(e, ERR_INVALID, "must not be eth0, the guest's first network");
	return 0;
}

static int check_version(const char *s, struct err *e)
{
	unsigned v[3];

	/* "1.2.3", a leading v and anything behind the third number allowed. */
	if (sscanf(s + (*s == 'v'), "%5u.%5u.%5u", &v[0], &v[1], &v[2]) == 3)
		return 0;
	return err_set(e, ERR_INVALID, "must be a semantic version like 2.0.0; got \"%.40s\"", s);
}

static int check_script(const char *s, struct err *e)
{
	if (!strncmp(s, "#!", 2))
		return 0;
	return err_set(e, ERR_INVALID, "must begin with a #! line, as #!/bin/sh");
}

static int check_socket(const char *s, struct err *e)
{
	enum { PATH_SIZE = sizeof(((struct sockaddr_un *)NULL)->sun_path) };

	if (!*s)
		return err_set(e, ERR_INVALID, "must not be empty");
	if (strlen(s) < PATH_SIZE)
		return 0;
	return err_set(e, ERR_INVALID, "must be shorter than %d bytes; it has %zu", (int)PATH_SIZE, strlen(s));
}

static int check_word(const char *s, struct err *e)
{
	if (*s && !strpbrk(s, " \t\r\n\"'"))
		return 0;
	return err_set(e, ERR_INVALID, "must be one word without quotes; got \"%.60s\"", s);
}

static int check_passwd(const char *s, struct err *e)
{
	for (const char *p = s; *p; p++) {
		if (*p == ':' || (unsigned char)*p < 0x20 || *p == 0x7f)
			return err_set(e, ERR_INVALID, "must not hold colons, line ends or control characters");
	}
	return 0;
}

static int check_home(const char *s, struct err *e)
{
	return check_absolute(s, e) < 0 ? -1 : check_passwd(s, e);
}

static int (*const checks[])(const char *, struct err *) = {
	[CHECK_NONE] = NULL,          [CHECK_DIGEST] = check_digest, [CHECK_IP] = check_ip,
	[CHECK_ABSOLUTE] = check_absolute, [CHECK_OCTAL] = check_octal, [CHECK_NAME] = check_name,
	[CHECK_MAC] = check_mac,      [CHECK_INTERFACE] = check_interface, [CHECK_VERSION] = check_version,
	[CHECK_SCRIPT] = check_script, [CHECK_SOCKET] = check_socket, [CHECK_WORD] = check_word,
	[CHECK_PASSWD] = check_passwd, [CHECK_HOME] = check_home,
};
_Static_assert(sizeof(checks) / sizeof(*checks) == CHECK_KINDS, "a function for each check");

struct values {
	const struct cfg *c;
	const char *name;
	struct findings *f;
};

static void complain(struct values *v, const struct cfg_path *path, const char *what)
{
	auto_free char *shown = cfg_path_text(path);

	finding_error(v->f, where_place(v->c, v->name, shown), shown, "%s", what);
}

static void check_text(struct values *v, const struct key *k, const char *text, const struct cfg_path *path)
{
	struct err e;

	if (k->check && text && checks[k->check](text, &e) < 0)
		complain(v, path, e.msg);
}

/* A value that was given but wrong is a finding already. */
static void check_required(struct values *v, const struct key *k, const char *text, const struct cfg_path *path)
{
	auto_free char *shown = k->required && !text ? cfg_path_text(path) : NULL;

	if (shown && !where_given(v->c, shown))
		complain(v, path, "must be set");
}

static void check_group(struct values *v, const struct schema_node *group, const struct cfg_path *up, const char *base);

static void check_list(struct values *v, const struct schema_node *n, const struct cfg_path *path, const char *base)
{
	const char *array = *(const char *const *)(const void *)(base + n->key->at);
	size_t count = *(const size_t *)(const void *)(base + n->key->count_at);

	for (size_t i = 0; i < count; i++)
		check_group(v, n, &(struct cfg_path){ path, NULL, i }, array + i * n->key->size);
}

static void check_strings(struct values *v, const struct key *k, const struct cfg_path *path, const char *base)
{
	char *const *text = *(char *const *const *)(const void *)(base + k->at);
	size_t count = *(const size_t *)(const void *)(base + k->count_at);

	for (size_t i = 0; k->check && i < count; i++)
		check_text(v, k, text[i], &(struct cfg_path){ path, NULL, i });
}

static void check_group(struct values *v, const struct schema_node *group, const struct cfg_path *up, const char *base)
{
	for (const struct schema_node *n = group->child; n; n = n->next) {
		struct cfg_path path = { up, n->name, 0 };
		const struct key *k = n->key;

		if (!k) {
			check_group(v, n, &path, base);
		} else if (k->type == KEY_LIST) {
			check_list(v, n, &path, base);
		} else if (k->type == KEY_STRINGS) {
			check_strings(v, k, &path, base);
		} else if (k->type == KEY_STRING) {
			const char *text = *(const char *const *)(const void *)(base + k->at);

			check_required(v, k, text, &path);
			check_text(v, k, text, &path);
		}
	}
}

void validate_values(const struct cfg *c, const char *name, struct findings *f)
{
	check_group(&(struct values){ c, name, f }, schema_root(), NULL, (const char *)c);
}
