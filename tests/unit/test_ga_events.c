/* Changes in shared folders at the guest agent: a child takes them, and ends with their stream. What it does with them:
 * test_wake.c. */
#include "tests/unit/ga_host.h"

#include "lib/fevent.h"

static struct host host;

static int begin(void **state)
{
	(void)state;
	host_begin(&host);
	host_file(&host, "settings", "user.name=root\n", 0600);
	host_start_agent(&host);
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

static void say(struct peer *p, enum fe_kind kind, const char *path)
{
	uint8_t bytes[FE_RECORD_MAX];

	peer_write(p, bytes, fe_pack(kind, 0, path, bytes));
}

static void test_it_ends_with_the_stream(void **state)
{
	struct peer p;

	(void)state;
	peer_open(&host, &p, &(struct ap_open){ .kind = AP_OPEN_EVENTS });
	say(&p, FE_HERE, "");
	say(&p, FE_CHANGED, "a/b");
	mux_finish(p.s);
	host_until(&host, p.closed || p.reset);
	assert_true(p.closed);
	assert_int_equal(p.count, 0);
}

/* More than a window: they are taken as they come. */
static void test_many_are_taken(void **state)
{
	struct peer p;

	(void)state;
	peer_open(&host, &p, &(struct ap_open){ .kind = AP_OPEN_EVENTS });
	for (int i = 0; i < 200; i++) {
		char path[4001];

		memset(path, 'a' + i % 26, sizeof(path) - 1);
		path[sizeof(path) - 1] = '\0';
		host_until(&host, mux_room_for(p.s, FE_RECORD_MAX));
		say(&p, FE_CHANGED, path);
	}
	mux_finish(p.s);
	host_until(&host, p.closed || p.reset);
	assert_true(p.closed);
}

static void test_what_is_no_record_ends_it(void **state)
{
	struct peer p, next;

	(void)state;
	peer_open(&host, &p, &(struct ap_open){ .kind = AP_OPEN_EVENTS });
	say(&p, FE_CHANGED, "../a");
	host_until(&host, p.end || p.reset);
	if (p.s)
		mux_finish(p.s);
	host_until(&host, p.closed || p.reset);
	/* It is as able as before. */
	peer_open(&host, &next, &(struct ap_open){ .kind = AP_OPEN_EVENTS });
	say(&next, FE_CHANGED, "a");
	mux_finish(next.s);
	host_until(&host, next.closed);
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_it_ends_with_the_stream),
		T(test_many_are_taken),
		T(test_what_is_no_record_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
