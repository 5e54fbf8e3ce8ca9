#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <openssl/evp.h>
#include <string.h>

#include "limactl-c/base/sha256.h"

/* Every length around the block's size, against OpenSSL. */
static void test_digests_are_those_of_openssl(void **state)
{
	enum { LENGTHS = 300 };
	uint8_t data[LENGTHS];

	(void)state;
	for (size_t i = 0; i < LENGTHS; i++)
		data[i] = (uint8_t)(i * 37 + 11);
	for (size_t n = 0; n < LENGTHS; n++) {
		uint8_t have[SHA256_SIZE], want[SHA256_SIZE];

		sha256(data, n, have);
		assert_int_equal(EVP_Digest(data, n, want, NULL, EVP_sha256(), NULL), 1);
		if (memcmp(have, want, SHA256_SIZE))
			fail_msg("%zu bytes", n);
	}
}

static void test_a_digest_as_text(void **state)
{
	char hex[SHA256_HEX + 1];

	(void)state;
	sha256_hex("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digests_are_those_of_openssl),
		cmocka_unit_test(test_a_digest_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
