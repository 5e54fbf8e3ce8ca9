/* Whole DNS messages cut and passed on, addresses in names, records in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/dns_message.h"
#include "lib/dns_record.h"
#include "tests/unit/mux_link.h"

enum { QUESTION = DNS_HEADER + 7, RECORD = 2 + 10 + 4 };

static uint8_t bytes[DNS_MESSAGE_MAX + DNS_OPT_LEN];

/* A message with a question and so many records of each section, all 16 bytes long. */
static size_t message(unsigned answers, unsigned authorities, unsigned additional)
{
	static const uint8_t head[QUESTION] = { 9, 9, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1 };
	static const uint8_t record[RECORD] = { 0xc0, DNS_HEADER, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 1, 2, 3, 4 };
	size_t n = sizeof(head);

	memcpy(bytes, head, n);
	bytes[7] = (uint8_t)answers;
	bytes[9] = (uint8_t)authorities;
	bytes[11] = (uint8_t)additional;
	for (unsigned i = 0; i < answers + authorities + additional; i++, n += RECORD)
		memcpy(bytes + n, record, RECORD);
	return n;
}

static bool truncated(void)
{
	return bytes[2] & 2;
}

static void test_trim(void **state)
{
	size_t n = message(3, 1, 2);

	(void)state;
	assert_int_equal(dns_trim(bytes, n, n), QUESTION + 4 * RECORD);
	assert_false(truncated());
	assert_int_equal(bytes[7] << 16 | bytes[9] << 8 | bytes[11], 0x030100);
	n = message(30, 1, 0);
	assert_int_equal(dns_trim(bytes, n, QUESTION + 20 * RECORD + 15), QUESTION + 20 * RECORD);
	assert_true(truncated());
	assert_int_equal(bytes[7], 20);
	assert_int_equal(bytes[9], 0);
	n = message(30, 1, 0);
	assert_int_equal(dns_trim(bytes, n, QUESTION + 30 * RECORD), QUESTION + 30 * RECORD);
	assert_true(truncated());
	n = message(0, 0, 0);
	assert_int_equal(dns_trim(bytes, n, n), n);
	assert_false(truncated());
}

static void test_trim_refuses_what_is_no_message(void **state)
{
	size_t whole = message(3, 1, 0);

	(void)state;
	for (size_t n = 0; n < whole; n++) {
		message(3, 1, 0);
		assert_int_equal(dns_trim(bytes, n, DNS_MESSAGE_MAX), 0);
	}
	message(3, 1, 0);
	bytes[5] = 2; /* questions */
	assert_int_equal(dns_trim(bytes, whole, whole), 0);
	message(3, 1, 0);
	bytes[QUESTION + 10] = 0xff; /* a length beyond the end */
	assert_int_equal(dns_trim(bytes, whole, whole), 0);
	message(3, 1, 0);
	bytes[QUESTION] = 0x80; /* neither a label nor a pointer */
	assert_int_equal(dns_trim(bytes, whole, whole), 0);
}

static void test_reply_to(void **state)
{
	struct dns_question q = { .id = 0x1234, .flags = 0x0100, .edns = true };
	size_t n = message(1, 0, 0);

	(void)state;
	assert_int_equal(dns_reply_to(bytes, n, &q), n + DNS_OPT_LEN);
	assert_memory_equal(bytes, "\x12\x34\x85\x80", 4);
	assert_int_equal(bytes[11], 1);
	assert_memory_equal(bytes + n, "\0\0\x29\x10\0", 5);
	q.edns = false;
	q.flags = 0;
	n = message(1, 0, 0);
	assert_int_equal(dns_reply_to(bytes, n, &q), n);
	assert_memory_equal(bytes, "\x12\x34\x84\x80", 4);
}

static void test_question(void **state)
{
	uint8_t p[DNS_QUESTION_MAX];
	struct dns_question q;
	size_t n = message(0, 0, 0);

	(void)state;
	bytes[2] = 0;
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	assert_int_equal(dns_question_pack(&q, p), n);
	assert_memory_equal(p, "\t\t\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", n);
}

static void test_names(void **state)
{
	static const char six[] = "8.b.d.0.1.0.0.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.B.0.d.F.ip6.arpa";
	static const uint8_t six_addr[16] = { 0xfd, 0x0b };
	uint8_t a[16];

	(void)state;
	assert_int_equal(dns_reverse_address("4.3.2.1.in-addr.ARPA", a), 4);
	assert_memory_equal(a, "\1\2\3\4", 4);
	assert_int_equal(dns_reverse_address(six, a), 16);
	assert_memory_equal(a, six_addr, 12);
	assert_memory_equal(a + 12, "\x20\x01\x0d\xb8", 4);
	assert_int_equal(dns_reverse_address("256.3.2.1.in-addr.arpa", a), 0);
	assert_int_equal(dns_reverse_address("3.2.1.in-addr.arpa", a), 0);
	assert_int_equal(dns_reverse_address("00004.3.2.1.in-addr.arpa", a), 0);
	assert_int_equal(dns_reverse_address("4.3.2.1.in-addr.arpa.x", a), 0);
	assert_int_equal(dns_reverse_address("x.ip6.arpa", a), 0);
	assert_int_equal(dns_reverse_address("", a), 0);
	assert_true(dns_name_of_host("a-B_9.example"));
	assert_false(dns_name_of_host(""));
	assert_false(dns_name_of_host("a b"));
	assert_false(dns_name_of_host("a%eth0"));
}

static void test_records_in_pieces(void **state)
{
	uint8_t in[64], out[DNS_RECORD_HEADER + 20];
	size_t n = 0;

	(void)state;
	for (uint32_t id = 1; id <= 3; id++) {
		dns_record_pack(in + n, id, id - 1);
		memset(in + n + DNS_RECORD_HEADER, (int)id, id - 1);
		n += DNS_RECORD_HEADER + id - 1;
	}
	for (size_t piece = 1; piece <= n; piece++) {
		struct mux_link l;
		uint32_t id = 0;

		link_begin(&l);
		for (size_t at = 0; at < n; at += piece) {
			size_t left = n - at < piece ? n - at : piece;
			ssize_t k;

			assert_int_equal(mux_write(l.from, in + at, left), left);
			link_run(&l, SIZE_MAX);
			while ((k = dns_record_read(l.to, out, sizeof(out)))) {
				assert_int_equal(dns_record_id(out), ++id);
				assert_int_equal(dns_record_len(out), id - 1);
				assert_int_equal(k, DNS_RECORD_HEADER + id - 1);
				for (size_t i = DNS_RECORD_HEADER; i < (size_t)k; i++)
					assert_int_equal(out[i], id);
			}
		}
		assert_int_equal(id, 3);
		link_end(&l);
	}
}

static void test_a_record_that_is_too_long(void **state)
{
	uint8_t in[DNS_RECORD_HEADER + 20] = { 0 }, out[DNS_RECORD_HEADER + 20];
	struct mux_link l;

	(void)state;
	link_begin(&l);
	dns_record_pack(in, 1, 20);
	mux_write(l.from, in, sizeof(in));
	link_run(&l, SIZE_MAX);
	assert_int_equal(dns_record_read(l.to, out, sizeof(out)), sizeof(out));
	/* Its header says so already. */
	dns_record_pack(in, 1, 21);
	mux_write(l.from, in, DNS_RECORD_HEADER);
	link_run(&l, SIZE_MAX);
	assert_int_equal(dns_record_read(l.to, out, sizeof(out)), -1);
	link_end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_trim_refuses_what_is_no_message),
		cmocka_unit_test(test_reply_to),
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_records_in_pieces),
		cmocka_unit_test(test_a_record_that_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
