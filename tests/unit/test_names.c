/* Names of containers: what a question asks for, what Docker's list says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "limactl-c/hostagent/containers.h"
#include "limactl-c/hostagent/names.h"

static void what_a_name_asks_for(void **state)
{
	static const struct {
		const char *name, *instance;
		enum names_kind kind;
		size_t len;
	} rows[] = {
		{ "web.default.local", "default", NAMES_CONTAINER, 3 },
		{ "WEB.Default.LOCAL", "default", NAMES_CONTAINER, 3 },
		{ "a.b.default.local", "default", NAMES_CONTAINER, 3 },
		{ "web.my.vm-1.local", "my.vm-1", NAMES_CONTAINER, 3 },
		{ "default.local", "default", NAMES_INSTANCE, 0 },
		{ "x.xdefault.local", "default", NAMES_OUTSIDE, 0 },
		{ "xdefault.local", "default", NAMES_OUTSIDE, 0 },
		{ ".default.local", "default", NAMES_OUTSIDE, 0 },
		{ "web.other.local", "default", NAMES_OUTSIDE, 0 },
		{ "web.default.local.example", "default", NAMES_OUTSIDE, 0 },
		{ "local", "default", NAMES_OUTSIDE, 0 },
		{ "", "default", NAMES_OUTSIDE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = 0;

		assert_int_equal(names_kind(rows[i].name, rows[i].instance, &len), rows[i].kind);
		assert_int_equal(len, rows[i].len);
	}
}

static struct container_list list;

static int parse(const char *text)
{
	struct err e = { 0 };

	container_list_free(&list);
	return container_list_parse(&list, text, strlen(text), &e);
}

static const char *found(const char *name)
{
	const struct container *c = container_list_find(&list, name);

	return c ? c->name : "none";
}

static void dockers_list(void **state)
{
	(void)state;
	assert_int_equal(parse("[{\"Id\":\"1\",\"Names\":[\"/other/alias\",\"/shop-web-1\"],\"Ports\":[{\"IP\":\"0.0.0.0\",\"PrivatePort\":80,"
			       "\"PublicPort\":8080,\"Type\":\"tcp\"},{\"PrivatePort\":443,\"Type\":\"tcp\"},{\"PublicPort\":70000}],"
			       "\"Labels\":{\"com.docker.compose.service\":\"web\"}},"
			       "{\"Names\":[\"/db\"],\"Ports\":[],\"Labels\":{\"com.docker.compose.service\":\"DB2\"}},"
			       "{\"Names\":[\"/shop-web-2\"],\"Labels\":{\"com.docker.compose.service\":\"db2\"}}]"), 0);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.item[0].ports, 1);
	assert_int_equal(list.item[0].port[0], 8080);
	assert_string_equal(found("Shop-Web-1"), "shop-web-1");
	assert_string_equal(found("web"), "shop-web-1");
	assert_string_equal(found("db"), "db");
	assert_string_equal(found("db2"), "none"); /* two have it */
	assert_string_equal(found("alias"), "none");
	assert_int_equal(parse("[]"), 0);
	assert_string_equal(found("web"), "none");
	container_list_free(&list);
}

/* The guest may say anything. */
static void other_lists(void **state)
{
	static const char *const bad[] = { "", "{\"message\":\"no\"}", "3", "null", "[", "[] []" };
	/* no container */
	static const char *const none[] = {
		"[1,null,[],\"x\",{}]", "[{\"Names\":3}]", "[{\"Names\":[]}]", "[{\"Names\":[\"web\"]}]", "[{\"Names\":[\"/\"]}]",
		"[{\"Names\":[\"/a b\"]}]", "[{\"Names\":[\"/a\\u000ab\"]}]", "[{\"Names\":[\"/a/b\"]}]", "[{\"Names\":[\"/a..b\"]}]",
		"[{\"Names\":[\"/a.\"]}]", "[{\"Names\":[\"/ä\"]}]", "[{\"Names\":[7,\"/0123456789012345678901234567890123456789012345678901234567890123\"]}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parse(bad[i]), -1);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_int_equal(parse(none[i]), 0);
		assert_int_equal(list.count, 0);
	}
	assert_int_equal(parse("[{\"Names\":[\"/a\"],\"Ports\":{\"PublicPort\":1},\"Labels\":[]},{\"Names\":[\"/b\"],"
			       "\"Ports\":[null,1,{\"PublicPort\":\"x\"},{\"PublicPort\":-1}],\"Labels\":{\"com.docker.compose.service\":\"a b\"}}]"), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.item[0].ports + list.item[1].ports, 0);
	assert_null(list.item[1].service);
	container_list_free(&list);
}

/* Which keep the machine awake: all that run, whatever else is said of them, but those that are not to, and those that stand. */
static void containers_that_work(void **state)
{
	(void)state;
	assert_int_equal(parse("[{\"Names\":[\"/a\"],\"State\":\"running\"},{\"Names\":[\"no name\"]},{},7,"
			       "{\"Names\":[\"/b\"],\"State\":\"paused\"},"
			       "{\"Names\":[\"/c\"],\"Labels\":{\"io.limactl-c.idle\":\"ignore\"}},"
			       "{\"Names\":[\"/d\"],\"Labels\":{\"io.limactl-c.idle\":\"no\"},\"State\":\"restarting\"}]"), 0);
	assert_int_equal(list.working, 5);
	assert_true(container_list_find(&list, "a")->works && container_list_find(&list, "d")->works);
	assert_false(container_list_find(&list, "b")->works || container_list_find(&list, "c")->works);
	container_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_name_asks_for),
		cmocka_unit_test(dockers_list),
		cmocka_unit_test(other_lists),
		cmocka_unit_test(containers_that_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
