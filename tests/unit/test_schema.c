/* The table of keys agrees with itself. */
#include "tests/unit/cfg_util.h"

#include <stdlib.h>

#include "limactl-c/config/schema.h"

static void test_paths_are_unique_and_no_value_is_a_group(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		assert_ptr_equal(schema_find(schema[i].path), &schema[i]);
		if (schema_is_group(schema[i].path))
			fail_msg("%s is a value and a group", schema[i].path);
	}
}

static void test_every_key_has_help_that_fits_a_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];

		if (!k->help || strlen(k->help) > 110 || (k->def && k->note))
			fail_msg("%s", k->path);
		if ((k->type == KEY_MOVED) != (k->moved != NULL) || (k->moved && !schema_find(k->moved) && !schema_is_group(k->moved)))
			fail_msg("%s", k->path);
	}
}

/* "a[].b" lies in the elements of "a". */
static const struct key *list_of(const char *path)
{
	const char *end = strstr(path, "[]");
	auto_free char *list = end ? strndup(path, (size_t)(end - path)) : NULL;

	return list ? schema_find(list) : NULL;
}

static void test_list_rows_lie_in_their_element(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i], *list = list_of(k->path);

		if (strstr(k->path, "[]") && (!list || list->type != KEY_LIST || k->at >= list->size))
			fail_msg("%s", k->path);
		if (!list && k->at >= sizeof(struct cfg))
			fail_msg("%s", k->path);
	}
}

static void test_defaults_pass_their_own_rows(void **state)
{
	static const size_t scalars = 1 << KEY_STRING | 1 << KEY_BOOL | 1 << KEY_COUNT |
				      1 << KEY_SIZE | 1 << KEY_SECONDS;

	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		union {
			uint64_t number;
			char *text;
		} field = { 0 };
		struct err e = { 0 };

		if (!k->def || !(scalars & (size_t)1 << k->type))
			continue;
		if (schema_set(k, &field, k->def, &e) < 0)
			fail_msg("%s: %s", k->path, e.msg);
		if (k->type == KEY_STRING)
			free(field.text);
	}
}

static void test_children_are_named_once_in_order(void **state)
{
	const char *names[64];

	(void)state;
	assert_int_equal(schema_children("images[].kernel", names, 64), 4);
	assert_string_equal(names[0], "location");
	assert_string_equal(names[3], "cmdline");
	assert_in_range(schema_children("", names, 64), 40, 63);
	assert_string_equal(names[0], "base");
	assert_string_equal(names[3], "vmOpts");
	assert_int_equal(schema_children("image", names, 64), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_are_unique_and_no_value_is_a_group),
		cmocka_unit_test(test_every_key_has_help_that_fits_a_line),
		cmocka_unit_test(test_list_rows_lie_in_their_element),
		cmocka_unit_test(test_defaults_pass_their_own_rows),
		cmocka_unit_test(test_children_are_named_once_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
