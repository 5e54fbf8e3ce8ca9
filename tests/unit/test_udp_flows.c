/* The table of UDP flows, with a clock of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/hostagent/udp_flows.h"

static struct udp_flows *t;
static struct udp_set set[5];

static int begin(void **state)
{
	(void)state;
	t = calloc(1, sizeof(*t));
	t->seed = 12345;
	memset(set, 0, sizeof(set));
	for (int i = 0; i < 5; i++)
		udp_flows_join(t, &set[i]);
	return 0;
}

static int end(void **state)
{
	struct udp_flow *f;

	(void)state;
	while ((f = udp_flows_oldest(t))) {
		udp_flows_remove(t, f);
		free(f);
	}
	assert_int_equal(t->count, 0);
	for (int i = 5; i-- > 0;)
		udp_flows_leave(t, &set[i]);
	assert_null(t->sets);
	free(t);
	return 0;
}

static struct udp_key key_of(unsigned peer, unsigned local, unsigned port)
{
	struct udp_key k;

	memset(&k, 0, sizeof(k));
	k.peer[3] = (uint8_t)peer;
	k.local[3] = (uint8_t)local;
	k.port = port;
	return k;
}

static struct udp_flow *add(struct udp_set *s, struct udp_key key, int64_t now)
{
	struct udp_flow *f = calloc(1, sizeof(*f));

	f->key = key;
	udp_flows_add(t, s, f, now);
	return f;
}

static void a_client_is_an_address_at_a_port(void **state)
{
	struct udp_key k = key_of(1, 0, 5000), other;
	struct udp_flow *f = add(&set[0], k, 1), *g = add(&set[1], k, 1);

	(void)state;
	assert_ptr_equal(udp_flows_find(t, &set[0], &k), f);
	assert_ptr_equal(udp_flows_find(t, &set[1], &k), g);
	assert_null(udp_flows_find(t, &set[2], &k));
	other = key_of(2, 0, 5000);
	assert_null(udp_flows_find(t, &set[0], &other));
	other = key_of(1, 1, 5000);
	assert_null(udp_flows_find(t, &set[0], &other));
	other = key_of(1, 0, 5001);
	assert_null(udp_flows_find(t, &set[0], &other));
	udp_flows_remove(t, f);
	free(f);
	assert_null(udp_flows_find(t, &set[0], &k));
	assert_ptr_equal(udp_flows_find(t, &set[1], &k), g);
}

static void all_are_found_among_many(void **state)
{
	static struct udp_flow *f[UDP_FLOWS_PORT_MAX];

	(void)state;
	for (unsigned i = 0; i < UDP_FLOWS_PORT_MAX; i++)
		f[i] = add(&set[0], key_of(1, 0, i + 1), i);
	for (unsigned i = 0; i < UDP_FLOWS_PORT_MAX; i++) {
		struct udp_key k = key_of(1, 0, i + 1);

		assert_ptr_equal(udp_flows_find(t, &set[0], &k), f[i]);
	}
}

static void who_was_quiet_for_longest_goes_first(void **state)
{
	struct udp_flow *a = add(&set[0], key_of(1, 0, 1), 10), *b = add(&set[0], key_of(1, 0, 2), 20),
			*c = add(&set[1], key_of(1, 0, 1), 15);

	(void)state;
	assert_ptr_equal(udp_flows_oldest(t), a);
	udp_flows_used(a, 30);
	assert_ptr_equal(udp_flows_oldest(t), c);
	udp_flows_used(c, 40);
	assert_ptr_equal(udp_flows_oldest(t), b);
	udp_flows_used(b, 50);
	assert_ptr_equal(udp_flows_oldest(t), a);
	udp_flows_used(a, 60); /* alone in front, then in the middle, then last */
	udp_flows_remove(t, b);
	free(b);
	assert_ptr_equal(udp_flows_oldest(t), c);
}

static void a_crowd_at_one_port_does_not_drive_out_others(void **state)
{
	struct udp_flow *quiet = add(&set[1], key_of(1, 0, 1), 0), *first = NULL;

	(void)state;
	for (unsigned i = 0; i < UDP_FLOWS_PORT_MAX; i++) {
		struct udp_flow *f;

		assert_null(udp_flows_victim(t, &set[0]));
		f = add(&set[0], key_of(1, 0, i + 1), i + 1);
		first = first ? first : f;
	}
	assert_ptr_equal(udp_flows_victim(t, &set[0]), first);
	assert_null(udp_flows_victim(t, &set[1]));
	assert_ptr_equal(udp_flows_oldest(t), quiet);
}

static void all_ports_together_have_a_limit(void **state)
{
	struct udp_flow *first = NULL;

	(void)state;
	for (unsigned i = 0; i < UDP_FLOWS_MAX; i++) {
		struct udp_flow *f;

		assert_null(udp_flows_victim(t, &set[i % 4]));
		f = add(&set[i % 4], key_of(1, 0, i + 1), i);
		first = first ? first : f;
	}
	/* The port that has none yet gets its place from who was quiet for longest. */
	assert_ptr_equal(udp_flows_victim(t, &set[4]), first);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_client_is_an_address_at_a_port),
		T(all_are_found_among_many),
		T(who_was_quiet_for_longest_goes_first),
		T(a_crowd_at_one_port_does_not_drive_out_others),
		T(all_ports_together_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
