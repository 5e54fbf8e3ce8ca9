/* Every row of the table, one by one: its default is what is filled in, each allowed value is taken, what is not is
 * refused with the key's path and place and with what is allowed. */
#include "tests/unit/cfg_util.h"

#include "limactl-c/base/mem.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

/* What an element of a list needs besides the key that is tried. */
static const struct {
	const char *list, *keys;
} needed[] = {
	{ "base", "url: x" },
	{ "images", "location: /a" },
	{ "additionalDisks", "name: d" },
	{ "mounts", "location: /proc" },
	{ "firmware.images", "location: /f" },
	{ "provision", "script: s" },
	{ "containerd.archives", "location: /n" },
	{ "probes", "script: '#!/bin/sh'" },
	{ "portForwards", "proto: tcp" },
	{ "copyToHost", "guest: /g, host: /h" },
	{ "networks", "lima: user-v2" },
	{ "osOpts.Windows.virtioWin", "location: /w" },
};

static const char *needs(const char *path)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		size_t n = strlen(needed[i].list);

		if (!strncmp(path, needed[i].list, n) && !strncmp(path + n, "[].", 3))
			return needed[i].keys;
	}
	fail_msg("%s: the test does not know what an element needs", path);
	return NULL;
}

static void nest(struct buf *b, const char *path, const char *value, const char *all)
{
	size_t n = strcspn(path, ".[");

	if (!*path) {
		buf_adds(b, value);
		return;
	}
	buf_addf(b, "%s%.*s: ", path == all ? "" : "{", (int)n, path);
	if (path[n] == '[') {
		const char *key = path + n + 3, *more = needs(all);
		size_t len = strcspn(key, ".");
		auto_free char *name = xasprintf("%.*s:", (int)len, key);

		/* A key that is tried and needed is given once. */
		if (strstr(more, name)) {
			buf_adds(b, "[");
			nest(b, key, value, all);
			buf_adds(b, "]");
		} else {
			buf_addf(b, "[{%s, %.*s: ", more, (int)len, key);
			nest(b, key + len + (key[len] == '.'), value, all);
			buf_adds(b, "}]");
		}
	} else {
		nest(b, path + n + (path[n] == '.'), value, all);
	}
	buf_adds(b, path == all ? "" : "}");
}

/* A template that gives the key this value; malloc'd. */
static char *template_with(const char *path, const char *value)
{
	struct buf b = BUF_INIT(4096);

	nest(&b, path, value, path);
	buf_adds(&b, "\n");
	if (strncmp(path, "images", 6))
		buf_adds(&b, IMAGE);
	return b.data;
}

/* "a[0].b" of "a[].b"; malloc'd. */
static char *shown(const char *path)
{
	const char *at = strstr(path, "[]");

	return at ? xasprintf("%.*s[0]%s", (int)(at - path), path, at + 2) : xstrdup(path);
}

static const struct finding *finding_of(const struct loaded *l, const char *path)
{
	for (size_t i = 0; i < l->f.count; i++) {
		if (l->f.item[i].path && !strncmp(l->f.item[i].path, path, strlen(path)))
			return &l->f.item[i];
	}
	return NULL;
}

static bool is_value(const struct key *k)
{
	return k->type != KEY_LIST && k->type != KEY_MOVED;
}

static void test_each_allowed_value_is_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		const char *p = k->allowed;
		bool list = k->type == KEY_FLAGS || k->type == KEY_STRINGS, words = list || k->type == KEY_STRING;
		char word[64];

		while (words && p && schema_next_word(&p, word, sizeof(word))) {
			auto_free char *value = xasprintf(list ? "[%s]" : "%s", word), *path = shown(k->path);
			auto_free char *text = template_with(k->path, value);
			auto_loaded l = load(text, &cfg_test_host);
			const struct finding *f = finding_of(&l, path);

			/* Rules across keys may still say no. */
			if (f && strstr(f->text, "must be one of"))
				fail_msg("%s%s", text, l.lines);
		}
	}
}

static void test_each_bound_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		bool number = k->type == KEY_COUNT || k->type == KEY_PORT || k->type == KEY_SIZE;
		char low[32] = "0", high[32] = "65535";

		if (!number || (k->type == KEY_SIZE && !k->allowed))
			continue;
		if (k->allowed)
			assert_int_equal(sscanf(k->allowed, "%31[^-]-%31s", low, high), 2);
		for (int end = 0; end < 2; end++) {
			auto_free char *text = template_with(k->path, end ? high : low), *path = shown(k->path);
			auto_loaded l = load(text, &cfg_test_host);
			const struct finding *f = finding_of(&l, path);

			if (f && strstr(f->text, " from "))
				fail_msg("%s%s", text, l.lines);
		}
		auto_free char *text = template_with(k->path, "99999999999999999999"), *path = shown(k->path);
		auto_loaded l = load(text, &cfg_test_host);

		if (l.ok || !finding_of(&l, path))
			fail_msg("%s: taken beyond its range", text);
	}
}

static void test_each_wrong_value_is_refused_at_its_place(void **state)
{
	static const struct {
		const char *value, *says;
	} wrong[KEY_TYPES] = {
		[KEY_STRING] = { "[x]", "must be text, not a list" },
		[KEY_BOOL] = { "maybe", "must be true or false, not text" },
		[KEY_TRI] = { "1", "must be true or false, not a whole number" },
		[KEY_COUNT] = { "many", "must be a whole number, not text" },
		[KEY_PORT] = { "-1", "must be a whole number from 0 to 65535; got -1" },
		[KEY_SIZE] = { "large", "is not a size; write for example 512MiB, 4GiB or 1.5GiB" },
		[KEY_SECONDS] = { "soon", "is not a duration; write for example 10s, 1m30s or 1h" },
		[KEY_RANGE] = { "[1, 2, 3]", "must have two ports, the first and the last" },
		[KEY_FLAGS] = { "[x]", "must be one of [boot stop]; got \"x\"" },
		[KEY_PAIRS] = { "[x]", "must be a mapping, not a list" },
		[KEY_STRINGS] = { "{a: b}", "must be a list, not a mapping" },
		[KEY_LIST] = { "5", "must be a list, not a whole number" },
		[KEY_MOVED] = { "5", "" },
	};

	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		auto_free char *text = template_with(k->path, wrong[k->type].value), *path = shown(k->path);
		auto_loaded l = load(text, &cfg_test_host);
		const struct finding *f = finding_of(&l, k->moved ? k->moved : path);

		if (l.ok || !f || !strstr(f->text, wrong[k->type].says) || f->at.line != 1 ||
		    strcmp(f->at.file, "t.yaml"))
			fail_msg("%sis not refused with \"%s\" but\n%s", text, wrong[k->type].says, l.lines);
	}
}

static void test_each_word_that_is_not_allowed_is_refused_with_those_that_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		auto_free char *text = NULL, *path = shown(k->path);
		char first[64];
		const char *p = k->allowed;

		if (!p || k->type != KEY_STRING)
			continue;
		text = template_with(k->path, "no-such-word");
		auto_loaded l = load(text, &cfg_test_host);
		const struct finding *f = finding_of(&l, path);

		assert_true(schema_next_word(&p, first, sizeof(first)));
		if (l.ok || !f || strncmp(f->text, "must be one of [", 16) || !strstr(f->text, first))
			fail_msg("%s%s", text, l.lines);
	}
}

static void test_each_form_is_checked(void **state)
{
	static const struct {
		const char *bad, *says;
	} forms[CHECK_KINDS] = {
		[CHECK_DIGEST] = { "sha256:12", "is invalid" },
		[CHECK_IP] = { "localhost", "must be an IP address; got \"localhost\"" },
		[CHECK_ABSOLUTE] = { "etc/x", "must be an absolute path; got \"etc/x\"" },
		[CHECK_OCTAL] = { "rw-r--r--", "must be an octal number as 644" },
		[CHECK_NAME] = { "a/b", "must be letters and digits" },
		[CHECK_MAC] = { "52:55:55:01:02", "must be six bytes as 52:55:55:01:02:03" },
		[CHECK_INTERFACE] = { "eth0", "must not be eth0" },
		[CHECK_VERSION] = { "new", "must be a semantic version like 2.0.0; got \"new\"" },
		[CHECK_SCRIPT] = { "echo", "must begin with a #! line" },
		[CHECK_SOCKET] = { "''", "must not be empty" },
		[CHECK_WORD] = { "'a b'", "must be one word without quotes" },
		[CHECK_PASSWD] = { "'a:b'", "must not hold colons" },
		[CHECK_HOME] = { "home", "must be an absolute path; got \"home\"" },
	};

	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		auto_free char *value = NULL, *text = NULL, *path = shown(k->path);

		if (k->check == CHECK_NONE)
			continue;
		value = xasprintf(k->type == KEY_STRINGS ? "[%s]" : "%s", forms[k->check].bad);
		text = template_with(k->path, value);
		auto_loaded l = load(text, &cfg_test_host);
		auto_free char *at = xasprintf("%s%s", path, k->type == KEY_STRINGS ? "[0]" : "");
		const struct finding *f = finding_of(&l, at);

		if (l.ok || !f || !strstr(f->text, forms[k->check].says) || f->at.line != 1)
			fail_msg("%sis not refused with \"%s\" but\n%s", text, forms[k->check].says, l.lines);
	}
}

/* The value of a path in the filled configuration, as text; NULL: not set. */
static const char *filled(const struct ynode *n, const char *path)
{
	while (n && *path) {
		size_t len = strcspn(path, ".[");
		auto_free char *name = xstrndup(path, len);

		n = yn_get(n, name);
		path += len;
		if (!strncmp(path, "[]", 2)) {
			n = n && n->count ? n->item[0] : NULL;
			path += 2;
		}
		path += *path == '.';
	}
	return n && yn_is_scalar(n) ? n->text : NULL;
}

static void test_each_default_is_filled_in(void **state)
{
	auto_pool p = yn_pool_new();

	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		auto_free char *text = NULL;
		const char *have;

		if (!k->def || k->type == KEY_FLAGS)
			continue;
		text = template_with(k->path, "null");
		auto_loaded l = load_ok(text);

		have = filled(cfg_tree(&l.cfg, p), k->path);
		if (!have || strcmp(have, k->def))
			fail_msg("%s is %s, not %s", k->path, have ? have : "not set", k->def);
	}
}

static void test_null_is_taken_for_every_value(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		auto_free char *text = template_with(schema[i].path, "null"), *path = shown(schema[i].path);

		if (!is_value(&schema[i]) || schema[i].required)
			continue;
		auto_loaded l = load(text, &cfg_test_host);
		const struct finding *f = finding_of(&l, path);

		if (f && !strstr(f->text, "must be set"))
			fail_msg("%s%s", text, l.lines);
		if (where_given(&l.cfg, path))
			fail_msg("%s counts as given", path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allowed_value_is_taken),
		cmocka_unit_test(test_each_bound_is_kept),
		cmocka_unit_test(test_each_wrong_value_is_refused_at_its_place),
		cmocka_unit_test(test_each_word_that_is_not_allowed_is_refused_with_those_that_are),
		cmocka_unit_test(test_each_form_is_checked),
		cmocka_unit_test(test_each_default_is_filled_in),
		cmocka_unit_test(test_null_is_taken_for_every_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
