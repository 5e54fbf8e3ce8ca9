/* Which ports a packet filter rule publishes, from rules as real kernels list them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "guestagent/nat_rules.h"
#include "tests/unit/nat_rules_recorded.h"

enum { RECORDED = sizeof(recorded) / sizeof(recorded[0]) };

/* A copy of exactly its size, so that reading behind it is seen; the caller's. */
static uint8_t *bytes_of(const char *hex, size_t *n)
{
	uint8_t *p;

	*n = strlen(hex) / 2;
	p = malloc(*n);
	assert_non_null(p);
	for (size_t i = 0; i < *n; i++) {
		char two[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		p[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return p;
}

static void is_address(const struct ap_port *p, const char *text)
{
	uint8_t want[16] = { 0 };

	assert_int_equal(p->family, strchr(text, ':') ? 6 : 4);
	assert_int_equal(inet_pton(p->family == 6 ? AF_INET6 : AF_INET, text, want), 1);
	assert_memory_equal(p->addr, want, sizeof(want));
}

static void rules_of_nft_and_iptables(void **state)
{
	(void)state;
	for (size_t i = 0; i < RECORDED; i++) {
		struct nat_rule r;
		size_t n;
		uint8_t *p = bytes_of(recorded[i].hex, &n);

		assert_int_equal(nat_rule_parse(p, n, &r), recorded[i].publishes.proto != 0);
		free(p);
		if (!recorded[i].publishes.proto)
			continue;
		assert_int_equal(r.port.proto, recorded[i].publishes.proto);
		assert_int_equal(r.port.port, recorded[i].publishes.first);
		assert_int_equal(r.last, recorded[i].publishes.last);
		assert_int_equal(r.to.port, recorded[i].publishes.to_port);
		assert_int_equal(r.same, recorded[i].publishes.same);
		is_address(&r.port, recorded[i].publishes.addr);
		is_address(&r.to, recorded[i].publishes.to);
	}
}

/* A rule that is cut publishes nothing, or what it published whole: all that counts comes before what it does. */
static void cut_rules_are_harmless(void **state)
{
	(void)state;
	for (size_t i = 0; i < RECORDED; i++) {
		struct nat_rule r;
		size_t n;
		uint8_t *p = bytes_of(recorded[i].hex, &n);

		for (size_t k = 0; k < n; k++) {
			uint8_t *cut = malloc(k + 1);

			assert_non_null(cut);
			memcpy(cut + 1, p, k);
			assert_false(nat_rule_parse(cut + 1, k, &r) && r.port.port != recorded[i].publishes.first);
			free(cut);
		}
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_nft_and_iptables),
		cmocka_unit_test(cut_rules_are_harmless),
	};

	return cmocka_run_group_tests_name("nat_rules", tests, NULL, NULL);
}
