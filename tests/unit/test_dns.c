#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "lib/dns.h"

static uint8_t bytes[DNS_MESSAGE_MAX];

/* id 0x1234, recursion desired, one question, `extra` records behind it. */
static size_t header(unsigned extra)
{
	static const uint8_t h[DNS_HEADER] = { 0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0 };

	memcpy(bytes, h, sizeof(h));
	bytes[11] = (uint8_t)extra;
	return sizeof(h);
}

static size_t ask(const char *name, unsigned type, unsigned extra)
{
	size_t n = header(extra);

	n += dns_name_pack(name, bytes + n);
	memcpy(bytes + n, (uint8_t[]){ 0, (uint8_t)type, 0, DNS_IN }, 4);
	return n + 4;
}

static size_t add_opt(size_t n, unsigned size, unsigned version)
{
	const uint8_t opt[11] = { 0, 0, DNS_OPT, (uint8_t)(size >> 8), (uint8_t)size, 0, (uint8_t)version };

	memcpy(bytes + n, opt, sizeof(opt));
	return n + sizeof(opt);
}

static void test_question(void **state)
{
	struct dns_question q;
	size_t n = ask("Web.default.local", DNS_AAAA, 0);

	(void)state;
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	assert_int_equal(q.rcode, DNS_OK);
	assert_int_equal(q.id, 0x1234);
	assert_string_equal(q.name, "Web.default.local");
	assert_int_equal(q.type, DNS_AAAA);
	assert_false(q.edns);
	assert_int_equal(q.udp_max, DNS_UDP_MIN);
	n = ask(".", DNS_NS, 0);
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	assert_int_equal(q.rcode, DNS_OK);
	assert_string_equal(q.name, "");
}

static void test_edns(void **state)
{
	static const unsigned sizes[][2] = { { 0, 512 }, { 100, 512 }, { 1232, 1232 }, { 65535, 4096 } };
	struct dns_question q;
	size_t n;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		n = add_opt(ask("a.b", DNS_A, 1), sizes[i][0], 0);
		assert_int_equal(dns_question_read(&q, bytes, n), 0);
		assert_int_equal(q.rcode, DNS_OK);
		assert_true(q.edns);
		assert_int_equal(q.udp_max, sizes[i][1]);
	}
	n = add_opt(ask("a.b", DNS_A, 1), 1232, 1);
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	assert_int_equal(q.rcode, DNS_BADVERS);
	n = add_opt(add_opt(ask("a.b", DNS_A, 2), 1232, 0), 1232, 0);
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	assert_int_equal(q.rcode, DNS_FORMERR);
}

/* What every shorter piece, and one byte more, is answered with: nothing, or that it is malformed. */
static void test_exact_length(void **state)
{
	struct dns_question q;
	size_t n = add_opt(ask("web.default.local", DNS_A, 1), 1232, 0);

	(void)state;
	for (size_t k = 0; k < n; k++) {
		assert_int_equal(dns_question_read(&q, bytes, k), k < DNS_HEADER ? -1 : 0);
		if (k >= DNS_HEADER)
			assert_int_equal(q.rcode, DNS_FORMERR);
	}
	bytes[n] = 0;
	assert_int_equal(dns_question_read(&q, bytes, n + 1), 0);
	assert_int_equal(q.rcode, DNS_FORMERR);
}

static void test_refused(void **state)
{
	/* a byte of the message changed, and what the answer then is */
	static const struct {
		size_t at;
		uint8_t value;
		int rcode;
	} cases[] = {
		{ 2, 0x81, -1 }, { 2, 0x11, DNS_NOTIMP }, { 5, 0, DNS_FORMERR }, { 5, 2, DNS_FORMERR }, { 7, 1, DNS_FORMERR },
		{ 9, 1, DNS_FORMERR }, { 11, 1, DNS_FORMERR }, { 12, 0xc0, DNS_FORMERR }, { 12, 0x40, DNS_FORMERR },
		{ 13, '.', DNS_NXDOMAIN }, { 13, '\\', DNS_NXDOMAIN }, { 13, '\n', DNS_NXDOMAIN }, { 13, 0, DNS_NXDOMAIN },
		{ 20, 3, DNS_REFUSED },
	};
	struct dns_question q;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = ask("ab.c", DNS_A, 0);

		bytes[cases[i].at] = cases[i].value;
		if (cases[i].at == 20)
			bytes[21] = cases[i].value;
		if (cases[i].rcode < 0) {
			assert_int_equal(dns_question_read(&q, bytes, n), -1);
			continue;
		}
		assert_int_equal(dns_question_read(&q, bytes, n), 0);
		if ((int)q.rcode != cases[i].rcode)
			fail_msg("case %zu: %d", i, (int)q.rcode);
	}
}

/* 255 bytes on the wire is the longest name. */
static void test_longest_name(void **state)
{
	struct dns_question q;
	uint8_t wire[DNS_NAME_MAX];
	char name[300];
	size_t n;

	(void)state;
	for (size_t i = 0; i < 127; i++)
		memcpy(name + 2 * i, i < 126 ? "x." : "y", 2);
	assert_int_equal(strlen(name), DNS_NAME_TEXT - 1);
	assert_int_equal(dns_name_pack(name, wire), DNS_NAME_MAX);
	n = ask(name, DNS_A, 0);
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	assert_int_equal(q.rcode, DNS_OK);
	assert_string_equal(q.name, name);
	memcpy(name + 253, "z", 2);
	assert_int_equal(dns_name_pack(name, wire), 0);
	/* the same name, one byte longer on the wire */
	bytes[DNS_HEADER + 252] = 2;
	memmove(bytes + DNS_HEADER + 255, bytes + DNS_HEADER + 254, 5);
	bytes[DNS_HEADER + 254] = 'z';
	assert_int_equal(dns_question_read(&q, bytes, n + 1), 0);
	assert_int_equal(q.rcode, DNS_FORMERR);
}

static void test_pack(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = { { "", 1 }, { ".", 1 }, { "a", 3 }, { "a.", 3 }, { "a.b", 5 }, { "a..", 0 }, { "a..b", 0 }, { ".a", 0 }, { "..", 0 } };
	uint8_t wire[DNS_NAME_MAX];
	char label[66];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(dns_name_pack(cases[i].text, wire), cases[i].len);
	snprintf(label, sizeof(label), "%064d", 0);
	assert_int_equal(dns_name_pack(label, wire), 0);
	assert_int_equal(dns_name_pack(label + 1, wire), 65);
	memcpy(label, "x.", 2);
	assert_memory_equal((dns_name_pack("ab.c", wire), wire), "\2ab\1c", 6);
}

static void test_answer(void **state)
{
	static const uint8_t loopback[4] = { 127, 0, 0, 1 };
	/* header: response, authoritative, recursion desired, no error; 1 question, 2 answers, 1 extra */
	static const uint8_t want[] = { 0x12, 0x34, 0x85, 0x00, 0, 1, 0, 2, 0, 0, 0, 1,
					1, 'a', 1, 'B', 0, 0, 1, 0, 1,
					0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 127, 0, 0, 1,
					1, 'c', 0, 0, 5, 0, 1, 0, 1, 0, 0, 0, 1, 0,
					0, 0, DNS_OPT, 0x10, 0, 0, 0, 0, 0, 0, 0 };
	struct dns_question q;
	struct dns_answer a;
	uint8_t out[DNS_UDP_MIN];
	size_t n = add_opt(ask("a.B", DNS_A, 1), 1232, 0);

	(void)state;
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	dns_answer_begin(&a, &q, out, sizeof(out));
	assert_int_equal(dns_answer_add(&a, NULL, DNS_A, 5, loopback, 4), 0);
	assert_int_equal(dns_answer_add(&a, "c", DNS_CNAME, 65536, "", 1), 0);
	assert_int_equal(dns_answer_add(&a, "c..d", DNS_A, 5, loopback, 4), -1);
	n = dns_answer_end(&a, DNS_OK, true, false);
	assert_int_equal(n, sizeof(want));
	assert_memory_equal(out, want, n);
}

static void test_truncated(void **state)
{
	struct dns_question q;
	struct dns_answer a;
	uint8_t out[DNS_UDP_MIN], text[256] = { 255 };
	size_t n = add_opt(ask("a.B", DNS_TXT, 1), 0, 0);

	(void)state;
	assert_int_equal(dns_question_read(&q, bytes, n), 0);
	dns_answer_begin(&a, &q, out, sizeof(out));
	assert_int_equal(dns_answer_add(&a, NULL, DNS_TXT, 5, text, sizeof(text)), 0);
	assert_int_equal(dns_answer_add(&a, NULL, DNS_TXT, 5, text, sizeof(text)), -1);
	assert_int_equal(dns_answer_add(&a, NULL, DNS_TXT, 5, text, 1), -1); /* not one out of the row */
	n = dns_answer_end(&a, DNS_OK, false, true);
	assert_true(n <= DNS_UDP_MIN);
	assert_int_equal(out[2], 0x83);
	assert_int_equal(out[3], 0x80);
	assert_int_equal(out[7], 1);
}

/* What could not be read is answered without a question; the upper bits of the code stand in the OPT record. */
static void test_answer_errors(void **state)
{
	struct dns_question q;
	struct dns_answer a;
	uint8_t out[DNS_UDP_MIN];

	(void)state;
	assert_int_equal(dns_question_read(&q, bytes, header(0)), 0);
	dns_answer_begin(&a, &q, out, sizeof(out));
	assert_int_equal(dns_answer_end(&a, q.rcode, false, false), DNS_HEADER);
	assert_int_equal(out[3], DNS_FORMERR);
	assert_int_equal(out[5], 0);
	assert_int_equal(dns_question_read(&q, bytes, add_opt(ask("a", DNS_A, 1), 512, 9)), 0);
	dns_answer_begin(&a, &q, out, sizeof(out));
	assert_int_equal(dns_answer_end(&a, q.rcode, false, false), DNS_HEADER + 7 + 11);
	assert_int_equal(out[3], 0);
	assert_int_equal(out[DNS_HEADER + 7 + 5], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_edns),
		cmocka_unit_test(test_exact_length),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_longest_name),
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_answer_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
